// Package overview is the first page: what runs now, what waits for a person, what failed,
// what it cost today, what comes next.
package overview

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site.
func Register(s *site.Site) {
	s.Page("GET /{$}", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		shown, err := look(r.Context(), s)
		shown.mayApprove, shown.mayChat = site.May(r, pluginsdk.ScopeApprove), site.May(r, pluginsdk.ScopeChat)
		return site.View{Title: "Overview", At: "/", Body: page(shown)}, err
	})
}

// overview is what the page shows.
type overview struct {
	asked               []pluginsdk.Approval
	tasks               []pluginsdk.Task // that wait for a person
	plugins             []api.Plugin     // that do not serve, and should
	working, failed     []api.Run
	parked              []api.Run          // that wait for a plan: they do not run, and need nobody
	threads             []pluginsdk.Thread // the latest
	names               map[string]string
	today               api.UsageSums
	unread              int
	mayApprove, mayChat bool
	// without are the sections that could not be read, with why.
	without []string
}

func (o overview) waits() int { return len(o.asked) + len(o.tasks) + len(o.plugins) }

// look asks for all of it. What cannot be had is left out and named: the page is for days
// on which something is wrong.
func look(ctx context.Context, s *site.Site) (o overview, err error) {
	read := func(what, path string, query url.Values, out any) {
		if problem := s.Get(ctx, path, query, out); problem != nil {
			o.without = append(o.without, what+": "+problem.Error())
		}
	}
	var asked struct{ Approvals []pluginsdk.Approval }
	read("What the agent asks", "/api/approvals", url.Values{"state": {"open"}, "limit": {"10"}}, &asked)
	var waiting struct{ Tasks []pluginsdk.Task }
	read("Tasks", "/api/tasks", url.Values{"status": {"waiting"}, "newest": {"true"}, "limit": {"10"}}, &waiting)
	var plugins struct{ Plugins []api.Plugin }
	read("Plugins", "/api/plugins", nil, &plugins)
	var working, failed struct{ Runs []api.Run }
	read("What is at work", "/api/runs", url.Values{"state": {"running", "waiting", "queued"}, "newest": {"true"}, "limit": {"20"}}, &working)
	read("What failed", "/api/runs", url.Values{"state": {"failed"}, "newest": {"true"}, "limit": {"5"}}, &failed)
	var threads struct{ Threads []pluginsdk.Thread }
	read("Conversations", "/api/threads", url.Values{"order": {"activity"}, "unread": {"true"}, "limit": {"8"}}, &threads)
	now := time.Now().UTC()
	read("Usage", "/api/usage", url.Values{"since": {now.Truncate(24 * time.Hour).Format(time.RFC3339)}}, &o.today)

	o.asked, o.tasks, o.failed, o.threads = asked.Approvals, waiting.Tasks, failed.Runs, threads.Threads
	for _, run := range working.Runs {
		if run.Parked != nil {
			o.parked = append(o.parked, run)
		} else {
			o.working = append(o.working, run)
		}
	}
	for _, plugin := range plugins.Plugins {
		if plugin.Enabled && ui.ToneOf(string(plugin.State)) != ui.Good && ui.ToneOf(string(plugin.State)) != ui.Busy {
			o.plugins = append(o.plugins, plugin)
		}
	}
	var ids []string
	for _, run := range slices.Concat(o.working, o.parked, o.failed) {
		ids = append(ids, run.ThreadID)
	}
	for _, one := range o.asked {
		ids = append(ids, one.ThreadID)
	}
	for _, thread := range o.threads {
		o.unread += thread.Unread
	}
	o.names = s.ThreadNames(ctx, ids...)
	return o, nil
}
