package pipeline

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The waits between the tries of a commit that must be made.
const (
	insistFirst = 50 * time.Millisecond
	insistMax   = 2 * time.Second
)

// insist makes a commit that holds what cannot be had again (an answer that was
// paid for, what a command did): while the database does not answer, it is
// tried again, until the daemon stops. Commits that are repeated change nothing.
func (p *Pipeline) insist(t *trip, doing string, commit func(context.Context) error) error {
	backoff := guard.Backoff{Base: insistFirst, Max: insistMax}
	for failures := 1; ; failures++ {
		err := commit(context.WithoutCancel(t.work))
		if err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			return storeError(doing, err)
		}
		wait := backoff.After(failures)
		p.config.Log.Warn("the database does not answer; trying again", "doing", doing, "err", err, "in", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.work.Done():
			timer.Stop()
			return storeError(doing, err)
		}
	}
}

// storeError says what the pipeline was doing. What a database that does not answer
// has refused is worth another attempt (CodeUnavailable), a claim that is somebody
// else's by now is not the run's end (CodeStale), and what it will refuse again
// (any other code) ends the run: the agent is not asked once more for it.
func storeError(doing string, err error) error {
	code := pluginsdk.CodeOf(err)
	switch code { //nolint:exhaustive // the others are kept
	case "", pluginsdk.CodeStale:
		return err
	case pluginsdk.CodeDeadline, pluginsdk.CodeCancelled: // the call was given up, not refused
		code = pluginsdk.CodeUnavailable
	}
	return pluginsdk.Errorf(code, "%s: %w", doing, err)
}
