// Package plan is the pages of how much is used of the plans of the agent's accounts, of the runs
// that wait for them, and of the accounts themselves.
package plan

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	at           = "/plan"
	accountsPath = "/accounts"
)

type pages struct{ *site.Site }

// Register adds the pages to the site. What lets a parked run go on is on the pages of runs.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /plan", pluginsdk.ScopeRead, p.plan)
	s.Page("GET /accounts", pluginsdk.ScopeAdmin, p.accounts)
	s.Form("POST /accounts", pluginsdk.ScopeAdmin, p.add)
	s.Form("POST /accounts/{name}", pluginsdk.ScopeAdmin, p.change)
	s.Form("POST /accounts/{name}/default", pluginsdk.ScopeAdmin, p.makeDefault)
	s.Form("POST /accounts/{name}/remove", pluginsdk.ScopeAdmin, p.remove)
}

// plan is what the page shows.
type plan struct {
	api.Plan
	names      map[string]string // of threads
	mayChat    bool
	mayApprove bool
}

// tabs lead from one of these pages to the other. Accounts are for operators alone.
func tabs(r *http.Request, path string) []ui.Tab {
	if !site.May(r, pluginsdk.ScopeAdmin) {
		return nil
	}
	return []ui.Tab{{To: at, Label: "Limits", On: path == at}, {To: accountsPath, Label: "Accounts", On: path == accountsPath}}
}

// unless is a page that says why it cannot show what it is for, when that is not granted; any
// other error is returned.
func unless(r *http.Request, err error, path, title, words string) (site.View, error) {
	if site.Status(err) != http.StatusForbidden {
		return site.View{}, err
	}
	return site.View{Title: title, At: at, Body: missing(tabs(r, path), title, words+" "+err.Error())}, nil
}

func (p pages) plan(r *http.Request) (site.View, error) {
	shown, err := p.read(r.Context())
	if err != nil {
		return unless(r, err, at, "Plan", "This page shows how much of each limit of the agent's plans is used.")
	}
	shown.mayChat, shown.mayApprove = site.May(r, pluginsdk.ScopeChat), site.May(r, pluginsdk.ScopeApprove)
	return site.View{Title: "Plan", At: at, Body: planPage(tabs(r, at), shown)}, nil
}

func (p pages) read(ctx context.Context) (shown plan, err error) {
	if err := p.Get(ctx, "/api/plan", nil, &shown.Plan); err != nil {
		return plan{}, err
	}
	var threads []string
	for _, run := range shown.Parked {
		threads = append(threads, run.ThreadID)
	}
	shown.names = p.ThreadNames(ctx, threads...)
	return shown, nil
}

// rank puts the default account first.
func rank(account pluginsdk.Account) int {
	if account.Default {
		return 0
	}
	return 1
}

// planned are the accounts with a plan, the default one first.
func (p plan) planned() (all []pluginsdk.Account) {
	for _, account := range p.Accounts {
		if len(account.Windows) > 0 {
			all = append(all, account)
		}
	}
	slices.SortStableFunc(all, func(a, b pluginsdk.Account) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

// window is one of a plan as the page shows it.
type window struct {
	pluginsdk.PlanWindow
	over bool // it has reset since it was seen: what was seen does not hold any more
}

func windowOf(of pluginsdk.PlanWindow, now time.Time) window {
	return window{of, !of.ResetsAt.IsZero() && of.ResetsAt.Before(now)}
}

func (w window) tone() ui.Tone {
	switch {
	case w.over:
		return ui.Plain
	case w.Status == pluginsdk.PlanRejected:
		return ui.Bad
	case w.Status == pluginsdk.PlanWarning:
		return ui.Wait
	}
	return ui.Plain
}
