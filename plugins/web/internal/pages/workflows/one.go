package workflows

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/stages"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What can be done with a workflow: the values of the buttons named do.
const (
	doContinue = "continue"
	doAccept   = "accept"
	doStop     = "stop"
	doAbandon  = "abandon"
)

// shown is a workflow as its page shows it.
type shown struct {
	api.Workflow
	form
	wrong     string // with what was wanted of it
	mayDecide bool
}

// form is what a person says when a workflow goes on, as it is typed.
type form struct{ rounds, redesigns, tries, cost, note ui.Input }

func newForm(w api.Workflow) form {
	spent := ui.Cost(w.Cost.USD, w.Cost.Unsure) + " spent"
	if w.Cost.CapUSD > 0 {
		spent += " of " + ui.USD(w.Cost.CapUSD)
	}
	return form{
		rounds:    ui.Input{Name: "rounds", Label: "More rounds for each batch", Type: "number", Min: "0", Step: "1", Placeholder: "0", Hint: "The limit is " + strconv.Itoa(w.Limits.Rounds)},
		redesigns: ui.Input{Name: "redesigns", Label: "More redesigns", Type: "number", Min: "0", Step: "1", Placeholder: "0", Hint: fmt.Sprintf("%d of %d used", w.Redesigns, w.Limits.Redesigns)},
		tries:     ui.Input{Name: "tries", Label: "More tries for each stage", Type: "number", Min: "0", Step: "1", Placeholder: "0", Hint: "The limit is " + strconv.Itoa(w.Limits.Tries)},
		cost:      ui.Input{Name: "cost", Label: "New cost limit, in USD", Type: "number", Min: "0", Step: "any", Placeholder: strconv.FormatFloat(w.Cost.CapUSD, 'f', -1, 64), Hint: spent},
		note:      ui.Input{Name: "note", Label: "Add a note", Rows: 3, Hint: "The agent that goes on reads it."},
	}
}

// body is the request that the form makes; false: an input says what is wrong.
func (f *form) body() (body api.WorkflowContinue, right bool) {
	right = true
	for in, n := range map[*ui.Input]*int{&f.rounds: &body.Rounds, &f.redesigns: &body.Redesigns, &f.tries: &body.Tries} {
		if in.Value == "" {
			continue
		}
		var err error
		if *n, err = strconv.Atoi(in.Value); err != nil || *n < 0 || *n > 100 {
			in.Wrong, right = "Give a number from 0 to 100, or leave it empty.", false
		}
	}
	if f.cost.Value != "" {
		var err error
		if body.CostUSD, err = strconv.ParseFloat(f.cost.Value, 64); err != nil || !(body.CostUSD > 0) {
			f.cost.Wrong, right = "Give an amount in US dollars, such as 12.50, or leave it empty.", false
		}
	}
	body.Words = f.note.Value
	return body, right
}

func (p pages) read(r *http.Request) (of shown, err error) {
	err = p.Get(r.Context(), apiPath(r), nil, &of.Workflow)
	of.form, of.mayDecide = newForm(of.Workflow), site.May(r, pluginsdk.ScopeApprove)
	return of, err
}

func apiPath(r *http.Request) string {
	return asked + strings.TrimPrefix(stages.Path(r.PathValue("id")), at)
}

func view(of shown) site.View {
	return site.View{Title: title(of.Workflow), At: at, Body: page(of)}
}

func (p pages) one(r *http.Request, wrong string) (site.View, error) {
	of, err := p.read(r)
	if site.Status(err) == http.StatusNotFound && err.Error() == api.NoWorkflows {
		return site.View{Title: "Workflow", At: at, Body: unserved("Workflow")}, nil
	}
	of.wrong = wrong
	return view(of), err
}

// act does what a form of the page wants. What the API refuses is said on the page as it is by now, beside what was typed.
func (p pages) act(r *http.Request) (site.Done, error) {
	of, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	for _, in := range []*ui.Input{&of.rounds, &of.redesigns, &of.tries, &of.cost, &of.note} {
		in.Value = strings.TrimSpace(r.PostForm.Get(in.Name))
	}
	done := site.Done{To: stages.Path(of.ID)}
	path := apiPath(r)
	switch r.PostForm.Get("do") {
	case doContinue, doAccept:
		body, right := of.body()
		if !right {
			return done, &site.Again{View: view(of)}
		}
		done.Said = "The workflow goes on."
		if body.Accept = r.PostForm.Get("do") == doAccept; body.Accept {
			done.Said = "It is accepted as it is. The workflow goes on."
		}
		err = p.Post(r.Context(), path+"/continue", body, nil)
	case doStop:
		done.Said = "The workflow is stopped. Continue goes on from here."
		err = p.Post(r.Context(), path+"/stop", nil, nil)
	case doAbandon:
		done.Said = "The workflow is abandoned."
		err = p.Post(r.Context(), path+"/abandon", nil, nil)
	default:
		err = &site.Problem{Status: http.StatusUnprocessableEntity, Detail: "The form does not say what is to be done."}
	}
	told := refused(err)
	if told == nil {
		return done, err
	}
	typed := of.form
	if of, err = p.read(r); err != nil {
		return site.Done{}, err
	}
	of.form, of.wrong = typed, "Nothing was done: "+told.Detail
	return site.Done{}, &site.Again{View: view(of)}
}

// unreviewed says whose work nobody reviews.
func unreviewed(w api.Workflow) string {
	return "Nobody reviews the work of the stage " + ui.Cut(w.Unreviewed, 60) + ": no reviewer comes after it."
}

// share is how much verifying is of building, in per cent.
func share(verifying, building float64) string {
	if building <= 0 {
		return "–"
	}
	return strconv.FormatFloat(100*verifying/building, 'f', 0, 64) + " %"
}

// left is what is left of a limit.
func left(limit, used int) string {
	return fmt.Sprintf("%d of %d left", max(0, limit-used), limit)
}

// sentBack is how often a stage's reviewer has asked for changes.
func sentBack(stage api.WorkflowStage) (n int) {
	for _, one := range stage.Verdicts {
		if one.Verdict == "REVISE" && one.By == "" {
			n++
		}
	}
	return n
}

// contested is the stage that was not approved when something was said of it last, with its place; nil: there is none.
func contested(all []api.WorkflowStage) (n int, stage *api.WorkflowStage) {
	for n := range slices.Backward(all) {
		if last := stages.Last(all[n]); last != nil {
			if last.Verdict == "APPROVE" {
				return 0, nil
			}
			return n, &all[n]
		}
	}
	return 0, nil
}

// begun reports whether there is something to say of a stage.
func begun(stage api.WorkflowStage) bool {
	return stage.Status != "pending" || len(stage.Verdicts) > 0 || stage.Attempt > 0
}

// exitCode is how a command that was run is told to have ended.
var exitCode = lazy.Regexp(`[:,(]? *\(?exit(?:ed)?(?: with)?(?: code| status)?:? (-?\d+)\)?$`)

// check is a command that was run, and how it ended, of a text such as "go test ./...: exit code 0".
func check(text string) (command, ended string, tone ui.Tone) {
	text = strings.TrimSpace(text)
	found := exitCode.FindStringSubmatch(text)
	switch {
	case found == nil:
		return text, "", ui.Plain
	case found[1] == "0":
		return strings.TrimSpace(strings.TrimSuffix(text, found[0])), "passed", ui.Good
	}
	return strings.TrimSpace(strings.TrimSuffix(text, found[0])), "exit code " + found[1], ui.Bad
}

// from says where a verdict was read.
func from(source string) string {
	switch source {
	case "", "output", "both":
		return ""
	case "file":
		return "Read from REVIEW.md"
	}
	return source
}
