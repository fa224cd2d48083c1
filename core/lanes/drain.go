package lanes

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

// Stage is where a Set is in its life.
type Stage int

// The stages. Created and Paused keep what is woken until Open.
const (
	Created Stage = iota
	Started
	Paused
	Stopped
)

// Stage returns where the set is in its life.
func (s *Set[K, S]) Stage() Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage
}

// Go does something beside the lanes, which Stop waits for too. When the set is stopped
// it is not done.
func (s *Set[K, S]) Go(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != Stopped {
		s.group.Go(do)
	}
}

// Sweep is something that is done again and again: a look for work that nobody announced.
type Sweep struct {
	Every time.Duration
	What  string // it is, in the log of a panic
	Do    func() error
	// Failed is logged when it could not be done. It is done again in its time.
	Failed string
	Log    *slog.Logger
}

// Sweep does it, for the first time when Every is over, until Intake ends; also while the
// set is paused.
func (s *Set[K, S]) Sweep(sweep Sweep) {
	s.Go(func() {
		ticker := guard.NewTicker(sweep.Every)
		defer ticker.Stop()
		for {
			select {
			case <-s.Intake.Done():
				return
			case <-ticker.Next():
			}
			if err := guard.Call(sweep.Log, sweep.What, sweep.Do); err != nil && s.Intake.Err() == nil {
				sweep.Log.Warn(sweep.Failed, "err", err)
			}
		}
	})
}

// Stop ends Intake, lets steps go on for grace (or until ctx ends), then ends Work with
// the cause, and returns when nothing of the set goes on.
func (s *Set[K, S]) Stop(ctx context.Context, grace time.Duration, cause error) {
	s.mu.Lock()
	s.stage = Stopped
	s.mu.Unlock()
	s.stopIntake()
	done := make(chan struct{})
	go func() {
		s.group.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	s.stopWork(cause)
	<-done
}
