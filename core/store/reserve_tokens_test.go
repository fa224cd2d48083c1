package store_test

import (
	"errors"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A budget in tokens is spent once: what turns at work have set aside is not there for others, what a turn
// has used counts when it is over, all kinds of tokens together, and dollars are not mixed in.
func TestABudgetInTokensIsSpentOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		tokens := func(amount float64) []ledger.Reservation {
			return []ledger.Reservation{{Plugin: "metrics", Reservation: pluginsdk.Reservation{Account: "tokens/day", LimitUSD: 1000, AmountUSD: amount, Unit: pluginsdk.UnitTokens}}}
		}
		wants := func(spent, aside float64) {
			t.Helper()
			if got := must[pluginsdk.BudgetAccount](t)(s.BudgetAccount(ctx, "metrics", "tokens/day")); got != (pluginsdk.BudgetAccount{SpentUSD: spent, SetAsideUSD: aside, LimitUSD: 1000}) {
				t.Errorf("it stands at %+v, want %v spent, %v set aside", got, spent, aside)
			}
		}
		one, other, third := claimed(t, s, "general"), claimed(t, s, "other"), claimed(t, s, "third")
		check(t, s.SaveIntent(ctx, one.Fence, ledger.Intent{RunID: one.Run.ID, Reservations: tokens(700)}))
		wants(0, 700)
		var over *ledger.OverLimit
		err := s.SaveIntent(ctx, other.Fence, ledger.Intent{RunID: other.Run.ID, Reservations: tokens(700)})
		if !errors.As(err, &over) || over.Error() != "the limit of tokens/day (metrics) is 1000 tokens: 0 tokens are spent, 700 tokens are set aside for other runs, and this one would set 700 tokens aside" {
			t.Errorf("the other is refused with %v", err)
		}
		check(t, s.SaveIntent(ctx, other.Fence, ledger.Intent{RunID: other.Run.ID, Reservations: tokens(300)}))
		usage := pluginsdk.Usage{InputTokens: 10, OutputTokens: 20, CacheReadTokens: 300, CacheWriteTokens: 70}
		check(t, s.SaveResult(ctx, one.Fence, ledger.ResultCommit{
			RunID: one.Run.ID, Key: "1", Step: pluginsdk.StepInvoked, Result: pluginsdk.InvokeResult{CostUSD: 5000, Usage: usage},
			AgentRun: ledger.AgentRun{RunID: one.Run.ID, ThreadID: one.Thread.ID, CostUSD: 5000, Usage: usage},
		}))
		must[ledger.Finished](t)(s.Finish(ctx, one.Fence, ledger.Finish{RunID: one.Run.ID, State: pluginsdk.RunSucceeded}))
		wants(400, 300)
		check(t, s.SaveIntent(ctx, third.Fence, ledger.Intent{RunID: third.Run.ID, Reservations: tokens(300)}))
		wants(400, 600)
	})
}
