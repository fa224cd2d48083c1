// Package tasks is the pages of the work that agents have handed on: which tasks there are,
// what became of each, and a person's word on those that wait for one.
package tasks

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// at is the entry of the navigation that the pages belong to.
const at = "/tasks"

// live are the events after which a page of tasks is another.
const live = "task: approval:"

// maker is the plugin that makes tasks for people.
const maker = "delegation"

type pages struct{ *site.Site }

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /tasks", pluginsdk.ScopeRead, p.index)
	s.Page("GET /tasks/new", pluginsdk.ScopeWork, p.blank)
	s.Form("POST /tasks/new", pluginsdk.ScopeWork, p.create)
	s.Page("GET /tasks/{id}", pluginsdk.ScopeRead, p.task)
	s.Form("POST /tasks/{id}", pluginsdk.ScopeChat, p.act)
}

// The groups of statuses that a person tells apart.
var (
	atWork = []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating}
	ended  = []pluginsdk.TaskStatus{pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled}
)

// list reads a page of tasks.
func (p pages) list(ctx context.Context, query url.Values, statuses ...pluginsdk.TaskStatus) ([]pluginsdk.Task, error) {
	query = maps.Clone(query)
	for _, status := range statuses {
		query.Add("status", string(status))
	}
	var found struct {
		Tasks []pluginsdk.Task `json:"tasks"`
	}
	err := p.Get(ctx, "/api/tasks", query, &found)
	return found.Tasks, err
}

// makes reports whether tasks can be handed out here.
func (p pages) makes(ctx context.Context) (bool, error) {
	var plugin struct {
		Enabled bool `json:"enabled"`
	}
	err := p.Get(ctx, "/api/plugins/"+maker, nil, &plugin)
	if site.Status(err) == http.StatusNotFound {
		return false, nil
	}
	return plugin.Enabled, err
}

// asks are what agents ask people just now, each by the thread that it is asked in.
type asks map[string]string

// asks reads them: those of one thread, or of all. Where the plugin may not read them there are none.
func (p pages) asks(ctx context.Context, thread string) (asks, error) {
	query := url.Values{"state": {string(pluginsdk.ApprovalOpen)}}
	if thread != "" {
		query.Set("thread", thread)
	}
	var found struct {
		Approvals []pluginsdk.Approval `json:"approvals"`
	}
	if err := p.Get(ctx, "/api/approvals", query, &found); err != nil && site.Status(err) != http.StatusForbidden {
		return nil, err
	}
	open := make(asks)
	for _, approval := range found.Approvals {
		open[approval.ThreadID] = cmp.Or(approval.Title, approval.Tool)
	}
	return open, nil
}

// threads are those that a person may know by their name, the latest activity first.
type threads []pluginsdk.Thread

// threads reads the threads in which something was said of late.
func (p pages) threads(ctx context.Context) (threads, error) {
	var found struct {
		Threads threads `json:"threads"`
	}
	err := p.Get(ctx, "/api/threads", url.Values{"order": {"activity"}, "limit": {"200"}}, &found)
	return found.Threads, err
}

// name is what a thread is called on these pages; one that is not among them has its id.
func (t threads) name(id string) string {
	i := slices.IndexFunc(t, func(thread pluginsdk.Thread) bool { return thread.ID == id })
	if i < 0 {
		return "Thread " + ui.Short(id)
	}
	return site.ThreadName(t[i])
}

// options are the threads to choose from, those of tasks left out, after a first choice of none.
func (t threads) options(none, chosen string) []ui.Option {
	options := []ui.Option{{Label: none}}
	for _, thread := range t {
		if thread.Kind != pluginsdk.ThreadTask || thread.ID == chosen {
			options = append(options, ui.Option{Value: thread.ID, Label: ui.Cut(site.ThreadName(thread), 60)})
		}
	}
	if chosen != "" && !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == chosen }) {
		options = append(options, ui.Option{Value: chosen, Label: t.name(chosen)})
	}
	return options
}

// title is the first line of what was asked for.
func title(task pluginsdk.Task) string {
	first, _, _ := strings.Cut(strings.TrimSpace(task.OriginalMessage), "\n")
	return cmp.Or(ui.Cut(first, 140), "Task "+ui.Short(task.ID))
}

func pathOf(id string) string { return at + "/" + url.PathEscape(id) }

func threadPath(id string) string { return "/chat/" + url.PathEscape(id) }

// iteration says how far a task has come.
func iteration(task pluginsdk.Task) string {
	if task.CurrentIteration == 0 {
		return "not begun"
	}
	return "iteration " + strconv.Itoa(task.CurrentIteration) + " of " + strconv.Itoa(task.MaxIterations)
}

// worktreeLabels begin the names of what the plugin worktree notes of where a task works.
const worktreeLabels = "worktree."

// sentence begins a text with a capital letter, as what stands alone does, unless its first
// word may be a name, such as that of a file.
func sentence(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// labels are those of a task that people or other plugins have given it, in words. Those of a workflow are shown as its stages.
func labels(task pluginsdk.Task) (words []string) {
	flows := api.WorkflowOf(task) != ""
	for name, value := range task.Labels {
		if strings.HasPrefix(name, worktreeLabels) || flows && strings.HasPrefix(name, api.WorkflowPlugin+".") {
			continue
		}
		words = append(words, strings.TrimSuffix(name+": "+value, ": "))
	}
	slices.Sort(words)
	return words
}

// noted reports whether a label is a plugin's note to itself, PLUGIN.NAME, and nobody's name for the task.
func noted(label string) bool {
	name, _, _ := strings.Cut(label, ":")
	return strings.Contains(name, ".")
}
