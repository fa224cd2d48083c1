// Package runs is the pages of runs: which there are, and what happened in one, in the order
// in which it happened.
package runs

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/parked"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /runs", pluginsdk.ScopeRead, p.list)
	s.Page("GET /runs/{id}", pluginsdk.ScopeRead, p.one)
	s.Form("POST /runs/{id}/cancel", pluginsdk.ScopeChat, p.cancel)
	s.Form("POST /runs/{id}/resume", pluginsdk.ScopeChat, p.resume)
	s.Form("POST /runs/{id}/retry", pluginsdk.ScopeChat, p.retry)
}

type pages struct{ *site.Site }

// perPage is how many runs a page of the list has.
const perPage = 50

// list is what the page of all runs shows.
type list struct {
	state, thread string
	runs          []api.Run
	names         map[string]string
	older         string // the path of the next page; empty: there is none
	mayChat       bool
	costs         bool // at least one run has cost something
}

// tabs are the filters of the list: the name of each, and the states that it lets through.
var tabs = []struct {
	name, label string
	states      []string
}{
	{"", "All", nil},
	{"open", "At work", []string{"queued", "running", "waiting"}},
	{"succeeded", "Succeeded", []string{"succeeded"}},
	{"failed", "Failed", []string{"failed"}},
	{"cancelled", "Cancelled", []string{"cancelled"}},
}

func (p pages) list(r *http.Request) (site.View, error) {
	query := r.URL.Query()
	shown := list{state: query.Get("state"), thread: query.Get("thread"), mayChat: site.May(r, pluginsdk.ScopeChat)}
	asked := url.Values{"newest": {"true"}, "limit": {"51"}}
	for _, tab := range tabs {
		if tab.name == shown.state {
			asked["state"] = tab.states
		}
	}
	for _, name := range []string{"thread", "after", "cause"} {
		if value := query.Get(name); value != "" {
			asked.Set(name, value)
		}
	}
	var found struct{ Runs []api.Run }
	if err := p.Get(r.Context(), "/api/runs", asked, &found); err != nil {
		return site.View{}, err
	}
	if shown.runs = found.Runs; len(shown.runs) > perPage {
		shown.runs = shown.runs[:perPage]
		query.Set("after", shown.runs[perPage-1].ID)
		shown.older = "/runs?" + query.Encode()
	}
	ids := []string{shown.thread}
	for _, run := range shown.runs {
		ids = append(ids, run.ThreadID)
		shown.costs = shown.costs || run.CostUSD > 0
	}
	shown.names = p.ThreadNames(r.Context(), ids...)
	return site.View{Title: "Runs", At: "/runs", Body: listPage(shown)}, nil
}

// one is what the page of a run shows.
type one struct {
	api.Run
	thread   string // what its thread is called
	attempts []attempt
	caused   []api.Run
	mayChat  bool
	fallback *pluginsdk.Account // of one that waits for a plan: the key that it may go on with

	mayApprove bool
}

func (p pages) one(r *http.Request) (site.View, error) {
	shown := one{mayChat: site.May(r, pluginsdk.ScopeChat), mayApprove: site.May(r, pluginsdk.ScopeApprove)}
	if err := p.Get(r.Context(), "/api/runs/"+url.PathEscape(r.PathValue("id")), nil, &shown.Run); err != nil {
		return site.View{}, err
	}
	var caused struct{ Runs []api.Run }
	if err := p.Get(r.Context(), "/api/runs", url.Values{"cause": {shown.ID}, "limit": {"50"}}, &caused); err != nil {
		return site.View{}, err
	}
	if shown.Parked != nil {
		var plan api.Plan
		if err := p.Get(r.Context(), "/api/plan", nil, &plan); err != nil && site.Status(err) != http.StatusForbidden {
			return site.View{}, err // without the grant there is no fallback to offer
		}
		shown.fallback = parked.Fallback(plan.Accounts, *shown.Parked)
	}
	shown.caused, shown.attempts = caused.Runs, timeline(shown.Run)
	shown.thread = p.ThreadNames(r.Context(), shown.ThreadID)[shown.ThreadID]
	return site.View{Title: "Run in " + shown.thread, At: "/runs", Body: runPage(shown)}, nil
}

func (p pages) cancel(r *http.Request) (site.Done, error) {
	err := p.Post(r.Context(), "/api/runs/"+url.PathEscape(r.PathValue("id"))+"/cancel", nil, nil)
	return site.Done{Said: "The run is being stopped."}, err
}

// resume lets a run that waits for a plan go on now.
func (p pages) resume(r *http.Request) (site.Done, error) {
	how := api.ResumeRequest{Model: strings.TrimSpace(r.PostForm.Get("model")), Fallback: r.PostForm.Get("fallback") == "true"}
	err := p.Post(r.Context(), "/api/runs/"+url.PathEscape(r.PathValue("id"))+"/resume", how, nil)
	return site.Done{Said: "The message is being answered now."}, err
}

func (p pages) retry(r *http.Request) (site.Done, error) {
	var made pluginsdk.Accepted
	if err := p.Post(r.Context(), "/api/runs/"+url.PathEscape(r.PathValue("id"))+"/retry", nil, &made); err != nil {
		return site.Done{}, err
	}
	return site.Done{To: "/runs/" + url.PathEscape(made.RunID), Said: "Its message was given once more: this is the new run."}, nil
}
