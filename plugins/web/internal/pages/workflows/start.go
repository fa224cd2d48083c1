package workflows

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/stages"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// draft is the form that starts a workflow, as it was filled in.
type draft struct {
	text, dir, stages, batch, cost, git ui.Input

	mayDir bool
	wrong  string // with all of it
}

func newDraft(r *http.Request) draft {
	return draft{
		mayDir: site.May(r, pluginsdk.ScopeAdmin),
		text:   ui.Input{Name: "text", Label: "What is to be built", Required: true, Rows: 8, Hint: "The acceptance checks are drawn up from these words, and every agent reads them. The first line becomes the title."},
		dir:    ui.Input{Name: "dir", Label: "Directory", Mono: true, Placeholder: "/srv/todo", Hint: "On the daemon's machine. One workflow works in a directory at a time."},
		stages: ui.Input{Name: "stages", Label: "Stages", Mono: true, Placeholder: "a router picks them", List: []string{"scout,architect,builder,reviewer", "architect,builder,reviewer", "builder,reviewer"}, Hint: "Names of agents with commas between them, in their order."},
		batch:  ui.Input{Name: "batch", Label: "Tasks of a batch", Type: "number", Min: "1", Step: "1", Placeholder: "3"},
		cost:   ui.Input{Name: "cost", Label: "Cost limit, in USD", Type: "number", Min: "0", Step: "any", Placeholder: "as the plugin is set"},
		git: ui.Input{Name: "git", Label: "Git", Options: ui.Options("", "The directory is a git repository", "yes", "Make it one if it is none (git init)", "no", "Build without git"),
			Hint: "In a repository the work is done on a branch of its own, with a commit for each batch, and is merged after the last review."},
	}
}

func (d *draft) inputs() []*ui.Input {
	all := []*ui.Input{&d.text, &d.stages, &d.batch, &d.cost, &d.git}
	if d.mayDir {
		all = append(all, &d.dir)
	}
	return all
}

// body is the request that the form makes; false: an input says what is wrong.
func (d *draft) body() (body api.WorkflowStart, right bool) {
	right = true
	body = api.WorkflowStart{Text: d.text.Value, Dir: d.dir.Value, Git: d.git.Value}
	if body.Text == "" {
		d.text.Wrong, right = "Say what is to be built.", false
	}
	for agent := range strings.FieldsFuncSeq(d.stages.Value, func(r rune) bool { return r == ',' || r == ' ' }) {
		body.Stages = append(body.Stages, agent)
	}
	var err error
	if d.batch.Value != "" {
		if body.Batch, err = strconv.Atoi(d.batch.Value); err != nil || body.Batch < 1 {
			d.batch.Wrong, right = "Give a number from 1, or leave it empty.", false
		}
	}
	if d.cost.Value != "" {
		if body.Cost, err = strconv.ParseFloat(d.cost.Value, 64); err != nil || !(body.Cost > 0) {
			d.cost.Wrong, right = "Give an amount in US dollars, such as 12.50, or leave it empty.", false
		}
	}
	return body, right
}

// take puts what the API says is wrong where it belongs.
func (d *draft) take(told *site.Problem) {
	placed := false
	for _, one := range told.Fields {
		for _, in := range d.inputs() {
			if one.Location == "body."+in.Name || one.Location == "body."+in.Name+"Usd" {
				in.Wrong, placed = one.Message, true
			}
		}
	}
	if !placed {
		d.wrong = told.Detail
	}
}

func (p pages) blank(r *http.Request) (site.View, error) {
	var found api.Workflows
	if err := p.Get(r.Context(), asked, nil, &found); err != nil {
		return site.View{}, err
	}
	if !found.Served {
		return site.View{Title: "New workflow", At: at, Body: unserved("New workflow")}, nil
	}
	d := newDraft(r)
	d.text.Autofocus = true
	return draftView(d), nil
}

func draftView(d draft) site.View {
	return site.View{Title: "New workflow", At: at, Body: starting(d)}
}

func (p pages) start(r *http.Request) (site.Done, error) {
	d := newDraft(r)
	for _, in := range d.inputs() {
		in.Value = strings.TrimSpace(r.PostForm.Get(in.Name))
	}
	body, right := d.body()
	if !right {
		return site.Done{}, &site.Again{View: draftView(d)}
	}
	var made api.Workflow
	err := p.Post(r.Context(), asked, body, &made)
	if told := refused(err); told != nil {
		d.take(told)
		return site.Done{}, &site.Again{View: draftView(d)}
	}
	done := site.Done{To: stages.Path(made.ID), Said: "The workflow has started."}
	if made.Unreviewed != "" {
		done.Said += " " + unreviewed(made)
	}
	return done, err
}
