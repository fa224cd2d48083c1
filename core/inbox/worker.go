package inbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeRetryMax is the longest wait between two tries to store how a run ended.
const storeRetryMax = time.Minute

// worker executes the runs of one queue, one after the other. It is the state that the
// steps of the queue's lane share, and exists only while the queue has work.
type worker struct {
	placed bool         // it holds one of the places of its class
	class  class        // the class of that place
	first  ledger.Claim // if Found: a run that was claimed before the worker began
	served bool         // the worker has executed a run
	// back is full while one that rested waits for the place; nil: none has rested.
	back chan struct{}
}

// wakeThread has a worker look at the thread's queue.
func (in *Inbox) wakeThread(threadID string) { in.lanes.Wake(ledger.Queue{ThreadID: threadID}) }

// reserve makes a worker with a place for a thread's queue. The caller must call Begin of
// the lane. nil: the queue has a worker, there is no place, runs of its class may not
// begin, or the thread cannot be read.
func (in *Inbox) reserve(queue ledger.Queue) *lanes.Lane[ledger.Queue, worker] {
	class, err := in.classOf(queue)
	if err != nil || in.held(class) {
		return nil
	}
	lane := in.lanes.Reserve(queue, func() bool { return in.places.TryTake(int(class)) })
	if lane != nil {
		lane.Own = worker{placed: true, class: class}
	}
	return lane
}

// runOnce takes a place and executes the head of the queue.
func (in *Inbox) runOnce(queue ledger.Queue, w *worker) lanes.Next {
	if err := in.takePlace(queue, w); err != nil {
		if in.intake.Err() != nil || pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return lanes.Idle
		}
		in.config.Log.Error("queue cannot be read; trying again", "thread", queue.ThreadID, "err", err)
		return lanes.After(lanes.FaultPause)
	}
	defer in.freePlace(w)
	claim, err := w.first, error(nil)
	if w.first = (ledger.Claim{}); !claim.Found {
		// obeyLever finds runs that are held, once they no longer are.
		if !in.lanes.Ready(queue) || in.held(w.class) {
			return lanes.Idle
		}
		claim, err = in.claim(queue, w)
	}
	switch {
	case in.intake.Err() != nil && !claim.Found:
		return lanes.Idle
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return lanes.Idle // there is no such thread, or turn
	case err != nil:
		in.config.Log.Error("queue cannot be read; trying again", "thread", queue.ThreadID, "command", queue.Command, "turn", queue.TurnID, "err", err)
		return lanes.After(lanes.FaultPause)
	case !claim.Found && claim.NotBefore.IsZero():
		return lanes.Idle
	case !claim.Found:
		return lanes.After(max(claim.NotBefore.Sub(in.config.Now()), time.Millisecond))
	}
	w.served = true
	in.execute(w, claim)
	return lanes.Again
}

// claim claims the head of the queue. After an error it is unknown whether the claim was
// made, so the next claim, by whichever worker, puts the run back first.
func (in *Inbox) claim(queue ledger.Queue, w *worker) (claim ledger.Claim, err error) {
	unclaim := func() error { return in.store.Unclaim(in.intake, queue.ThreadID, in.config.Owner) }
	if queue.Beside() {
		unclaim = func() error { return in.store.UnclaimBeside(in.intake, queue, in.config.Owner) }
	}
	switch {
	case in.inDoubt(queue):
		if err := unclaim(); err != nil {
			return ledger.Claim{}, err
		}
		in.forgetDoubt(queue)
	case w.served && !queue.Beside():
		// Most often nothing waits; reading that costs less than a claim.
		if n, err := in.store.Waiting(in.intake, queue.ThreadID); err != nil || n == 0 {
			return ledger.Claim{}, err
		}
	}
	switch {
	case queue.Beside():
		claim, err = in.store.ClaimBeside(in.intake, queue, in.config.Owner)
	case in.isQuiet():
		claim, err = in.store.ClaimUncaused(in.intake, queue.ThreadID, in.config.Owner)
	default:
		claim, err = in.store.Claim(in.intake, queue.ThreadID, in.config.Owner)
	}
	in.doubt(queue, err)
	return claim, err
}

// doubt notes that a claim, or an acceptance with one, may have been made although it
// returned an error. One that was refused was not made.
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

func (in *Inbox) forgetDoubt(queue ledger.Queue) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.unsure, queue)
}

// execute takes one claimed run to its end, or back to the queue.
func (in *Inbox) execute(w *worker, claim ledger.Claim) {
	ctx, cancel := context.WithCancelCause(in.work)
	defer cancel(nil)
	announced := in.enter(claim, w, cancel)
	leave := sync.OnceFunc(func() { in.leave(claim) })
	defer leave()
	for _, one := range announced {
		<-one
	}
	began := in.thisMoment()
	left, err := in.handle(ctx, claim)
	defer func() { in.roomMade(in.work, left.Freed) }()
	if stopped := context.Cause(ctx); pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled {
		// Also the turns that the run asked for at the moment of the stop.
		in.endTurns(in.work, in.config.Log, claim.Run.ID, stopped)
	}
	if err == nil {
		return
	}
	if left.Answered || claim.Run.Step == pluginsdk.StepInvoked {
		ctx = in.work // there is an answer: only the daemon's stop interrupts the run
	}
	log := in.config.Log.With("thread", claim.Thread.ID, "run", claim.Run.ID, "attempt", claim.Run.Attempt, "plugin", claim.Message.Plugin)
	in.requeueOrFail(ctx, log, w, failed{claim, err, left, began})
	// Up to here a stop finds the run at work, from here on in the queue. A stop that came
	// when the attempt was over already ends the run there.
	leave()
	if stopped := context.Cause(ctx); pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled {
		clean := context.WithoutCancel(ctx)
		in.conclude(log, w, func() error { return in.cancelQueued(clean, claim.Run.ID, stopped) })
		if run, err := in.store.Run(clean, claim.Run.ID); err == nil && run.State == pluginsdk.RunCancelled {
			in.endTurns(clean, log, claim.Run.ID, stopped)
		}
	}
}

// endTurns ends the turns that a stopped run has asked for.
func (in *Inbox) endTurns(ctx context.Context, log *slog.Logger, runID string, cause error) {
	if err := in.endTurnsOf(ctx, runID, cause); err != nil {
		log.Warn("the turns that a stopped run has asked for cannot be ended", "run", runID, "err", err)
	}
}

// enter makes stops find the run. It returns channels that the caller must wait for
// before the run begins: the announcements of the messages that it answers.
func (in *Inbox) enter(claim ledger.Claim, w *worker, cancel context.CancelCauseFunc) (announced []chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	entry := running{
		id: claim.Run.ID, threadID: claim.Thread.ID, kind: claim.Run.Kind, beside: claim.Run.Beside, newest: claim.Message.ID, cancel: cancel, worker: w,
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
	delete(in.waiters, claim.Run.ID)
	return announced
}

func (in *Inbox) leave(claim ledger.Claim) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.running, claim.Run.ID)
	delete(in.unwanted, claim.Run.ID)
}

// handle calls the pipeline. A panic ends only the run, and a run during which the daemon
// died too often is not attempted again.
func (in *Inbox) handle(ctx context.Context, claim ledger.Claim) (left ledger.Left, err error) {
	limit := 2 * in.config.MaxAttempts
	if claim.Run.Step == pluginsdk.StepInvoked {
		limit *= 2 // its answer was paid for, and is worth more attempts
	}
	if claim.Run.Attempt > limit {
		left.Freed.Unsure = true
		return left, pluginsdk.Errorf(pluginsdk.CodeInternal, "it was begun %d times and never came to an end", limit)
	}
	err = guard.Call(in.config.Log.With("run", claim.Run.ID), "a run", func() (err error) {
		left, err = in.pipeline.Handle(in.work, ctx, claim)
		return err
	})
	return left, err
}

// failed is an attempt that did not end its run.
type failed struct {
	claim ledger.Claim
	cause error
	// left is what no commit of the attempt has stored. If its effects are why a commit
	// fails, that is made without them.
	left  ledger.Left
	began moment
}

// requeueOrFail decides what happens to a run whose attempt failed, and stores that. ctx
// ends with whatever may end the run.
func (in *Inbox) requeueOrFail(ctx context.Context, log *slog.Logger, w *worker, attempt failed) {
	claim, cause, runID := attempt.claim, attempt.cause, attempt.claim.Run.ID
	clean := context.WithoutCancel(ctx)
	left, bare := attempt.left, attempt.left
	bare.Effects = nil
	fail := func(why error, left ledger.Left) func() error {
		return func() error { return in.pipeline.Fail(in.work, claim, why, left) }
	}
	var failure *pluginsdk.Failure
	switch stopped := context.Cause(ctx); {
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeStale:
		log.Warn("run was taken over", "err", cause)
	case errors.As(cause, &failure) && failure.Kind == pluginsdk.FailureParked && pluginsdk.CodeOf(stopped) != pluginsdk.CodeCancelled:
		log.Info("run waits for people")
		in.conclude(log, w, func() error {
			parked, err := in.store.Park(clean, claim.Fence, runID)
			if err == nil && !parked {
				in.wakeThread(claim.Thread.ID)
			}
			return err
		})
	case errors.As(cause, &failure) && failure.Parked != nil && pluginsdk.CodeOf(stopped) != pluginsdk.CodeCancelled:
		in.parkFor(clean, log, w, attempt, *failure.Parked)
	case modelUnknown(claim.Run.Run, failure) && stopped == nil:
		in.parkAgain(clean, log, w, attempt)
	case errors.Is(stopped, ErrStopping):
		log.Info("run goes back to the queue", "err", cause)
		in.conclude(log, w, func() error { return in.store.Release(clean, claim.Fence, runID) })
	case pluginsdk.CodeOf(stopped) == pluginsdk.CodeCancelled:
		in.conclude(log, w, fail(stopped, left), fail(stopped, bare))
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeUnavailable && claim.Run.Attempt < in.config.MaxAttempts:
		backoff := guard.Backoff{Base: in.config.RetryBase, Max: in.config.RetryMax, Jitter: in.config.Jitter}
		at := in.config.Now().Add(backoff.After(claim.Run.Attempt))
		log.Warn("attempt failed; the run is tried again", "err", cause, "at", at)
		requeue := func(left ledger.Left) func() error {
			end := ledger.AttemptEnd{RunID: runID, At: at, Reason: cause.Error(), Hooks: left.Hooks, Effects: left.Effects}
			return func() error { return in.store.EndAttempt(clean, claim.Fence, end) }
		}
		switch in.conclude(log, w, requeue(left), requeue(bare), fail(cause, bare)) {
		case 0, 1:
			in.figures.retried.Add(1)
			in.events.Publish(pluginsdk.EventPipelineRetry, claim.Thread.ID, pluginsdk.RetryPayload{
				ThreadID: claim.Thread.ID, RunID: runID, Attempt: claim.Run.Attempt, Error: cause.Error(), NextAt: at, Kind: claim.Run.Kind,
			})
		}
	default:
		log.Error("run failed", "err", cause)
		in.conclude(log, w, fail(cause, left), fail(cause, bare))
	}
}

// lastingTries is how often conclude tries a write whose error waiting does not mend,
// before it makes the next write instead.
const lastingTries = 3

// conclude stores the end of a run: it repeats the first of the writes until the database
// has it, or says that there is nothing to end. When the error is one that waiting does
// not mend, it makes the next write instead; the last one it tries for as long as it
// takes. While it waits, it gives the place back. When the daemon stops first, the run
// stays claimed, and the next start finds it.
//
// It returns the index of the write that the database confirmed, or -1. A write may be
// stored although the result is -1: when its confirmation was lost, the repeated write
// finds nothing to end, as for a run that another attempt has, or that is gone.
func (in *Inbox) conclude(log *slog.Logger, w *worker, writes ...func() error) (confirmed int) {
	backoff := guard.Backoff{Base: lanes.FaultPause, Max: storeRetryMax}
	failures, lasting, at := 0, 0, 0
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
			failures, lasting, at = 0, 0, at+1
			continue
		}
		failures++
		wait := backoff.After(failures)
		log.Error("outcome of a run cannot be stored; trying again", "err", err, "in", wait)
		in.freePlace(w)
		select {
		case <-time.After(wait):
		case <-in.intake.Done():
			return -1
		}
	}
}

// class is the kind of work for which a run takes a place. Lower classes are served
// first.
type class int

const (
	people         class = iota // messages of people
	tasks                       // tasks and scheduled jobs
	turns                       // turns that plugins ask for
	classes                     // how many share Config.Slots
	commandsBeside              // commands beside their threads, which have places of their own
)

// commandPlaces is how many commands beside their threads execute at a time. They ask no agent, so
// that they do not count in Config.Slots; and however many people type, no more work at once.
const commandPlaces = 4

func classOf(kind pluginsdk.ThreadKind) class {
	if kind == pluginsdk.ThreadTask || kind == pluginsdk.ThreadCron {
		return tasks
	}
	return people
}

// newPlaces returns the places for runs that execute. From 3 places on, some are kept for
// each class: of 5, people have 2, tasks and turns 1 each. So people who type do not wait
// for what plugins start, and runs whose tools wait for a turn cannot take every place.
func newPlaces(all int) *lanes.Places {
	kept := [classes]int{}
	if all >= 3 {
		kept = [classes]int{people: max(1, all*2/5), tasks: max(1, all/5), turns: max(1, all/5)}
	}
	return lanes.NewPlaces(all, kept[:]...)
}

// placesOf returns the places that runs of a class take, and what the class is called there.
func (in *Inbox) placesOf(of class) (*lanes.Places, int) {
	if of == commandsBeside {
		return in.besidePlaces, 0
	}
	return in.places, int(of)
}

// takePlace waits for a place of the queue's class, unless the worker has one.
func (in *Inbox) takePlace(queue ledger.Queue, w *worker) (err error) {
	if w.placed {
		return nil
	}
	if w.class, err = in.classOf(queue); err != nil {
		return err
	}
	places, as := in.placesOf(w.class)
	if err = places.Take(in.intake, as); err == nil {
		w.placed = true
	}
	return err
}

// Rest gives the place of a run that executes back while it waits for people. back waits
// for a place again, until ctx ends. Several of a run may rest at a time: it has a place
// again with the first that goes on, and then the others do not wait for one.
func (in *Inbox) Rest(runID string) (back func(ctx context.Context) error) {
	in.mu.Lock()
	w := in.running[runID].worker
	if w != nil {
		in.freePlace(w)
		if w.back == nil {
			w.back = make(chan struct{}, 1)
		}
	}
	in.mu.Unlock()
	return func(ctx context.Context) error {
		if w == nil {
			return nil
		}
		select {
		case w.back <- struct{}{}: // one at a time waits for the run's one place
			defer func() { <-w.back }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		in.mu.Lock()
		placed := w.placed
		in.mu.Unlock()
		if placed {
			return nil
		}
		places, as := in.placesOf(w.class)
		if err := places.Take(ctx, as); err != nil {
			return err
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		w.placed = true
		return nil
	}
}

// freePlace gives the worker's place back, if it has one.
func (in *Inbox) freePlace(w *worker) {
	if w.placed {
		w.placed = false
		places, as := in.placesOf(w.class)
		places.Free(as)
	}
}

// classOf returns the class of a queue's runs. It reads each thread's kind once.
func (in *Inbox) classOf(queue ledger.Queue) (class, error) {
	switch {
	case queue.TurnID != "":
		return turns, nil
	case queue.Command != "":
		return commandsBeside, nil
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
