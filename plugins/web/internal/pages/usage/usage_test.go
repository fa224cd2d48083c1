package usage

import (
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
)

// A budget that stops nothing is not called used up: turns go on.
func TestBudgetsThatStopNothingArePassed(t *testing.T) {
	hard := api.Budget{USD: 1, SpentUSD: 0.75, SetAsideUSD: 0.25}
	soft, each, room := hard, api.Budget{USD: 1, Each: true, UsedUp: 2}, api.Budget{Tokens: 1000, SpentUSD: 10}
	soft.Soft = true
	for want, all := range map[string]api.Budgets{
		"":                               {Confirmed: true, Budgets: []api.Budget{room, {USD: 1, Each: true}, {Share: 50}}},
		"1 budget used up":               {Confirmed: true, Budgets: []api.Budget{hard, room}},
		"1 budget passed without a stop": {Confirmed: true, Budgets: []api.Budget{soft, room}},
		"2 budgets used up, 1 budget passed without a stop": {Confirmed: true, Budgets: []api.Budget{hard, each, soft}},
		"2 budgets passed without a stop":                   {Budgets: []api.Budget{hard, each}},
	} {
		if got := usedUp(all); got != want {
			t.Errorf("said is %q, want %q", got, want)
		}
	}
}
