package inbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeRetry is how long a worker waits when the database does not answer, at
// first and at most.
const (
	storeRetry    = time.Second
	storeRetryMax = time.Minute
)

// worker executes the runs of one queue, one after the other. It exists only while
// there is something in it to do.
type worker struct {
	again bool          // woken while it was looking
	wake  chan struct{} // cuts a wait short

	// These are its goroutine's own.
	slot   bool         // it holds one of Config.Slots
	class  class        // as which it holds it
	first  ledger.Claim // a run that was claimed for it before it began, if Found
	served bool         // it has executed a run
}

// wakeThread makes sure that somebody looks at the thread's queue.
func (in *Inbox) wakeThread(threadID string) { in.wake(ledger.Queue{ThreadID: threadID}) }

// wake makes sure that somebody looks at the queue.
func (in *Inbox) wake(queue ledger.Queue) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch in.stage {
	case created, paused:
		in.early = append(in.early, queue)
		return
	case stopped:
		return // the next start finds it
	case started:
	}
	if w, ok := in.workers[queue]; ok {
		w.again = true
		select {
		case w.wake <- struct{}{}:
		default:
		}
		return
	}
	w := &worker{wake: make(chan struct{}, 1)}
	in.workers[queue] = w
	in.group.Go(func() { in.serve(queue, w) })
}

// reserve makes a worker for a thread's queue that has none, with a slot in its hand;
// nil when it has one, or there is no slot, or it cannot be read what kind of thread it
// is. The caller must have it serve, and count it out of the group.
func (in *Inbox) reserve(queue ledger.Queue) *worker {
	class, err := in.classOf(queue)
	if err != nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stage != started || in.workers[queue] != nil || in.held(class) || !in.slots.tryAcquire(class) {
		return nil
	}
	w := &worker{wake: make(chan struct{}, 1), slot: true, class: class}
	in.workers[queue] = w
	in.group.Add(1)
	return w
}

// serve is the worker's loop; runOnce its logic. After a panic nobody knows what
// became of the run that it had, if any: if that is still claimed, it is put back.
func (in *Inbox) serve(queue ledger.Queue, w *worker) {
	log := in.config.Log.With("thread", queue.ThreadID, "turn", queue.TurnID)
	for w.slot || in.intake.Err() == nil {
		var wait time.Duration
		var more bool
		err := guard.Call(log, "a worker of the inbox", func() error {
			wait, more = in.runOnce(queue, w)
			return nil
		})
		if err != nil {
			in.doubt(queue, err)
			wait, more = storeRetry, false
		}
		if more {
			continue
		}
		if wait == 0 {
			if in.retire(queue, w) {
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
	delete(in.workers, queue)
	in.mu.Unlock()
}

// retire ends the worker unless it was woken since it last looked.
func (in *Inbox) retire(queue ledger.Queue, w *worker) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if w.again {
		w.again = false
		return false
	}
	delete(in.workers, queue)
	return true
}

// runOnce takes a slot and executes the head of the queue. It reports whether there
// may be more at once, or else how long to wait (0: nothing queued).
func (in *Inbox) runOnce(queue ledger.Queue, w *worker) (wait time.Duration, more bool) {
	if err := in.takeSlot(queue, w); err != nil {
		if in.intake.Err() != nil || pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return 0, false
		}
		in.config.Log.Error("queue cannot be read; trying again", "thread", queue.ThreadID, "err", err)
		return storeRetry, false
	}
	defer in.freeSlot(w)
	claim, err := w.first, error(nil)
	if w.first = (ledger.Claim{}); !claim.Found {
		if in.putOff(queue, w.class) {
			return 0, false
		}
		claim, err = in.claim(queue, w)
	}
	switch {
	case in.intake.Err() != nil && !claim.Found:
		return 0, false
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return 0, false // there is no such thread, or turn
	case err != nil:
		in.config.Log.Error("queue cannot be read; trying again", "thread", queue.ThreadID, "turn", queue.TurnID, "err", err)
		return storeRetry, false
	case !claim.Found && claim.NotBefore.IsZero():
		return 0, false
	case !claim.Found:
		return max(claim.NotBefore.Sub(in.config.Now()), time.Millisecond), false
	}
	w.served = true
	in.execute(w, claim)
	return 0, true
}

// takeSlot waits for a slot of the queue's class, unless the worker has one.
func (in *Inbox) takeSlot(queue ledger.Queue, w *worker) (err error) {
	if w.slot {
		return nil
	}
	if w.class, err = in.classOf(queue); err != nil {
		return err
	}
	if err = in.slots.acquire(in.intake, w.class); err == nil {
		w.slot = true
	}
	return err
}

// freeSlot lets another worker have the slot, if this one holds any.
func (in *Inbox) freeSlot(w *worker) {
	if w.slot {
		w.slot = false
		in.slots.release(w.class)
	}
}

// classOf says as what the runs of a queue wait for a slot. It reads what kind of
// thread it is once.
func (in *Inbox) classOf(queue ledger.Queue) (class, error) {
	if queue.TurnID != "" {
		return turns, nil
	}
	if kind, ok := in.kinds.Load(queue.ThreadID); ok {
		return classOf(kind.(pluginsdk.ThreadKind)), nil //nolint:forcetypeassert // nothing else is stored
	}
	thread, err := in.store.Thread(in.intake, queue.ThreadID)
	if err != nil {
		return people, err
	}
	in.kinds.Store(thread.ID, thread.Kind)
	return classOf(thread.Kind), nil
}

// putOff leaves the queue for later while nothing of its class may be claimed.
func (in *Inbox) putOff(queue ledger.Queue, of class) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stage == paused {
		in.early = append(in.early, queue)
	}
	return in.stage == paused || in.held(of)
}

// claim takes the head of the queue. After an error nobody knows whether it was
// taken, so the next try, by whichever worker, begins with putting it back.
func (in *Inbox) claim(queue ledger.Queue, w *worker) (claim ledger.Claim, err error) {
	unclaim := func() error { return in.store.Unclaim(in.intake, queue.ThreadID, in.config.Owner) }
	if queue.TurnID != "" {
		unclaim = func() error { return in.store.UnclaimTurn(in.intake, queue.TurnID, in.config.Owner) }
	}
	switch {
	case in.inDoubt(queue):
		if err := unclaim(); err != nil {
			return ledger.Claim{}, err
		}
		in.settleDoubt(queue)
	case w.served && queue.ThreadID != "":
		// Most often nothing waits, which costs less to read than to claim.
		if n, err := in.store.Waiting(in.intake, queue.ThreadID); err != nil || n == 0 {
			return ledger.Claim{}, err
		}
	}
	switch {
	case queue.TurnID != "":
		claim, err = in.store.ClaimTurn(in.intake, queue.TurnID, in.config.Owner)
	case in.isQuiet():
		claim, err = in.store.ClaimUncaused(in.intake, queue.ThreadID, in.config.Owner)
	default:
		claim, err = in.store.Claim(in.intake, queue.ThreadID, in.config.Owner)
	}
	in.doubt(queue, err)
	return claim, err
}

// doubt remembers that a claim, or an acceptance with one, ended with an error
// that leaves open whether it was made. What was refused was not.
func (in *Inbox) doubt(queue ledger.Queue, err error) {
	switch pluginsdk.CodeOf(err) {
	case "", pluginsdk.CodeNotFound, pluginsdk.CodeInvalid, pluginsdk.CodeExhausted, pluginsdk.CodeConflict, pluginsdk.CodeDenied:
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.unsure[queue] = true
}

func (in *Inbox) inDoubt(queue ledger.Queue) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.unsure[queue]
}

func (in *Inbox) settleDoubt(queue ledger.Queue) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.unsure, queue)
}

// execute takes one claimed run to its end, or back to the queue.
func (in *Inbox) execute(w *worker, claim ledger.Claim) {
	ctx, cancel := context.WithCancelCause(in.work)
	defer cancel(nil)
	announced := in.enter(claim, cancel)
	leave := sync.OnceFunc(func() { in.leave(claim) })
	defer leave()
	for _, one := range announced {
		<-one
	}
	left, err := in.handle(ctx, claim)
	if stopped := context.Cause(ctx); pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled {
		// Also what it has asked for in the instant of the stop.
		if err := in.endTurnsOf(in.work, claim.Run.ID, stopped); err != nil {
			in.config.Log.Warn("the turns that a stopped run has asked for cannot be ended", "run", claim.Run.ID, "err", err)
		}
	}
	if err == nil {
		return
	}
	if left.Answered || claim.Run.Step == pluginsdk.StepInvoked {
		ctx = in.work // there is an answer: nobody's stop ends the run
	}
	log := in.config.Log.With("thread", claim.Thread.ID, "run", claim.Run.ID, "attempt", claim.Run.Attempt)
	in.settle(ctx, log, w, failed{claim, err, left.Effects})
	// Up to here a stop finds the run at work, from here on in the queue. One that came
	// when the attempt was over already ends it there.
	leave()
	if stopped := context.Cause(ctx); pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled {
		in.conclude(log, w, func() error { return in.cancelQueued(context.WithoutCancel(ctx), claim.Run.ID, stopped) })
	}
}

// enter makes the run one that can be stopped. It returns what must be waited
// for before the run may begin: the announcements of what it answers.
func (in *Inbox) enter(claim ledger.Claim, cancel context.CancelCauseFunc) (announced []chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	entry := running{
		id: claim.Run.ID, threadID: claim.Thread.ID, kind: claim.Run.Kind, beside: claim.Run.Beside, newest: claim.Message.ID, cancel: cancel,
	}
	waitFor := func(runID string) {
		if one := in.announcing[runID]; one != nil {
			announced = append(announced, one)
		}
	}
	waitFor(claim.Run.ID)
	for _, message := range claim.Absorbed {
		entry.newest = max(entry.newest, message.ID)
		waitFor(message.RunID)
	}
	if order, ok := in.unwanted[claim.Run.ID]; ok && entry.newest <= order.newest {
		cancel(order.cause)
	}
	in.running[claim.Run.ID] = entry
	return announced
}

func (in *Inbox) leave(claim ledger.Claim) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.running, claim.Run.ID)
	delete(in.unwanted, claim.Run.ID)
}

// handle is the boundary of a run: a panic ends the run and nothing else, and
// a run that the daemon died on again and again is not tried for ever.
func (in *Inbox) handle(ctx context.Context, claim ledger.Claim) (left ledger.Left, err error) {
	limit := 2 * in.config.MaxAttempts
	if claim.Run.Step == pluginsdk.StepInvoked {
		limit *= 2 // its answer is there, and deserves more
	}
	if claim.Run.Attempt > limit {
		return left, pluginsdk.Errorf(pluginsdk.CodeInternal, "it was begun %d times and never came to an end", limit)
	}
	err = guard.Call(in.config.Log.With("run", claim.Run.ID), "a run", func() (err error) {
		left, err = in.pipeline.Handle(in.work, ctx, claim)
		return err
	})
	return left, err
}

// failed is an attempt that came to no end of its run.
type failed struct {
	claim ledger.Claim
	cause error
	// effects are what hooks did to the run and no commit has stored. A commit that will
	// not be made with them is made without.
	effects []ledger.Effect
}

// settle decides what becomes of a run whose attempt failed, and sees to it
// until the database has it. ctx ends with what may end the run.
func (in *Inbox) settle(ctx context.Context, log *slog.Logger, w *worker, attempt failed) {
	claim, cause, runID := attempt.claim, attempt.cause, attempt.claim.Run.ID
	clean := context.WithoutCancel(ctx)
	fail := func(why error, effects []ledger.Effect) func() error {
		return func() error { return in.pipeline.Fail(in.work, claim, why, effects) }
	}
	switch stopped := context.Cause(ctx); {
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeStale:
		log.Warn("run was taken over", "err", cause)
	case errors.Is(stopped, ErrStopping):
		log.Info("run goes back to the queue", "err", cause)
		in.conclude(log, w, func() error { return in.store.Release(clean, claim.Fence, runID) })
	case pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled:
		in.conclude(log, w, fail(stopped, attempt.effects), fail(stopped, nil))
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeUnavailable && claim.Run.Attempt < in.config.MaxAttempts:
		backoff := guard.Backoff{Base: in.config.RetryBase, Max: in.config.RetryMax, Jitter: in.config.Jitter}
		at := in.config.Now().Add(backoff.After(claim.Run.Attempt))
		log.Warn("attempt failed; the run is tried again", "err", cause, "at", at)
		requeue := func(effects []ledger.Effect) func() error {
			end := ledger.AttemptEnd{RunID: runID, At: at, Reason: cause.Error(), Effects: effects}
			return func() error { return in.store.EndAttempt(clean, claim.Fence, end) }
		}
		switch in.conclude(log, w, requeue(attempt.effects), requeue(nil), fail(cause, nil)) {
		case 0, 1:
			in.events.Publish(pluginsdk.EventPipelineRetry, claim.Thread.ID, pluginsdk.RetryPayload{
				ThreadID: claim.Thread.ID, RunID: runID, Attempt: claim.Run.Attempt, Error: cause.Error(), NextAt: at,
			})
		}
	default:
		log.Error("run failed", "err", cause)
		in.conclude(log, w, fail(cause, attempt.effects), fail(cause, nil))
	}
}

// lastingTries is how often a write is tried whose error will not pass by
// waiting, before another one is made in its place.
const lastingTries = 3

// conclude makes one write of a run's end, again and again until the database has
// it or says that there is nothing to end. When its error is one that lasts, the
// write after it is made instead; the last one is tried for as long as it takes,
// with the slot given back. When the daemon stops first, the run stays claimed, and
// the next start finds it. It returns which of the writes the database has
// confirmed, from 0, or -1. That does not say that it has none: of a write whose
// confirmation was lost, the repetition is told that there is nothing to end, as of
// a run that is somebody else's, or gone.
func (in *Inbox) conclude(log *slog.Logger, w *worker, writes ...func() error) (confirmed int) {
	wait, lasting, at := storeRetry, 0, 0
	for {
		err := guard.Call(log, "the end of a run", writes[at])
		switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are errors that last
		case "":
			return at
		case pluginsdk.CodeStale, pluginsdk.CodeNotFound:
			log.Warn("run is not at work any more", "err", err)
			return -1
		case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled:
		default:
			lasting++
		}
		if lasting == lastingTries && at < len(writes)-1 {
			log.Error("outcome of a run cannot be stored; storing another one", "err", err)
			wait, lasting, at = storeRetry, 0, at+1
			continue
		}
		log.Error("outcome of a run cannot be stored; trying again", "err", err, "in", wait)
		in.freeSlot(w)
		select {
		case <-time.After(wait):
		case <-in.intake.Done():
			return -1
		}
		wait = min(2*wait, storeRetryMax)
	}
}
