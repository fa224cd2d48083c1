package approvals

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// away is a store that does not answer for a while.
type away struct {
	*store.Store
	mu    sync.Mutex
	fails int
}

func (a *away) SpendApproval(ctx context.Context, fence ledger.Fence, id string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fails++; a.fails < 3 {
		return false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
	}
	return a.Store.SpendApproval(ctx, fence, id)
}

// No error is an answer: what is not known to be spent allows nothing, and what the
// database does not answer is asked again.
func TestNoErrorAllows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		d.Store = &away{Store: s}
		of := d.begin(nil)
		answer := d.asking(t.Context(), of, bash("make"))
		if err := d.choose(d.shown(pluginsdk.ApprovalOpen), "allow", "Ann"); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); !got.Allow {
			t.Errorf("once the database is back: %+v", got)
		}
		// A run that another one has taken over is given nothing.
		lost := d.begin(nil)
		answer = d.asking(t.Context(), lost, bash("make"))
		d.shown(pluginsdk.ApprovalAllowed)
		approval := d.shown(pluginsdk.ApprovalOpen)
		if err := s.Release(t.Context(), lost.Fence, lost.RunID); err != nil {
			t.Fatal(err)
		}
		taken, err := s.Claim(t.Context(), lost.Thread.ID, "another daemon")
		if err != nil || !taken.Found {
			t.Fatalf("%v, %v", taken.Found, err)
		}
		if err := d.choose(approval, "allow", "Ann"); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); got.Allow {
			t.Error("who has lost the run was allowed")
		}
		now := d.asking(t.Context(), ledger.Asking{Thread: lost.Thread, Fence: taken.Fence, RunID: lost.RunID, Attempt: 2}, bash("make"))
		if got := wait(t, now); !got.Allow {
			t.Error("who has the run was not allowed")
		}
	})
}

// shut is a store that answers nothing any more.
type shut struct {
	*store.Store
	asked chan struct{}
}

func (s *shut) OpenApproval(context.Context, ledger.Fence, ledger.Approval) (ledger.Approval, []ledger.Lane, error) {
	s.asked <- struct{}{}
	return ledger.Approval{}, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
}

// Nor is it an answer that the daemon stops while the database is away: the question is for
// the next daemon.
func TestAStopWithoutADatabaseDeniesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{AskUnattended: true})
		away := &shut{s, make(chan struct{}, 100)}
		d.Store = away
		ctx, cancel := context.WithCancel(t.Context())
		answer, beside := d.asking(t.Context(), d.begin(nil), bash("make")), d.asking(ctx, d.beside(), bash("make"))
		<-away.asked
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); !got.Park {
			t.Errorf("answered %+v", got)
		}
		select {
		case got := <-beside:
			t.Errorf("a turn that cannot be parked is answered %+v", got)
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		wait(t, beside)
	})
}

// stuck is a store in which one approval cannot be ended.
type stuck struct {
	*store.Store
	id atomic.Value // of the approval
}

func (s *stuck) DecideApproval(ctx context.Context, d ledger.ApprovalDecision) (ledger.ApprovalDecided, error) {
	if d.ID == s.id.Load() {
		return ledger.ApprovalDecided{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "it cannot be stored")
	}
	return s.Store.DecideApproval(ctx, d)
}

// What cannot be ended holds up nothing else: what comes after it expires, and runs are woken.
func TestOneThatCannotBeEndedHoldsUpNoOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{Expiry: time.Hour})
		broken := &stuck{Store: s}
		d.Store = broken
		first := ask(t, d, d.begin(nil), bash("one"))
		of := d.begin(nil)
		second := d.asking(t.Context(), of, bash("two"))
		d.shown(pluginsdk.ApprovalOpen)
		broken.id.Store(first.ID)
		d.later(2 * time.Hour)
		if err := d.sweep(t.Context()); err == nil {
			t.Error("nothing is said of the one that cannot be ended")
		}
		if got := wait(t, second); !strings.Contains(got.Words, "in time") {
			t.Errorf("answered %+v", got)
		}
	})
}

// A panic of the room allows nothing.
func TestAPanicAllowsNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{Fault: func(string, string) { panic(errors.New("broken")) }})
		if got := d.Ask(t.Context(), d.begin(nil), bash("make")); got.Allow || got.Words == "" {
			t.Errorf("answered %+v", got)
		}
	})
}
