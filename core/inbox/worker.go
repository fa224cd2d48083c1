package inbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeRetry is how long a worker waits when the database does not answer.
const storeRetry = time.Second

// worker executes the runs of one thread, one after the other. It exists only
// while the thread has something to do.
type worker struct {
	again  bool          // woken while it was looking
	wake   chan struct{} // cuts a wait short
	unsure bool          // the last claim may have been made or not
}

// wake makes sure that somebody looks at the thread's queue.
func (in *Inbox) wake(threadID string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch in.stage {
	case created, paused:
		in.early = append(in.early, threadID)
		return
	case stopped:
		return // the next start finds it
	case started:
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
		wait, more := in.runOnce(threadID, w)
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
func (in *Inbox) runOnce(threadID string, w *worker) (wait time.Duration, more bool) {
	if in.slots.Acquire(in.intake, 1) != nil {
		return 0, false
	}
	defer in.slots.Release(1)
	if in.putOff(threadID) {
		return 0, false
	}
	claim, err := in.claim(threadID, w)
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

// putOff leaves the thread for Resume while nothing may be claimed.
func (in *Inbox) putOff(threadID string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stage == paused {
		in.early = append(in.early, threadID)
	}
	return in.stage == paused
}

// claim takes the head of the thread's queue. After an error nobody knows
// whether it was taken, so the next try begins with putting it back.
func (in *Inbox) claim(threadID string, w *worker) (ledger.Claim, error) {
	if w.unsure {
		if err := in.store.Unclaim(in.intake, threadID, in.config.Owner); err != nil {
			return ledger.Claim{}, err
		}
	}
	claim, err := in.store.Claim(in.intake, threadID, in.config.Owner)
	w.unsure = err != nil
	return claim, err
}

// execute takes one claimed run to its end, or back to the queue.
func (in *Inbox) execute(claim ledger.Claim) {
	ctx, cancel := context.WithCancelCause(in.work)
	defer cancel(nil)
	announced := in.enter(claim, cancel)
	defer in.leave(claim)
	if announced != nil {
		<-announced
	}
	if err := in.handle(ctx, claim); err != nil {
		in.settle(ctx, claim, err)
	}
}

// enter makes the run one that can be stopped. It returns what must be waited
// for before the run may begin, if anything.
func (in *Inbox) enter(claim ledger.Claim, cancel context.CancelCauseFunc) (announced chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	newest := claim.Message.ID
	for _, message := range claim.Absorbed {
		newest = max(newest, message.ID)
	}
	in.running[claim.Run.ID] = running{id: claim.Run.ID, threadID: claim.Thread.ID, newest: newest, cancel: cancel}
	if in.unwanted[claim.Run.ID] {
		cancel(ErrStopped)
	}
	return in.announcing[claim.Run.ID]
}

func (in *Inbox) leave(claim ledger.Claim) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.running, claim.Run.ID)
	delete(in.unwanted, claim.Run.ID)
}

// handle is the boundary of a run: a panic ends the run and nothing else, and
// a run that the daemon died on again and again is not tried for ever.
func (in *Inbox) handle(ctx context.Context, claim ledger.Claim) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			in.config.Log.Error("run panicked", "run", claim.Run.ID, "panic", cause, "stack", string(debug.Stack()))
			err = pluginsdk.Errorf(pluginsdk.CodeInternal, "a fault of Harness itself: %v", cause)
		}
	}()
	if limit := 2 * in.config.MaxAttempts; claim.Run.Attempt > limit && claim.Run.Step != pluginsdk.StepInvoked {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "it was begun %d times and never came to an end", limit)
	}
	return in.pipeline.Handle(ctx, claim)
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
	case pluginsdk.CodeOf(context.Cause(ctx)) == pluginsdk.CodeCancelled:
		err = in.pipeline.Fail(in.work, claim, context.Cause(ctx))
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
		err = in.pipeline.Fail(in.work, claim, cause)
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

// backoff doubles with the attempt and spreads by Config.Jitter either way.
func (in *Inbox) backoff(attempt int) time.Duration {
	wait := in.config.RetryBase
	for range attempt - 1 {
		if wait *= 2; wait >= in.config.RetryMax {
			wait = in.config.RetryMax
			break
		}
	}
	spread := in.config.Jitter * (2*rand.Float64() - 1) //nolint:gosec // jitter, not a secret
	return time.Duration(float64(wait) * (1 + spread))
}
