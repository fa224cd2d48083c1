package store_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// purse is what the key spare may cost on one day as a fallback.
type purse struct {
	t     *testing.T
	s     *store.Store
	name  string
	limit float64
}

func newPurse(t *testing.T, s *store.Store, limit float64) purse {
	t.Helper()
	return purse{t: t, s: s, name: ledger.FallbackAccount("spare", "2026-11-23"), limit: limit}
}

// begins sets aside what an attempt may cost, as step 5a does.
func (p purse) begins(c ledger.Claim, amount float64) error {
	one := setAside(p.name, p.limit, amount)
	one.Plugin = ledger.CoreAccounts
	return intent(p.s, c, one)
}

// ends stores that an attempt has failed, as one that can be tried again, and what it has cost.
func (p purse) ends(c ledger.Claim, usd float64) {
	p.t.Helper()
	p.turn(c, usd, p.name)
}

// turn stores a turn without an answer. Without a purse the plan has paid for it.
func (p purse) turn(c ledger.Claim, usd float64, from string) {
	p.t.Helper()
	commit := result(c)
	commit.Key, commit.Step, commit.Rows = uuid.NewString(), pluginsdk.StepInvoking, nil
	commit.Purse = from
	commit.Result.CostUSD, commit.AgentRun.CostUSD = usd, usd
	check(p.t, p.s.SaveResult(context.Background(), c.Fence, commit))
}

// killed is the claim of a run by the next daemon, when this one has died at work on it.
func (p purse) killed(c ledger.Claim) ledger.Claim {
	p.t.Helper()
	must[[]ledger.Queue](p.t)(p.s.Recover(context.Background(), uuid.NewString()))
	return claim(p.t, p.s, c.Thread.ID)
}

// wants checks what is spent from the purse and set aside in it.
func (p purse) wants(want float64) {
	p.t.Helper()
	if got := must[float64](p.t)(p.s.Reserved(context.Background(), ledger.CoreAccounts, p.name)); math.Abs(got-want) > 1e-9 {
		p.t.Errorf("spent and set aside are %v, want %v", got, want)
	}
}

// What a fallback may cost in a day has nothing to do with what the run has cost before and
// later on the plan, of which nobody is billed a cent.
func TestAFallbackPaysForWhatItWasUsedFor(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		p := newPurse(t, s, 1)
		first, next := claimed(t, s, "first"), claimed(t, s, "next")
		p.turn(first, 5, "")
		check(t, p.begins(first, 0.6))
		p.wants(0.6)
		wantOver(t, p.begins(next, 0.5), 0, 0.6)
		p.ends(first, 0.25)
		p.wants(0.25)
		must[[]ledger.Lane](t)(s.ParkRun(t.Context(), first.Fence, parkedFor(first, *clock)))
		p.wants(0.25) // who waits has nothing set aside
		first = claim(t, s, first.Thread.ID)
		p.turn(first, 7, "")
		finish(t, s, first, "answer")
		p.wants(0.25)
		check(t, p.begins(next, 0.75))
		p.wants(1)
		sound(t, s)
	})
}

// A run that is tried again has the money that its attempts before have not spent, and no more.
func TestARunThatIsTriedAgainWithItsFallback(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 1)
		c := claimed(t, s, "first")
		check(t, p.begins(c, 1))
		p.ends(c, 0) // 529
		p.wants(0)
		check(t, p.begins(c, 1))
		p.ends(c, 0.9)
		p.wants(0.9)
		wantOver(t, p.begins(c, 1), 0.9, 0)
		check(t, p.begins(c, 0.1))
		p.ends(c, 0.15) // the last call was dearer than what was left
		wantOver(t, p.begins(c, 0.01), 1.05, 0)
	})
}

// Two runs that take turns with one fallback spend no more than one would.
func TestTwoRunsSpendNoMoreThanTheirFallback(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 2)
		a, b := claimed(t, s, "a"), claimed(t, s, "b")
		check(t, p.begins(a, 1))
		p.ends(a, 0.9)
		check(t, p.begins(b, 1))
		wantOver(t, p.begins(a, 1), 0.9, 1)
	})
}

// Of an attempt that was killed nobody knows what it has cost: it counts as all that it might
// have.
func TestAKilledAttemptHasSpentWhatWasSetAside(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 2)
		c := claimed(t, s, "first")
		check(t, p.begins(c, 1))
		c = p.killed(c)
		p.wants(1)
		check(t, p.begins(c, 0.8))
		p.wants(1.8)
		p.ends(c, 0.3)
		p.wants(1.3)
		c = p.killed(c) // between two attempts: all is known
		p.wants(1.3)
		check(t, p.begins(c, 0.5))
		c = p.killed(c)
		finish(t, s, c, "done") // with the plan
		p.wants(1.8)
		wantOver(t, p.begins(claimed(t, s, "next"), 0.3), 1.8, 0)
		sound(t, s)
	})
}
