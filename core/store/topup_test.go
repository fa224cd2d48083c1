package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// atRest is setAside of an amount that is the turn's cap until it is topped up.
func atRest(account string, limit, amount float64) ledger.Reservation {
	one := setAside(account, limit, amount)
	one.CapAtRest = true
	return one
}

func topUp(s *store.Store, c ledger.Claim, all ...ledger.Reservation) (float64, error) {
	return s.TopUp(context.Background(), c.Fence, c.Run.ID, all)
}

// costsAll stores a turn that has failed, and what it has cost; its reservations are closed.
func costsAll(t testing.TB, s *store.Store, c ledger.Claim, usd float64, all ...ledger.Reservation) {
	t.Helper()
	commit := result(c)
	commit.Key, commit.Step, commit.Rows = fmt.Sprint(c.Run.ID, c.Run.Attempt), pluginsdk.StepInvoking, nil
	commit.Result.CostUSD, commit.AgentRun.CostUSD, commit.Closes = usd, usd, all
	check(t, s.SaveResult(context.Background(), c.Fence, commit))
}

func wantAccount(t testing.TB, s *store.Store, account string, want pluginsdk.BudgetAccount) {
	t.Helper()
	got := must[pluginsdk.BudgetAccount](t)(s.BudgetAccount(context.Background(), "purser", account))
	if near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }; !near(got.SpentUSD, want.SpentUSD) || !near(got.SetAsideUSD, want.SetAsideUSD) || got.LimitUSD != want.LimitUSD {
		t.Errorf("the account %s: %+v, want %+v", account, got, want)
	}
}

// A turn that costs more than it was thought to gets more, as long as there is some: the last
// part is what is left, and then it is told that there is nothing.
func TestATurnIsToppedUpUntilNothingIsLeft(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		day, thread := atRest("day", 1, 0.3), atRest("thread", 0.75, 0.2)
		first, next := claimed(t, s, "first"), claimed(t, s, "next")
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{})
		check(t, intent(s, first, day, thread))
		check(t, intent(s, next, atRest("day", 1, 0.25)))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SetAsideUSD: 0.55, LimitUSD: 1})
		for i, want := range []float64{0.2, 0.2, 0.05} { // of day 0.45 are left, and of thread 0.55
			if more, err := topUp(s, first, thread, day); err != nil || math.Abs(more-want) > 1e-9 {
				t.Errorf("top-up %d: %v, %v; want %v", i, more, err, want)
			}
		}
		_, err := topUp(s, first, day, thread)
		var over *ledger.OverLimit
		if !errors.As(err, &over) || over.Reservation.Account != "day" || math.Abs(over.ReservedUSD-0.25) > 1e-9 || math.Abs(over.OwnUSD-0.75) > 1e-9 {
			t.Errorf("with nothing left: %v", err)
		}
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SetAsideUSD: 1, LimitUSD: 1})
		wantAccount(t, s, "thread", pluginsdk.BudgetAccount{SetAsideUSD: 0.65, LimitUSD: 0.75})

		costsAll(t, s, first, 0.6, day, thread)
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.6, SetAsideUSD: 0.25, LimitUSD: 1})
		finish(t, s, first, "done")
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.6, SetAsideUSD: 0.25, LimitUSD: 1})
		if more, err := topUp(s, next, atRest("day", 1, 0.25)); err != nil || math.Abs(more-0.15) > 1e-9 {
			t.Errorf("what the first has not spent is not there for the next: %v, %v", more, err)
		}
		sound(t, s)
	})
}

// An account without a limit only counts.
func TestATopUpWithoutALimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := claimed(t, s, "first")
		check(t, intent(s, c, atRest("all", 0, 0.3)))
		if more, err := topUp(s, c, atRest("all", 0, 0.3)); err != nil || more != 0.3 {
			t.Errorf("%v, %v", more, err)
		}
		wantAccount(t, s, "all", pluginsdk.BudgetAccount{SetAsideUSD: 0.6})
	})
}

// Turns that ask at the same time never have more together than there is.
func TestTurnsThatTopUpAtOnceStayWithinTheLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const turns, limit = 8, 1.0
		var claims [turns]ledger.Claim
		for i := range claims {
			claims[i] = claimed(t, s, fmt.Sprint(i))
			check(t, intent(s, claims[i], atRest("day", limit, 0.05), atRest("month", 5, 0.05)))
		}
		var wait sync.WaitGroup
		var had [turns]float64
		for i, c := range claims {
			wait.Go(func() {
				had[i] = 0.05
				all := []ledger.Reservation{atRest("month", 5, 0.07), atRest("day", limit, 0.07)}
				if i%2 == 0 {
					all[0], all[1] = all[1], all[0]
				}
				for range 100 {
					more, err := topUp(s, c, all...)
					had[i] += more
					var over *ledger.OverLimit
					if errors.As(err, &over) {
						return
					}
					if err != nil || more <= 0 {
						t.Errorf("turn %d: %v, %v", i, more, err)
						return
					}
				}
				t.Errorf("turn %d gets more for ever", i)
			})
		}
		wait.Wait()
		sum := 0.0
		for i, c := range claims {
			sum += had[i]
			costsAll(t, s, c, had[i], atRest("day", limit, 0.05), atRest("month", 5, 0.05))
			finish(t, s, c, "done")
		}
		if math.Abs(sum-limit) > 1e-9 {
			t.Errorf("they have %v together, want all of %v", sum, limit)
		}
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: sum, LimitUSD: limit})
		wantOver(t, intent(s, claimed(t, s, "late"), atRest("day", limit, 0.05)), limit, 0)
	})
}

// What a daemon that was killed has let a turn spend, nobody spends again: not the run's next
// attempt, and nobody after it.
func TestWhatAKilledTurnHadSetAsideIsSpent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p, day := newPurse(t, s, 1), atRest("day", 1, 0.3)
		c := claimed(t, s, "first")
		check(t, intent(s, c, day))
		_ = must[float64](t)(topUp(s, c, day))
		c = p.killed(c)
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SetAsideUSD: 0.6, LimitUSD: 1})
		wantOver(t, intent(s, c, atRest("day", 1, 0.5)), 0.6, 0)
		check(t, intent(s, c, day))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.6, SetAsideUSD: 0.3, LimitUSD: 1})
		again := day
		again.Again = true // the agent did not know the session: the same attempt begins once more
		check(t, intent(s, c, again))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.6, SetAsideUSD: 0.3, LimitUSD: 1})
		if more, err := topUp(s, c, day); err != nil || math.Abs(more-0.1) > 1e-9 {
			t.Errorf("%v, %v; want the 0.1 that are left", more, err)
		}
		costsAll(t, s, c, 0.25, day)
		finish(t, s, c, "done")
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.85, LimitUSD: 1})

		last := claimed(t, s, "last")
		check(t, intent(s, last, atRest("day", 1, 0.15)))
		last = p.killed(last)
		finish(t, s, last, "given up")
		wantOver(t, intent(s, claimed(t, s, "late"), atRest("day", 1, 0.01)), 1, 0)
		sound(t, s)
	})
}

// An attempt that is tried again has its whole amount beside what the one before has cost, and
// that is in the limit.
func TestAFurtherAttemptSetsItsAmountAsideAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		day, c := atRest("day", 1, 0.3), claimed(t, s, "first")
		check(t, intent(s, c, day))
		costsAll(t, s, c, 0.25, day)
		wantOver(t, intent(s, c, atRest("day", 1, 0.8)), 0.25, 0)
		check(t, intent(s, c, day))
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SpentUSD: 0.25, SetAsideUSD: 0.3, LimitUSD: 1})
		wantOver(t, intent(s, claimed(t, s, "next"), atRest("day", 1, 0.5)), 0, 0.55)
	})
}

// Who has lost the thread sets nothing more aside.
func TestAStaleTurnIsNotToppedUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		day, c := atRest("day", 1, 0.3), claimed(t, s, "first")
		check(t, intent(s, c, day))
		_ = newPurse(t, s, 1).killed(c)
		if _, err := topUp(s, c, day); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
			t.Errorf("got %v, want it refused as stale", err)
		}
		wantAccount(t, s, "day", pluginsdk.BudgetAccount{SetAsideUSD: 0.3, LimitUSD: 1})
	})
}

// The words of a refusal are the plugin's, with the amounts, and with as many digits as it takes
// for them to add up.
func TestARefusalSaysThePluginsReason(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		one := atRest("day", 0.02, 0.004)
		one.Reason = "of {limit}, {spent} are spent and {set_aside} set aside; {amount} more would be too much"
		first, next := claimed(t, s, "first"), claimed(t, s, "next")
		check(t, intent(s, first, atRest("day", 0.02, 0.0175)))
		if err := intent(s, next, one); err == nil || !strings.Contains(err.Error(), "of $0.020, $0.000 are spent and $0.018 set aside; $0.004 more would be too much") {
			t.Errorf("said: %v", err)
		}
	})
}
