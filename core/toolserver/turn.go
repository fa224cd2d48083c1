package toolserver

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// errTurnOver is what the calls are cancelled with that outlive their turn.
var errTurnOver = pluginsdk.Errorf(pluginsdk.CodeStale, "the turn that the call belongs to is over")

// errNoTurn is the answer to a call that comes while no turn runs.
var errNoTurn = pluginsdk.Errorf(pluginsdk.CodeStale, "no turn is running that the call could belong to")

// turn is one turn of the agent, from Begin to its end.
type turn struct {
	behalf ledger.Behalf
	ctx    context.Context // ends with the turn
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup
}

// Begin makes the turn known that is about to begin in a run, which has
// one at a time: calls in it are made on this behalf. end cancels those that
// are under way and returns when none is.
func (s *Server) Begin(behalf ledger.Behalf) (end func()) {
	key := behalf.RunID
	begun := &turn{behalf: behalf}
	begun.ctx, begun.cancel = context.WithCancelCause(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[key] = begun
	return func() {
		s.mu.Lock()
		if s.turns[key] == begun {
			delete(s.turns, key)
		}
		s.mu.Unlock()
		begun.end()
	}
}

func (s *Server) turnOf(runID string) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns[runID]
}

// run is the run that the turn is of; empty: none.
func (t *turn) run() string {
	if t == nil {
		return ""
	}
	return t.behalf.RunID
}

func (t *turn) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.cancel(errTurnOver)
	t.calls.Wait()
}

// enter returns a context for one call of the turn, which ends with the turn at
// the latest, and what to do when the call is over.
func (t *turn) enter(ctx context.Context) (bound context.Context, leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, nil, errTurnOver
	}
	t.calls.Add(1)
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	return bound, func() {
		stop()
		cancel(nil)
		t.calls.Done()
	}, nil
}

// ended reports whether a call failed because its turn had ended.
func (t *turn) ended(err error) bool {
	return err != nil && errors.Is(context.Cause(t.ctx), errTurnOver)
}
