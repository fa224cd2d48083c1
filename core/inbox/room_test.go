package inbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var dayAccount = ledger.AccountRef{Plugin: "metrics", Account: "day"}

// heldByTurns is how the pipeline returns a run for which there is not enough left in an account while others hold it.
func heldByTurns(account ledger.AccountRef) error {
	return &ledger.NoRoom{Soon: true, Account: account.Account, Failure: &pluginsdk.Failure{
		Kind: pluginsdk.FailureBudget, Message: "turns at work hold the rest", Retryable: true,
		Parked: &pluginsdk.Parked{Reason: "turns at work hold the rest", Account: "home", Plugin: account.Plugin, Budget: "daily"},
	}}
}

// queued counts the parked runs. The lock of the store is held.
func (m *memory) queued() (n int) {
	for _, run := range m.runs {
		if run.State == pluginsdk.RunQueued && run.Parked != nil {
			n++
		}
	}
	return n
}

// Who waits since others are at work goes on when one of them ends that has set something aside in the same account,
// however that one ends; not when the budget is looked at next, in minutes.
func TestTheEndOfATurnHasAWaiterGoOn(t *testing.T) {
	for what, ending := range map[string]struct {
		frees ledger.Freed
		err   error
	}{
		"it succeeds":                {ledger.Freed{Accounts: []ledger.AccountRef{{Plugin: "other", Account: "x"}, dayAccount}}, nil},
		"it fails":                   {ledger.Freed{Accounts: []ledger.AccountRef{dayAccount}}, errors.New("broken")},
		"nobody knows what it holds": {ledger.Freed{Unsure: true}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, Config{MaxAttempts: 1})
			parked := make(chan struct{})
			var over atomic.Bool
			f.line.frees = func(claim ledger.Claim) ledger.Freed {
				if claim.Thread.ID == "T1" {
					return ending.frees
				}
				return ledger.Freed{}
			}
			f.line.handle = func(_ context.Context, claim ledger.Claim) error {
				switch {
				case claim.Thread.ID == "T1":
					<-parked
					over.Store(true)
					return ending.err
				case !over.Load():
					return heldByTurns(dayAccount)
				}
				return nil
			}
			f.begin(t)
			f.submit(t, "T1", "1", "at work")
			waits := f.submit(t, "T2", "2", "waits")
			f.store.until(t, "the second to wait", func() bool { return f.store.queued() == 1 })
			f.eventually(t, waits.RunID)
			close(parked)
			f.store.until(t, "the end of both", f.store.allFinal)
			if !slices.Equal(f.store.hastened, []string{"hasten runs"}) {
				t.Errorf("it went on when it was due anyway: %v", f.store.hastened)
			}
		})
	}
}

// eventually waits until the inbox knows that a run waits for turns at work.
func (f *fixture) eventually(t *testing.T, runID string) {
	t.Helper()
	known := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, known := f.waiters[runID]
		return known
	}
	for deadline := time.Now().Add(30 * time.Second); !known(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the run is not known to wait for turns at work")
		}
	}
}

// A turn that ends in the moment in which another is told that it holds the rest is not missed.
func TestATurnThatEndsInTheMomentOfTheParkIsNotMissed(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1, Jitter: 1e-9})
	tries := 0
	f.line.handle = func(context.Context, ledger.Claim) error {
		if tries++; tries > 1 {
			return nil
		}
		f.roomMade(context.Background(), ledger.Freed{Accounts: []ledger.AccountRef{dayAccount}}) // the gate has said no, and the run is at work still
		return heldByTurns(dayAccount)
	}
	f.endsAfterOnePark(t)
	if !slices.Equal(f.store.hastened, []string{"hasten runs"}) {
		t.Errorf("it went on when it was due anyway: %v", f.store.hastened)
	}
}

// Who has waited longest goes first, and no more than can be at work: a thousand that wait are not all tried for
// each turn that ends.
func TestFewOfManyWaitersGoOn(t *testing.T) {
	f := newFixture(t, Config{Slots: 3})
	now := time.Now()
	for n := range 1000 {
		f.waiters[fmt.Sprintf("R%03d", n)] = waiter{account: dayAccount, since: now.Add(-time.Duration(n) * time.Second)}
	}
	f.waiters["another"] = waiter{account: ledger.AccountRef{Plugin: "metrics", Account: "week"}, since: now.Add(-time.Hour)}
	freed := ledger.Freed{Accounts: []ledger.AccountRef{dayAccount}}
	if ids := f.takeWaiters(freed, 3); !slices.Equal(ids, []string{"R999", "R998", "R997"}) {
		t.Errorf("woken are %v", ids)
	}
	if len(f.waiters) != 998 {
		t.Errorf("%d wait", len(f.waiters))
	}
	// Those that are gone meanwhile are passed over: nobody is left who could be woken.
	f.roomMade(t.Context(), freed)
	if len(f.waiters) != 1 {
		t.Errorf("%d wait", len(f.waiters))
	}
}

// A turn that ends while nobody waits asks the database nothing.
func TestTheEndOfATurnForWhichNobodyWaitsCostsNothing(t *testing.T) {
	f := newFixture(t, Config{LeverEvery: time.Millisecond})
	f.line.frees = func(ledger.Claim) ledger.Freed { return ledger.Freed{Accounts: []ledger.AccountRef{dayAccount}} }
	f.begin(t)
	f.PluginChanged("metrics")
	f.submit(t, "T1", "1", "hello")
	f.store.until(t, "the end", f.store.allFinal)
	if len(f.store.hastened) != 0 {
		t.Errorf("the database was asked %v", f.store.hastened)
	}
}

// A daemon that has died over waiting runs leaves them to the next one, which has them go on when the turns end that
// have gone on.
func TestWaitersOfAnEarlierDaemonGoOn(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	var over atomic.Bool
	parked := make(chan struct{})
	f.line.frees = func(claim ledger.Claim) ledger.Freed {
		return ledger.Freed{Unsure: claim.Thread.ID == "T1"}
	}
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Thread.ID == "T1" {
			<-parked
			over.Store(true)
		} else if !over.Load() {
			t.Error("who waits is tried before its time")
		}
		return nil
	}
	waits := f.submit(t, "T2", "1", "waits")
	f.store.mu.Lock()
	f.store.runs[0].Parked, f.store.runs[0].NextAttemptAt = &pluginsdk.Parked{Plugin: "metrics", Budget: "daily"}, time.Now().Add(9*time.Minute)
	f.store.mu.Unlock()
	f.begin(t)
	f.eventually(t, waits.RunID)
	f.submit(t, "T1", "2", "at work")
	close(parked)
	f.store.until(t, "the end of both", f.store.allFinal)
}

// A run that waits for a plugin's gate goes on when that plugin is turned off, has crashed or is removed: within
// seconds, not within the hour.
func TestWhatWaitsForAPluginGoesOnWhenThatChanges(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1, LeverEvery: time.Millisecond})
	var off atomic.Bool
	f.line.handle = func(context.Context, ledger.Claim) error {
		if off.Load() {
			return nil
		}
		return noRoom(time.Time{})
	}
	f.begin(t)
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the run to wait", func() bool { return f.store.queued() == 1 })
	f.PluginChanged("another")
	off.Store(true)
	f.PluginChanged("metrics")
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// A plugin that says in a loop that there is room has its runs tried now and then, and the last word counts.
func TestAPluginThatRechecksInALoop(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	f := newFixture(t, Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	pass := func(span time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(span)
	}
	f.gated = true
	for range 10_000 {
		if err := f.Recheck(t.Context(), "metrics"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Recheck(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	if n := len(f.store.hastened); n != 2 {
		t.Errorf("the database was asked %d times by two plugins", n)
	}
	for _, wait := range []time.Duration{recheckPause / 2, recheckPause, recheckPause} {
		pass(wait)
		if err := f.recheckPutOff(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.store.hastened); n != 3 {
		t.Errorf("the database was asked %d times in all, want once more for all that was put off", n)
	}
	// What could not be done is done later.
	f.store.fault = func(what string) error {
		if strings.HasPrefix(what, "hasten") {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away")
		}
		return nil
	}
	if err := f.Recheck(t.Context(), "metrics"); err == nil {
		t.Error("a recheck that could not be stored is no error")
	}
	f.store.fault = nil
	pass(2 * recheckPause)
	if err := f.recheckPutOff(t.Context()); err != nil || len(f.store.hastened) != 4 {
		t.Errorf("asked %d times, %v", len(f.store.hastened), err)
	}
}
