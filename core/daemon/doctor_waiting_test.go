package daemon

import (
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// Who asks doctor reads how many wait, also those behind, for what, and until when.
func TestDoctorSaysHowManyWaitForABudget(t *testing.T) {
	midnight := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	for want, one := range map[string]ledger.ParkedCount{
		"1 run waits for the budget daily until 29 November 00:00 UTC":                         {Plugin: "metrics", Budget: "daily", Runs: 1, Until: midnight},
		"1 run and 4 messages behind it wait for the budget daily until 29 November 00:00 UTC": {Plugin: "metrics", Budget: "daily", Runs: 1, Behind: 4, Until: midnight},
		"10000 runs and 1 message behind them wait for the budget ever":                        {Plugin: "metrics", Budget: "ever", Runs: 10_000, Behind: 1},
		"2 runs wait for the plugin gatekeeper":                                                {Plugin: "gatekeeper", Runs: 2},
	} {
		if got := waitingWords(one); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
