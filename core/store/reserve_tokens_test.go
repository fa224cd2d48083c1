package store_test

import (
	"errors"
	"math"
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
		if !errors.As(err, &over) || over.Error() != "the limit of tokens/day (metrics) is 1k tokens: 0 tokens are spent, 700 tokens are set aside for other runs, and this one would set 700 tokens aside" {
			t.Errorf("the other is refused with %v", err)
		}
		check(t, s.SaveIntent(ctx, other.Fence, ledger.Intent{RunID: other.Run.ID, Reservations: tokens(300)}))
		usage := pluginsdk.Usage{InputTokens: 10, OutputTokens: 20, CacheReadTokens: 300, CacheWriteTokens: 70}
		check(t, s.SaveResult(ctx, one.Fence, ledger.ResultCommit{
			RunID: one.Run.ID, Key: "1", Closes: tokens(700), Step: pluginsdk.StepInvoked, Result: pluginsdk.InvokeResult{CostUSD: 5000, Usage: usage},
			AgentRun: ledger.AgentRun{RunID: one.Run.ID, ThreadID: one.Thread.ID, CostUSD: 5000, Usage: usage},
		}))
		must[ledger.Finished](t)(s.Finish(ctx, one.Fence, ledger.Finish{RunID: one.Run.ID, State: pluginsdk.RunSucceeded}))
		wants(400, 300)
		check(t, s.SaveIntent(ctx, third.Fence, ledger.Intent{RunID: third.Run.ID, Reservations: tokens(300)}))
		wants(400, 600)
	})
}

// A run that has something set aside is not in its own way when it is tried again: what others find is left of the
// account is asked without its own row, as when the agent is about to be called.
func TestTheRoomOfARunIsWithoutItsOwnRow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		one, other, third := claimed(t, s, "general"), claimed(t, s, "other"), claimed(t, s, "third")
		check(t, intent(s, one, setAside("day", 1, 0.6)))
		check(t, intent(s, other, setAside("day", 1, 0.3)))
		wants := func(c ledger.Claim, of ledger.Reservation, spent, reserved float64) {
			t.Helper()
			gotSpent, gotReserved, err := s.Room(ctx, c.Run.ID, of)
			if err != nil || math.Abs(gotSpent-spent)+math.Abs(gotReserved-reserved) > 1e-9 {
				t.Errorf("%v spent, %v set aside for others (%v); want %v, %v", gotSpent, gotReserved, err, spent, reserved)
			}
		}
		of := setAside("day", 1, 0.6)
		wants(one, of, 0, 0.3)
		wants(third, of, 0, 0.9)
		costs(t, s, other, 0.2)
		must[ledger.Finished](t)(s.Finish(ctx, other.Fence, ledger.Finish{RunID: other.Run.ID, State: pluginsdk.RunSucceeded}))
		wants(one, of, 0.2, 0)

		// What an attempt that was killed may have taken counts as spent, in tokens as well.
		tokens := ledger.Reservation{Plugin: "purser", Reservation: pluginsdk.Reservation{Account: "tokens/day", LimitUSD: 1000, AmountUSD: 600, Unit: pluginsdk.UnitTokens}}
		check(t, intent(s, third, tokens))
		check(t, s.Release(ctx, third.Fence, third.Run.ID))
		wants(third, tokens, 600, 0)
		third = claim(t, s, third.Thread.ID)
		wantOver(t, intent(s, third, tokens), 600, 0)

		// An account keeps to its unit.
		tokens.Account = "day"
		wantCode(t, intent(s, third, tokens), pluginsdk.CodeInvalid)
	})
}
