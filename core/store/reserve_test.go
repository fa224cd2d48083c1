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

// claimed is a run in a thread of its own that has been claimed.
func claimed(t testing.TB, s *store.Store, name string) ledger.Claim {
	t.Helper()
	thread := newThread(t, s, name)
	accept(t, s, thread.ID, "work")
	return claim(t, s, thread.ID)
}

func setAside(account string, limit, amount float64) ledger.Reservation {
	return ledger.Reservation{Plugin: "purser", Reservation: pluginsdk.Reservation{Account: account, LimitUSD: limit, AmountUSD: amount}}
}

func intent(s *store.Store, c ledger.Claim, all ...ledger.Reservation) error {
	return s.SaveIntent(context.Background(), c.Fence, ledger.Intent{RunID: c.Run.ID, SessionID: "S", Reservations: all})
}

// costs ends a run's turn with what it has cost.
func costs(t testing.TB, s *store.Store, c ledger.Claim, usd float64) {
	t.Helper()
	commit := result(c)
	commit.Key, commit.Result.CostUSD, commit.AgentRun.CostUSD = c.Run.ID, usd, usd
	check(t, s.SaveResult(context.Background(), c.Fence, commit))
}

func wantOver(t testing.TB, err error, spent, reserved float64) {
	t.Helper()
	var over *ledger.OverLimit
	if !errors.As(err, &over) || math.Abs(over.SpentUSD-spent) > 1e-6 || math.Abs(over.ReservedUSD-reserved) > 1e-6 {
		t.Errorf("got %v, want it over the limit with %v spent and %v set aside", err, spent, reserved)
	}
}

// What is set aside for one run nobody else may spend; when it is over, what it has
// really cost is gone, and the rest is there again.
func TestAnAccountIsNeverOverItsLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, next, third := claimed(t, s, "first"), claimed(t, s, "next"), claimed(t, s, "third")
		check(t, intent(s, first, setAside("day", 1, 0.6)))
		wantOver(t, intent(s, next, setAside("day", 1, 0.6)), 0, 0.6)
		if run := must[ledger.Run](t)(s.KeptRun(context.Background(), next.Run.ID)); run.Step == pluginsdk.StepInvoking {
			t.Error("what was refused has noted that the agent is about to be called")
		}
		check(t, intent(s, next, setAside("day", 1, 0.4))) // all that there is
		check(t, intent(s, third, setAside("night", 1, 1)))
		check(t, intent(s, first, setAside("day", 1, 0.6))) // its next attempt has what it had
		wantOver(t, intent(s, first, setAside("day", 1, 0.7)), 0, 0.4)

		costs(t, s, first, 0.1)
		wantOver(t, intent(s, third, setAside("day", 1, 0.5)), 0, 1) // it is not over yet
		finish(t, s, first, "done")
		wantOver(t, intent(s, third, setAside("day", 1, 0.6)), 0.1, 0.4)
		check(t, intent(s, third, setAside("day", 1, 0.5)))
		costs(t, s, next, 0.9) // dearer than thought
		wantOver(t, intent(s, third, setAside("day", 1, 0.5)), 0.1, 0.9)
		finish(t, s, next, "done")
		finish(t, s, third, "done")
		last := claimed(t, s, "last")
		wantOver(t, intent(s, last, setAside("day", 1, 0.01)), 1, 0)
		check(t, intent(s, last, setAside("day", 0, 5))) // no limit: counted only

		problems, err := s.Integrity(context.Background())
		if err != nil || len(problems) > 0 {
			t.Errorf("%q %v", problems, err)
		}
	})
}

// Of several accounts all have enough, or nothing is set aside in any.
func TestReservationsAreAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, next := claimed(t, s, "first"), claimed(t, s, "next")
		err := intent(s, first, setAside("day", 1, 0.5), setAside("thread", 0.1, 0.5))
		wantOver(t, err, 0, 0)
		if !strings.Contains(err.Error(), "the limit of thread (purser) is $0.10: $0.00 are spent, $0.00 are set aside for other runs, and this one would set $0.50 aside") {
			t.Errorf("said: %v", err)
		}
		check(t, intent(s, next, setAside("day", 1, 1)))
		other := setAside("day", 1, 1)
		other.Plugin = "somebody-else"
		check(t, intent(s, first, other)) // an account of the same name, and another's
	})
}

// Runs that ask at the same time see each other, in accounts that they name in
// whichever order; nobody waits for good.
func TestManyReserveAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const runs, places = 24, 10
		var claims [runs]ledger.Claim
		for i := range claims {
			claims[i] = claimed(t, s, fmt.Sprint(i))
		}
		var wait sync.WaitGroup
		var granted [runs]bool
		for i, c := range claims {
			wait.Go(func() {
				all := []ledger.Reservation{setAside("a", places, 1), setAside("b", places, 1)}
				if i%2 == 0 {
					all[0], all[1] = all[1], all[0]
				}
				err := intent(s, c, all...)
				var over *ledger.OverLimit
				if err != nil && !errors.As(err, &over) {
					t.Errorf("run %d: %v", i, err)
				}
				granted[i] = err == nil
			})
		}
		wait.Wait()
		n := 0
		for i, c := range claims {
			if granted[i] {
				n++
				costs(t, s, c, 1)
				finish(t, s, c, "done")
			}
		}
		if n != places {
			t.Errorf("%d runs have a place, want %d", n, places)
		}
		wantOver(t, intent(s, claimed(t, s, "late"), setAside("a", places, 0.5)), places, 0)
	})
}
