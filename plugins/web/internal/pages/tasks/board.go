package tasks

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How many tasks a column of the board has, and a page of the list.
const (
	mostOpen  = 50
	mostEnded = 20
	mostRows  = 40
)

// column is a group of tasks on the board.
type column struct {
	name, icon string
	filter     string // of the list that has them all
	nothing    string // said when it has none
	tasks      []pluginsdk.Task
	full       bool // there may be more
}

func (p pages) index(r *http.Request) (site.View, error) {
	known, err := p.threads(r.Context())
	if err != nil {
		return site.View{}, err
	}
	if r.URL.Query().Get("view") == "list" {
		return p.rows(r, known)
	}
	columns := []column{
		{name: "Waiting for a person", icon: "inbox", filter: "waiting", nothing: "Nothing waits for you."},
		{name: "At work", icon: "bot", filter: "work", nothing: "No agent is at work on a task."},
		{name: "Ended", icon: "archive", filter: "ended", nothing: "No task has ended yet."},
	}
	open, err := p.asks(r.Context(), "")
	if err != nil {
		return site.View{}, err
	}
	some := false
	for n := range columns {
		c, most := &columns[n], mostOpen
		if c.filter == "ended" {
			most = mostEnded
		}
		c.tasks, err = p.list(r.Context(), url.Values{"newest": {"true"}, "limit": {strconv.Itoa(most)}}, statuses(c.filter)...)
		if err != nil {
			return site.View{}, err
		}
		c.full, some = len(c.tasks) == most, some || len(c.tasks) > 0
	}
	// A task whose agent asks people goes on once they have answered.
	isAsked := func(task pluginsdk.Task) bool { return open[task.ThreadID] != "" }
	for _, task := range slices.Backward(columns[1].tasks) {
		if isAsked(task) {
			columns[0].tasks = slices.Insert(columns[0].tasks, 0, task)
		}
	}
	columns[1].tasks = slices.DeleteFunc(columns[1].tasks, isAsked)
	view := site.View{Title: "Tasks", At: at, Body: board(columns, known, open, site.May(r, pluginsdk.ScopeWork))}
	if !some {
		makes, err := p.makes(r.Context())
		if err != nil {
			return site.View{}, err
		}
		view.Body = none(makes, site.May(r, pluginsdk.ScopeWork))
	}
	return view, nil
}

// statuses are those that a filter of the list stands for; none: all.
func statuses(filter string) []pluginsdk.TaskStatus {
	switch filter {
	case "":
		return nil
	case "work":
		return atWork
	case "ended":
		return ended
	}
	return []pluginsdk.TaskStatus{pluginsdk.TaskStatus(filter)}
}

var statusOptions = []ui.Option{
	{Value: "", Label: "All"}, {Value: "waiting", Label: "Waiting for a person"}, {Value: "work", Label: "At work"}, {Value: "ended", Label: "Ended"},
	{Value: "pending", Label: "Pending"}, {Value: "running", Label: "Running"}, {Value: "evaluating", Label: "Evaluating"},
	{Value: "completed", Label: "Completed"}, {Value: "failed", Label: "Failed"}, {Value: "cancelled", Label: "Cancelled"},
}

// rows is a page of the list.
type rows struct {
	tasks                  []pluginsdk.Task
	threads                threads
	status, thread, plugin string // the filters
	plugins                []string
	first, older           string // paths of other pages; empty: there is none
	mayWork                bool
}

func (p pages) rows(r *http.Request, known threads) (site.View, error) {
	asked := r.URL.Query()
	list := rows{
		threads: known, status: asked.Get("status"), thread: asked.Get("thread"), plugin: asked.Get("plugin"),
		mayWork: site.May(r, pluginsdk.ScopeWork),
	}
	if !slices.ContainsFunc(statusOptions, func(o ui.Option) bool { return o.Value == list.status }) {
		list.status = ""
	}
	query := url.Values{"newest": {"true"}, "limit": {strconv.Itoa(mostRows)}}
	to := url.Values{"view": {"list"}}
	for name, value := range map[string]string{"thread": list.thread, "plugin": list.plugin} {
		if value != "" {
			query.Set(name, value)
			to.Set(name, value)
		}
	}
	if list.status != "" {
		to.Set("status", list.status)
	}
	if after := asked.Get("after"); after != "" {
		query.Set("after", after)
		list.first = at + "?" + to.Encode()
	}
	var err error
	if list.tasks, err = p.list(r.Context(), query, statuses(list.status)...); err != nil {
		return site.View{}, err
	}
	list.plugins = []string{maker}
	for _, task := range list.tasks {
		if task.Plugin != "" && !slices.Contains(list.plugins, task.Plugin) {
			list.plugins = append(list.plugins, task.Plugin)
		}
	}
	if len(list.tasks) > 0 {
		// A page that is short need not be the last one.
		last := list.tasks[len(list.tasks)-1].ID
		query.Set("after", last)
		query.Set("limit", "1")
		next, err := p.list(r.Context(), query, statuses(list.status)...)
		if err != nil {
			return site.View{}, err
		}
		if len(next) > 0 {
			to.Set("after", last)
			list.older = at + "?" + to.Encode()
		}
	}
	return site.View{Title: "Tasks", At: at, Body: table(list)}, nil
}
