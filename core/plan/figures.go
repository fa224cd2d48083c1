package plan

import (
	"maps"
	"slices"

	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the room counts.
type figures struct {
	tally.Set

	parked *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	f.parked = f.Counter("harness_plan_parked_total", "Runs that were parked because a limit of a plan was used up.", "who")
	for _, who := range []string{"people", "plugins"} {
		f.parked.Add(0, who)
	}
	return f
}

// Figures returns what was counted since New, and how much of the windows is used.
func (r *Room) Figures() []pluginsdk.Figure {
	used := pluginsdk.Figure{
		Name: "harness_plan_used_ratio", Help: "How much of a limit (window) of an account's plan is used, from 0 to 1.", Kind: pluginsdk.FigureGauge,
	}
	r.mu.Lock()
	accounts := make(map[string]bool)
	for at := range r.windows {
		accounts[at.account] = true
	}
	r.mu.Unlock()
	for _, account := range slices.Sorted(maps.Keys(accounts)) {
		for _, w := range r.Windows(account) {
			used.Samples = append(used.Samples, pluginsdk.FigureSample{Labels: map[string]string{"account": account, "window": w.Name}, Value: w.Used})
		}
	}
	return append(r.figures.Figures(), used)
}
