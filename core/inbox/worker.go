package inbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeRetry is how long a worker waits when the database does not answer.
const storeRetry = time.Second

// worker executes the runs of one thread, one after the other. It exists only
// while the thread has something to do.
type worker struct {
	again bool          // woken while it was looking
	wake  chan struct{} // cuts a wait short
}

// wake makes sure that somebody looks at the thread's queue.
func (in *Inbox) wake(threadID string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.started {
		return
	}
	if w, ok := in.workers[threadID]; ok {
		w.again = true
		select {
		case w.wake <- struct{}{}:
		default:
		}
		return
	}
	w := &worker{wake: make(chan struct{}, 1)}
	in.workers[threadID] = w
	in.group.Go(func() { in.serve(threadID, w) })
}

// serve is the worker's loop; runOnce its logic.
func (in *Inbox) serve(threadID string, w *worker) {
	for in.intake.Err() == nil {
		wait, more := in.runOnce(threadID)
		if more {
			continue
		}
		if wait == 0 {
			if in.retire(threadID, w) {
				return
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-in.intake.Done():
		}
		timer.Stop()
	}
	in.mu.Lock()
	delete(in.workers, threadID)
	in.mu.Unlock()
}

// retire ends the worker unless it was woken since it last looked.
func (in *Inbox) retire(threadID string, w *worker) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if w.again {
		w.again = false
		return false
	}
	delete(in.workers, threadID)
	return true
}

// runOnce takes a slot and executes the head of the thread's queue. It reports
// whether there may be more at once, or else how long to wait (0: nothing
// queued).
func (in *Inbox) runOnce(threadID string) (wait time.Duration, more bool) {
	if in.slots.Acquire(in.intake, 1) != nil {
		return 0, false
	}
	defer in.slots.Release(1)
	claim, err := in.store.Claim(in.intake, threadID, in.config.Owner)
	switch {
	case in.intake.Err() != nil && !claim.Found:
		return 0, false
	case err != nil:
		in.config.Log.Error("queue cannot be read; trying again", "thread", threadID, "err", err)
		return storeRetry, false
	case !claim.Found && claim.NotBefore.IsZero():
		return 0, false
	case !claim.Found:
		return max(claim.NotBefore.Sub(in.config.Now()), time.Millisecond), false
	}
	in.execute(claim)
	return 0, true
}

// execute takes one claimed run to its end, or back to the queue.
func (in *Inbox) execute(claim ledger.Claim) {
	ctx, cancel := context.WithCancelCause(in.work)
	defer cancel(nil)
	in.mu.Lock()
	in.running[claim.Run.ID] = running{threadID: claim.Thread.ID, cancel: cancel}
	in.mu.Unlock()
	err := in.pipeline.Handle(ctx, claim)
	in.mu.Lock()
	delete(in.running, claim.Run.ID)
	in.mu.Unlock()
	if err != nil {
		in.settle(ctx, claim, err)
	}
}

// settle decides what becomes of a run whose attempt failed.
func (in *Inbox) settle(ctx context.Context, claim ledger.Claim, cause error) {
	log := in.config.Log.With("thread", claim.Thread.ID, "run", claim.Run.ID, "attempt", claim.Run.Attempt)
	clean := context.WithoutCancel(ctx)
	var err error
	switch {
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeStale:
		log.Warn("run was taken over", "err", cause)
		return
	case errors.Is(context.Cause(ctx), ErrStopping):
		log.Info("run goes back to the queue", "err", cause)
		err = in.store.Release(clean, claim.Fence, claim.Run.ID)
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeUnavailable && claim.Run.Attempt < in.config.MaxAttempts:
		at := in.config.Now().Add(in.backoff(claim.Run.Attempt))
		log.Warn("attempt failed; the run is tried again", "err", cause, "at", at)
		if err = in.store.Retry(clean, claim.Fence, claim.Run.ID, at, cause.Error()); err == nil {
			in.events.Publish(pluginsdk.EventPipelineRetry, claim.Thread.ID, pluginsdk.RetryPayload{
				ThreadID: claim.Thread.ID, RunID: claim.Run.ID, Attempt: claim.Run.Attempt,
				Error: cause.Error(), NextAt: at,
			})
		}
	default:
		log.Error("run failed", "err", cause)
		err = in.pipeline.Fail(clean, claim, cause)
	}
	if err != nil {
		in.reopen(clean, claim, err)
	}
}

// reopen is the last resort when the database refuses even to record that an
// attempt failed: the run stays claimed there, so it is released once the
// database answers again.
func (in *Inbox) reopen(ctx context.Context, claim ledger.Claim, cause error) {
	for in.intake.Err() == nil {
		in.config.Log.Error("outcome of a run cannot be stored; trying again", "run", claim.Run.ID, "err", cause)
		select {
		case <-time.After(storeRetry):
		case <-in.intake.Done():
			return
		}
		if cause = in.store.Release(ctx, claim.Fence, claim.Run.ID); cause == nil ||
			pluginsdk.CodeOf(cause) == pluginsdk.CodeStale {
			return
		}
	}
}

// backoff doubles with the attempt and spreads by a quarter either way.
func (in *Inbox) backoff(attempt int) time.Duration {
	wait := in.config.RetryBase
	for range attempt - 1 {
		if wait *= 2; wait >= in.config.RetryMax {
			wait = in.config.RetryMax
			break
		}
	}
	return time.Duration(float64(wait) * (0.75 + 0.5*rand.Float64())) //nolint:gosec // jitter, not a secret
}
