// Package budgets is the page of what the agent may cost: how much of each budget is used, and the forms to
// make, change and remove one.
package budgets

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const at = "/budgets"

type pages struct{ *site.Site }

// Register adds the page to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET "+at, pluginsdk.ScopeRead, p.all)
	s.Form("POST "+at, pluginsdk.ScopeApprove, p.add)
	s.Form("POST "+at+"/confirm", pluginsdk.ScopeApprove, p.confirm)
	s.Form("POST "+at+"/budget/{name}", pluginsdk.ScopeApprove, p.save)
	s.Form("POST "+at+"/budget/{name}/remove", pluginsdk.ScopeApprove, p.remove)
}

// shown is what the page shows.
type shown struct {
	api.Budgets

	fresh  form            // for a budget that is to be made
	forms  map[string]form // by the name of the budget
	open   string          // whose form was wrong, which is open
	may    bool            // who looks may change them
	now    time.Time
	parked map[string]int // how many messages wait for each
}

func (p pages) read(r *http.Request) (of shown, err error) {
	of = shown{fresh: formOf(api.Budget{Window: "day", Of: "all"}), forms: make(map[string]form), may: site.May(r, pluginsdk.ScopeApprove), now: time.Now(), parked: make(map[string]int)}
	if err := p.Get(r.Context(), "/api/budgets", nil, &of.Budgets); err != nil {
		return of, err
	}
	for _, one := range of.Budgets.Budgets {
		of.forms[one.Name] = formOf(one)
	}
	var plan api.Plan
	err = p.Get(r.Context(), "/api/plan", nil, &plan)
	if site.Status(err) == http.StatusForbidden { // web may not see the accounts
		err = nil
	}
	for _, run := range plan.Parked {
		if run.Parked.Plugin != "" {
			of.parked[run.Parked.Budget]++
		}
	}
	return of, err
}

func view(of shown) site.View { return site.View{Title: "Budgets", At: "/usage", Body: page(of)} }

func (p pages) all(r *http.Request) (site.View, error) {
	of, err := p.read(r)
	return view(of), err
}

func budgetPath(name string, below ...string) string {
	return strings.Join(append([]string{at + "/budget/" + url.PathEscape(name)}, below...), "/")
}

func apiPath(name string) string { return "/api/budgets/" + url.PathEscape(name) }

func (p pages) add(r *http.Request) (site.Done, error) {
	of, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	of.fresh.take(r.PostForm)
	name := strings.TrimSpace(r.PostForm.Get("name"))
	of.fresh.name.Value = name
	if slices.ContainsFunc(of.Budgets.Budgets, func(one api.Budget) bool { return one.Name == name }) {
		of.fresh.name.Wrong = "a budget has this name already"
		return site.Done{}, &site.Again{View: view(of)}
	}
	return p.put(r, name, of, &of.fresh)
}

func (p pages) save(r *http.Request) (site.Done, error) {
	of, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	name := r.PathValue("name")
	typed := of.forms[name]
	typed.take(r.PostForm)
	of.open = name
	done, err := p.put(r, name, of, &typed)
	return done, err
}

// put sets a budget as it was typed; what is wrong with that is shown in the form.
func (p pages) put(r *http.Request, name string, of shown, typed *form) (site.Done, error) {
	wrong := func(words string) (site.Done, error) {
		typed.amount.Wrong = words
		if of.open != "" {
			of.forms[of.open] = *typed
		} else {
			of.fresh = *typed
		}
		return site.Done{}, &site.Again{View: view(of)}
	}
	body, err := typed.body()
	if err != nil {
		return wrong(err.Error())
	}
	err = p.Ask(r.Context(), http.MethodPut, apiPath(name), nil, body, nil)
	var problem *site.Problem
	if errors.As(err, &problem) && (problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusConflict) {
		return wrong(problem.Error())
	}
	return site.Done{To: at, Said: setWords(name, *body.Soft)}, err
}

// setWords says what a budget does that was set.
func setWords(name string, soft bool) string {
	if soft {
		return "The budget " + name + " is set. It is soft: people are told when it is passed, and turns go on."
	}
	return "The budget " + name + " is set. It holds from the next turn on; what waits for it goes on if there is room."
}

func (p pages) remove(r *http.Request) (site.Done, error) {
	name := r.PathValue("name")
	err := p.Ask(r.Context(), http.MethodDelete, apiPath(name), nil, nil, nil)
	return site.Done{To: at, Said: "The budget " + name + " is removed."}, err
}

func (p pages) confirm(r *http.Request) (site.Done, error) {
	err := p.Post(r.Context(), "/api/budgets/confirm", nil, nil)
	return site.Done{To: at, Said: "The budgets hold from the next turn on."}, err
}

// form is what people say of a budget, as it is typed.
type form struct{ name, amount, unit, window, of, soft ui.Input }

func formOf(one api.Budget) form {
	f := form{
		name:   ui.Input{Name: "name", Label: "Name", Required: true, Placeholder: "research", Hint: "a to z, 0 to 9 and -"},
		amount: ui.Input{Name: "amount", Label: "Amount", Required: true, Type: "number", Min: "0.01", Step: "any"},
		unit:   ui.Input{Name: "unit", Label: "In", Value: "usd", Options: ui.Options("usd", "US dollars", "tokens", "Tokens", "share", "Per cent of the plan's windows")},
		window: ui.Input{Name: "window", Label: "For each", Value: one.Window, Options: ui.Options("day", "Day", "week", "Week", "month", "Month", "ever", "In all")},
		of:     ui.Input{Name: "of", Label: "What it counts", Required: true, Value: one.Of, List: []string{"all", "billed", "cron=*", "task=*", "thread=*", "plugin=NAME", "account=NAME"}, Hint: "all, billed, cron=NAME, plugin=NAME ...; * for each"},
		soft:   ui.Input{Name: "soft", Label: "When it is used up", Value: "hard", Options: ui.Options("hard", "Stop turns", "soft", "Only tell people")},
	}
	switch {
	case one.Tokens > 0:
		f.unit.Value, f.amount.Value = "tokens", strconv.FormatFloat(one.Tokens, 'f', -1, 64)
	case one.Share > 0:
		f.unit.Value, f.amount.Value = "share", strconv.FormatFloat(one.Share, 'f', -1, 64)
	case one.USD > 0:
		f.amount.Value = strconv.FormatFloat(one.USD, 'f', -1, 64)
	}
	if one.Soft {
		f.soft.Value = "soft"
	}
	return f
}

// named is the form of one budget of several on the page.
func named(f form, budget string) form {
	for _, in := range f.inputs() {
		in.ID = in.Name + "-" + budget
	}
	return f
}

func (f *form) inputs() []*ui.Input {
	return []*ui.Input{&f.amount, &f.unit, &f.window, &f.of, &f.soft}
}

func (f *form) take(typed url.Values) {
	for _, in := range f.inputs() {
		in.Value = strings.TrimSpace(typed.Get(in.Name))
	}
}

// body is the request that the form makes.
func (f *form) body() (body api.BudgetSet, err error) {
	amount, err := strconv.ParseFloat(strings.TrimPrefix(f.amount.Value, "$"), 64)
	if err != nil || amount <= 0 {
		return body, fmt.Errorf("must be a number above 0, got %q", f.amount.Value)
	}
	soft := f.soft.Value == "soft"
	body = api.BudgetSet{Window: f.window.Value, Of: f.of.Value, Soft: &soft}
	switch f.unit.Value {
	case "tokens":
		body.Tokens = int64(amount)
	case "share":
		body.Share, body.Window = amount, "" // the plan has windows of its own
	default:
		body.USD = amount
	}
	return body, nil
}

// limit is what may be spent, in the budget's unit.
func limit(one api.Budget) float64 { return one.USD + one.Tokens }

// say is an amount of the budget's unit as people read it.
func say(one api.Budget, amount float64) string {
	if one.Tokens > 0 {
		return ui.Count(int64(amount)) + " tokens"
	}
	return ui.USD(amount)
}

// spent says what was spent, and what of that nobody is billed.
func spent(one api.Budget, amount, notional float64) string {
	text := say(one, amount) + " spent"
	switch {
	case ui.USD(notional) == ui.USD(0):
		return text
	case ui.USD(notional) == ui.USD(amount):
		return text + " (notional)"
	}
	return fmt.Sprintf("%s (%s of it notional)", text, ui.USD(notional))
}

// words is the budget without what is spent of it.
func words(one api.Budget) string {
	switch {
	case one.Share > 0:
		return strconv.FormatFloat(one.Share, 'f', -1, 64) + " % of each window of the plan"
	case one.Window == "ever":
		return say(one, limit(one)) + " in all"
	}
	return say(one, limit(one)) + " a " + one.Window
}

// projected is what the budget's window comes to at the pace so far, if it is late enough to say.
func projected(one api.Budget, now time.Time) (amount float64, ok bool) {
	if one.Each || one.Share > 0 || one.Begins.IsZero() || one.Ends.IsZero() {
		return 0, false
	}
	return pluginsdk.UsageSum{CostUSD: one.SpentUSD}.AtThisPace(one.Begins, now, one.Ends)
}

// standing says how much of a budget is left.
func standing(one api.Budget, confirmed bool) (ui.Tone, string) {
	switch used := one.SpentUSD + one.SetAsideUSD; {
	case one.Share > 0:
		return ui.Plain, "share"
	case one.Each && one.UsedUp > 0 && (one.Soft || !confirmed):
		return ui.Wait, strconv.Itoa(one.UsedUp) + " passed"
	case one.Each && one.UsedUp > 0:
		return ui.Bad, strconv.Itoa(one.UsedUp) + " used up"
	case one.Each:
		return ui.Plain, "each"
	case used >= limit(one) && (one.Soft || !confirmed):
		return ui.Wait, "passed"
	case used >= limit(one):
		return ui.Bad, "used up"
	case used >= 0.8*limit(one):
		return ui.Wait, "nearly used up"
	}
	return ui.Good, "open"
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// title is how people call who spends from a budget for each.
func title(of api.Spender) string { return cmp.Or(of.Name, of.Of) }
