package budget

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What /metrics shows of budgets: how much of each is spent, and what it has, in its unit. A budget that each thread, task
// or schedule has for itself is left out: it has no one account.

// figures collects them.
type figures map[string]*pluginsdk.Figure

var figureHelp = map[string]string{
	"harness_metrics_budget_spent_usd":    "What is spent of a budget in its present window, in US dollars; notional on a plan.",
	"harness_metrics_budget_limit_usd":    "What a budget has in a window, in US dollars.",
	"harness_metrics_budget_spent_tokens": "What is spent of a budget in its present window, in tokens.",
	"harness_metrics_budget_limit_tokens": "What a budget has in a window, in tokens.",
	"harness_metrics_budget_used_ratio":   "How much is used of a plan's window of which a budget is a share, from 0 to 1.",
	"harness_metrics_budget_limit_ratio":  "The share of a plan's window up to which a budget lets turns begin, from 0 to 1.",
}

func (f figures) gauge(what string, value float64, labels map[string]string) {
	one := f[what]
	if one == nil {
		one = &pluginsdk.Figure{Name: what, Help: figureHelp[what], Kind: pluginsdk.FigureGauge}
		f[what] = one
	}
	one.Samples = append(one.Samples, pluginsdk.FigureSample{Labels: labels, Value: value})
}

// spent takes in how the account of a budget stands.
func (f figures) spent(b Budget, spent float64) {
	is, has := "harness_metrics_budget_spent_usd", "harness_metrics_budget_limit_usd"
	if b.Tokens > 0 {
		is, has = "harness_metrics_budget_spent_tokens", "harness_metrics_budget_limit_tokens"
	}
	f.gauge(is, spent, map[string]string{"budget": b.Name, "window": string(b.Window)})
	f.gauge(has, b.limit(), map[string]string{"budget": b.Name, "window": string(b.Window)})
}

// share takes in how much of the windows is used of which a budget is a share. Of a window that has ended since it was
// told of last nobody knows how much is used.
func (f figures) share(known *known, b Budget, now time.Time) {
	for account, of := range known.accounts {
		if b.Scope.Kind == Account && b.Scope.Of != each && b.Scope.Of != account {
			continue
		}
		for _, w := range of.Windows {
			if !now.Before(w.ResetsAt) {
				continue
			}
			labels := func() map[string]string {
				return map[string]string{"budget": b.Name, "window": w.Name, "account": account, "model": w.Model}
			}
			f.gauge("harness_metrics_budget_used_ratio", w.Used, labels())
			f.gauge("harness_metrics_budget_limit_ratio", b.Share/100, labels())
		}
	}
}

// all returns them, in one order.
func (f figures) all() (all []pluginsdk.Figure) {
	for _, one := range f {
		slices.SortFunc(one.Samples, func(a, b pluginsdk.FigureSample) int {
			return cmp.Or(cmp.Compare(a.Labels["budget"], b.Labels["budget"]), cmp.Compare(a.Labels["account"], b.Labels["account"]),
				cmp.Compare(a.Labels["window"], b.Labels["window"]), cmp.Compare(a.Labels["model"], b.Labels["model"]))
		})
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b pluginsdk.Figure) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
