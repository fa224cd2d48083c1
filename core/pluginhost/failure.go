package pluginhost

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// steady is how long a plugin must have served for its next failure to count as the
	// first in a row.
	steady = time.Minute
	// refusedRetry is how often a refused start is tried again while the row stays the
	// same: the plugin's file may have been put right.
	refusedRetry = time.Minute
)

// fail decides what happens after a failure: of the start of a row, or (nil) of the
// version that served. When an operator has changed the row since, the new row is started
// at once.
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
	case errors.As(err, &ours): // does not count against the plugin
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

// note counts a failure, of the start of a row or (nil) of the version that served. It
// reports whether an operator has changed the row since what failed.
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

// backoff returns the wait after so many failures in a row, with a jitter of a quarter.
func (s *supervisor) backoff(failures int) time.Duration {
	return guard.Backoff{Base: s.config.BackoffBase, Max: s.config.BackoffMax, Jitter: 0.25}.After(failures)
}

// rest waits for the next start. It starts at once when the wanted row differs from the
// one that failed.
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

// recover ends every process of the plugin after the supervisor panicked, and has the
// plugin started again after a wait. A supervisor that was about to end just ends.
func (s *supervisor) recover(ctx context.Context, fault error) {
	s.current = nil
	s.router.stand(nil, standing{state: pluginsdk.PluginStarting, try: time.Now(), inARow: s.inARow})
	guard.Try(s.log, "the end of a plugin", s.abandon)
	guard.Try(s.log, "the end of a plugin", s.hands.endAll)
	if s.phase == atStopping || ctx.Err() != nil {
		s.phase = atEnded // the next instance of that name waits for this end
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

// refusal is a reason not to start a plugin until its row or its file has changed.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refused(format string, args ...any) error {
	return refusal{pluginsdk.Errorf(pluginsdk.CodeDenied, format, args...)}
}

// ownTrouble is a failure that is not the plugin's: the database did not answer, or
// Harness itself is at fault.
type ownTrouble struct{ error }

func (o ownTrouble) Unwrap() error { return o.error }

// unready is the error of a plugin that lives and lacks something of its surroundings,
// such as a port or a network. It is started again; its failures do not count towards
// quarantine.
type unready struct{ error }

func (u unready) Unwrap() error { return u.error }

// guarded calls do, and returns a panic in it as ownTrouble.
func guarded(log *slog.Logger, what string, do func() error) (err error) {
	fault := guard.Call(log, what, func() error {
		err = do()
		return nil
	})
	if fault != nil {
		return ownTrouble{fault}
	}
	return err
}
