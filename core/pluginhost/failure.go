package pluginhost

import (
	"context"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// steady is how long a plugin must have served for its next restart to count
	// as a first one.
	steady = time.Minute
	// refusedRetry is how often a plugin that may not be started is looked at again
	// without a change of its row: its file may have been put right.
	refusedRetry = time.Minute
)

// fail decides what becomes of a plugin that has failed: of a row whose start did, or
// (nil) while it served. When an operator has decided something else meanwhile, that is
// tried now: what failed is not what is wanted.
func (s *supervisor) fail(ctx context.Context, err error, row *ledger.Plugin) {
	s.look()
	overtaken := s.note(row)
	words := cut(s.redact(err.Error()), maxErrorWords)
	say := saying{words: words, rejected: row}
	var no refusal
	var ours ownTrouble
	var wants unready
	switch {
	case errors.As(err, &no):
		s.until = time.Now().Add(refusedRetry)
		s.move(onDenied, say)
		s.log.Error("plugin may not be started; it waits for an operator", "err", words)
		return
	case errors.As(err, &ours): // nothing that would count against it
	case errors.As(err, &wants):
		say.restarts = 1
	default:
		say.restarts = 1
		if !overtaken && s.tooOften() {
			s.quarantine(ctx, words)
			return
		}
	}
	s.backOff(onFailed, say, overtaken)
}

// note notes that a life has ended, of a row whose start failed (nil: it was no start),
// and reports whether an operator has decided something since what failed.
func (s *supervisor) note(row *ledger.Plugin) (overtaken bool) {
	if time.Since(s.began) > steady {
		s.inARow = 0
	}
	s.inARow++
	s.tried = s.wanted
	of := s.reached
	if row != nil {
		s.tried, of = row, row.Generation
	}
	return s.wanted.Generation > of
}

func (s *supervisor) backOff(what happening, say saying, now bool) {
	wait := s.backoff(s.inARow)
	if now {
		wait = 0
	}
	s.until = time.Now().Add(wait)
	say.try = s.until
	s.move(what, say)
	s.log.Warn("plugin ended; it will be started again", "err", say.words, "in", wait.Round(time.Millisecond))
}

// backoff is the wait after so many failures in a row, spread by a quarter.
func (s *supervisor) backoff(failures int) time.Duration {
	return guard.Backoff{Base: s.config.BackoffBase, Max: s.config.BackoffMax, Jitter: 0.25}.After(failures)
}

// rest waits for the next start, at most until something else would be started than
// what has failed.
func (s *supervisor) rest(ctx context.Context) {
	if essence(s.wanted) != essence(s.tried) {
		s.start(ctx, onDue)
		return
	}
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	select {
	case <-timer.C:
		s.start(ctx, onDue)
	case <-ctx.Done():
	case <-s.wake:
	}
}

// recover clears away what a supervisor that panicked has left running.
func (s *supervisor) recover(ctx context.Context, fault error) {
	s.current = nil
	s.router.stand(nil, standing{state: pluginsdk.PluginStarting, try: time.Now(), inARow: s.inARow})
	guard.Try(s.log, "the end of a plugin", s.abandon)
	guard.Try(s.log, "the end of a plugin", s.hands.endAll)
	if s.phase == atStopping || ctx.Err() != nil {
		s.phase = atEnded // whatever happens, it comes to its end
		return
	}
	again := s.guarded("the supervisor of a plugin", func() error {
		overtaken := s.note(s.life)
		s.backOff(onBroken, saying{words: s.redact(fault.Error()), rejected: s.life}, overtaken)
		return nil
	})
	if again != nil {
		s.phase, s.tried, s.until = atBackingOff, s.wanted, time.Now().Add(s.config.BackoffMax)
	}
}
