package tasks

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Dollars that nobody is billed, or that may be wrong, must not be taken for a bill.
func TestCostOf(t *testing.T) {
	for want, task := range map[string]pluginsdk.Task{
		"$1.50 of $5.00":                    {CostUSD: 1.5, CostCapUSD: 5},
		"≈ $1.50 of $5.00":                  {CostUSD: 1.5, CostCapUSD: 5, CostUnsure: true},
		"$1.50 of $5.00, on a plan":         {CostUSD: 1.5, CostCapUSD: 5, NotionalUSD: 1.5},
		"≈ $1.50 of $5.00, $0.50 on a plan": {CostUSD: 1.5, CostCapUSD: 5, NotionalUSD: 0.5, CostUnsure: true},
	} {
		if got := costOf(task); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
