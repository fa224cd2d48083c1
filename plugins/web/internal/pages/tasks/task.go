package tasks

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The views of a task.
const (
	overview   = "overview"
	iterations = "iterations"
	verdicts   = "verdicts"
	changes    = "changes"
	below      = "below"
)

// whole is a task as its page shows it.
type whole struct {
	api.TaskHistory
	tab    string
	self   string // the path of this view
	said   words
	key    string // of what is said or made from this page: sent twice, it is done once
	rounds []round
	patch  patch
	round  int    // whose evidence is shown
	asked  string // what its agent asks people just now; empty: nothing
	flow   flow   // the workflow that it is of

	// of some views only
	parent   *pluginsdk.Task
	thread   pluginsdk.Thread // its parent
	children []pluginsdk.Task
	tree     []branch
	more     bool // there is more below it than tree has

	maySay, mayDecide, mayWork bool
}

// words are what a person typed on the page, and what was wrong with it.
type words struct{ about, typed, wrong string }

func (p pages) task(r *http.Request) (site.View, error) { return p.look(r, words{}) }

// look makes the page of a task, as one of its views.
func (p pages) look(r *http.Request, said words) (site.View, error) {
	ctx, id := r.Context(), r.PathValue("id")
	w := whole{said: said, key: rand.Text(), maySay: site.May(r, pluginsdk.ScopeChat), mayDecide: site.May(r, pluginsdk.ScopeApprove), mayWork: site.May(r, pluginsdk.ScopeWork)}
	if err := p.Get(ctx, "/api/tasks/"+url.PathEscape(id), nil, &w.TaskHistory); err != nil {
		return site.View{}, err
	}
	w.rounds, w.patch = roundsOf(w.Answers), patchOf(w.TaskHistory)
	w.tab, w.self = overview, pathOf(w.Task.ID)
	switch asked := r.URL.Query().Get("tab"); asked {
	case iterations, verdicts, changes, below:
		w.tab, w.self = asked, w.self+"?tab="+asked
	}
	var err error
	if !w.Task.Status.Final() {
		open, err := p.asks(ctx, w.Task.ThreadID)
		if err != nil {
			return site.View{}, err
		}
		w.asked = open[w.Task.ThreadID]
	}
	if w.flow, err = p.flow(ctx, w.Task); err != nil {
		return site.View{}, err
	}
	switch w.tab {
	case overview:
		err = p.around(ctx, &w)
	case verdicts:
		w.round = chosen(w.rounds, r.URL.Query().Get("round"))
	case below:
		w.tree, w.more, err = p.under(ctx, w.Task.ID)
	}
	if err != nil {
		return site.View{}, err
	}
	return site.View{Title: title(w.Task), At: at, Body: page(w)}, nil
}

// around reads what a task belongs to and what belongs to it.
func (p pages) around(ctx context.Context, w *whole) (err error) {
	if id := w.Task.ParentTaskID; id != "" {
		var history api.TaskHistory
		switch err := p.Get(ctx, "/api/tasks/"+url.PathEscape(id), url.Values{"limit": {"1"}}, &history); {
		case err == nil:
			w.parent = &history.Task
		case site.Status(err) != http.StatusNotFound: // it may have been deleted, with its thread
			return err
		}
	}
	if id := w.Task.ParentThreadID; id != "" {
		w.thread.ID = id
		if err := p.Get(ctx, "/api/threads/"+url.PathEscape(id), nil, &w.thread); err != nil && site.Status(err) != http.StatusNotFound {
			return err
		}
	}
	w.children, err = p.list(ctx, url.Values{"parent": {w.Task.ID}, "limit": {"20"}})
	return err
}

func (w whole) tabs() []ui.Tab {
	path := pathOf(w.Task.ID)
	all := []ui.Tab{
		{To: path, Label: "Overview", On: w.tab == overview},
		{To: path + "?tab=" + iterations, Label: "Iterations", Count: some(len(w.Iterations)), On: w.tab == iterations},
		{To: path + "?tab=" + verdicts, Label: "Verdicts", Count: some(len(w.rounds)), On: w.tab == verdicts},
		{To: path + "?tab=" + changes, Label: "Changes", Count: some(w.patch.files()), On: w.tab == changes},
		{To: path + "?tab=" + below, Label: "Tasks below", On: w.tab == below},
	}
	return all
}

// some is a count beside a label; of nothing there is none.
func some(n int) string {
	if n == 0 {
		return ""
	}
	return ui.Count(int64(n))
}

// standing says in a sentence where a task is.
func standing(task pluginsdk.Task) string {
	switch task.Status {
	case pluginsdk.TaskPending:
		return "It is being prepared."
	case pluginsdk.TaskRunning:
		return "Its agent is at work."
	case pluginsdk.TaskEvaluating:
		return "What its agent has done is looked at."
	case pluginsdk.TaskWaiting:
		if needsWords(task) {
			return "Its worker waits for a person's word."
		}
		return "Its work is there, and waits for a person's word."
	case pluginsdk.TaskCompleted:
		return "It is done, and handed over."
	case pluginsdk.TaskFailed, pluginsdk.TaskCancelled:
		if task.CompletedAt.IsZero() {
			return "Its agent and the tasks below it are being ended."
		}
		return map[pluginsdk.TaskStatus]string{pluginsdk.TaskFailed: "It has failed.", pluginsdk.TaskCancelled: "It was cancelled."}[task.Status]
	}
	return ""
}

// needsWords reports whether a task waits for words to its worker, and not for what is said of its work:
// the worker has said that it can do no more, or somebody has stopped it.
func needsWords(task pluginsdk.Task) bool {
	return task.Result == "" || slices.Contains(task.Marks, "blocked") || slices.Contains(task.Marks, "stopped")
}

// branch is a task below another one, so many tasks down.
type branch struct {
	pluginsdk.Task
	depth int
}

// mostAsked is how many tasks are asked for what is below them, for one page.
const mostAsked = 12

// under reads the tree of tasks below one, each before those below it. more: not all of it.
func (p pages) under(ctx context.Context, id string) (tree []branch, more bool, err error) {
	asked := 0
	var walk func(id string, depth int) error
	walk = func(id string, depth int) error {
		if asked++; asked > mostAsked {
			more = true
			return nil
		}
		children, err := p.list(ctx, url.Values{"parent": {id}, "limit": {"50"}})
		if err != nil {
			return err
		}
		more = more || len(children) == 50
		for _, child := range children {
			tree = append(tree, branch{child, depth})
			if err := walk(child.ID, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	err = walk(id, 0)
	return tree, more, err
}
