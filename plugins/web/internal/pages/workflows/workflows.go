// Package workflows is the pages of requests that are built in stages: which there are, and each with its stages, what
// reviewers have said and found, what it has cost, and the forms by which a person decides on it.
package workflows

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/stages"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	at    = "/workflows"
	asked = "/api/workflows"
)

// live are the events after which a page of workflows is another.
const live = "task:"

type pages struct{ *site.Site }

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET "+at, pluginsdk.ScopeRead, p.all)
	s.Page("GET "+at+"/new", pluginsdk.ScopeWork, p.blank)
	s.Form("POST "+at+"/new", pluginsdk.ScopeWork, p.start)
	s.Page("GET "+at+"/{id}", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) { return p.one(r, "") })
	s.Form("POST "+at+"/{id}", pluginsdk.ScopeApprove, p.act)
}

func (p pages) all(r *http.Request) (site.View, error) {
	var found api.Workflows
	if err := p.Get(r.Context(), asked, nil, &found); err != nil {
		return site.View{}, err
	}
	view := site.View{Title: "Workflows", At: at}
	if !found.Served {
		view.Body = unserved("Workflows")
		return view, nil
	}
	// Those that need a person first, each in the order in which they were.
	slices.SortStableFunc(found.Workflows, func(a, b api.Workflow) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	view.Body = index(found.Workflows, site.May(r, pluginsdk.ScopeWork))
	return view, nil
}

// rank is the place of a state in the list.
func rank(state string) int {
	switch {
	case state == "waiting":
		return 0
	case !stages.Over(state):
		return 1
	}
	return 2
}

// title is what a workflow is called.
func title(w api.Workflow) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(w.Title, w.Request)), "\n")
	return cmp.Or(ui.Cut(first, 140), "Workflow "+ui.Short(w.ID))
}

func threadPath(id string) string { return "/chat/" + url.PathEscape(id) }

func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

func runPath(id string) string { return "/runs/" + url.PathEscape(id) }

// long is a number of seconds as people read it.
func long(seconds float64) string {
	return ui.Long(time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond))
}

// refused is what the API will not do as it stands; nil: it is something else.
func refused(err error) *site.Problem {
	var told *site.Problem
	if errors.As(err, &told) && (told.Status == http.StatusConflict || told.Status == http.StatusUnprocessableEntity) {
		return told
	}
	return nil
}

// cost is what a workflow has cost of what it may, and what of that nobody is billed.
func cost(c api.WorkflowCost) string {
	words := ui.Cost(c.USD, c.Unsure)
	if c.CapUSD > 0 {
		words += " of " + ui.USD(c.CapUSD)
	}
	switch {
	case c.NotionalUSD <= 0:
		return words
	case c.NotionalUSD >= c.USD:
		return words + ", on a plan"
	}
	return words + ", " + ui.USD(c.NotionalUSD) + " on a plan"
}
