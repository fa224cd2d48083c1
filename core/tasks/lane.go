package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeRetry is how long a lane waits when the database does not answer.
const storeRetry = time.Second

// lane does what the core has to do for one task, one step after the other. It exists
// only while there is something to do.
type lane struct {
	id    string
	again bool               // woken while it was looking
	wake  chan struct{}      // cuts a wait short
	end   context.CancelFunc // of the step that is being made; nil: none

	// These are its goroutine's own.
	waits int    // steps in a row that had to wait for somebody
	said  string // what the task says as it was read for the step that is being made
}

// Wake makes sure that somebody looks at what there is to do for a task. It may be
// called at any time.
func (r *Room) Wake(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.stage {
	case created:
		r.early[id] = true
	case started, paused:
		r.look(id)
	case stopped: // the next start finds it
	}
}

// PluginChanged lets tasks go on that wait for a plugin.
func (r *Room) PluginChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		l.nudge()
	}
}

// look wakes a lane, or makes it; during a Pause, Resume does. The lock is held.
func (r *Room) look(id string) {
	if r.stage == paused {
		r.early[id] = true
		return
	}
	if l, ok := r.lanes[id]; ok {
		l.again = true
		l.nudge()
		return
	}
	l := &lane{id: id, wake: make(chan struct{}, 1)}
	r.lanes[id] = l
	r.group.Go(func() { r.serve(l) })
}

func (l *lane) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// interrupt ends the step that is being made for a task, which was moved: what it asks
// is of no use any more.
func (r *Room) interrupt(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lanes[id]; l != nil && l.end != nil {
		l.end()
	}
}

// serve is the lane's loop; step its logic. A panic makes the lane wait, and ends
// nothing else.
func (r *Room) serve(l *lane) {
	log := r.config.Log.With("task", l.id)
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.lanes[l.id] == l {
			delete(r.lanes, l.id)
		}
	}()
	for r.intake.Err() == nil {
		var wait time.Duration
		var more bool
		if guard.Try(log, "a lane of the tasks", func() { wait, more = r.runOnce(l) }) {
			wait, more = storeRetry, false
		}
		if more {
			continue
		}
		if wait == 0 {
			if r.retire(l) {
				return
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-r.intake.Done():
		}
		timer.Stop()
	}
}

// retire ends the lane unless it was woken since it last looked.
func (r *Room) retire(l *lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.again {
		l.again = false
		return false
	}
	delete(r.lanes, l.id)
	return true
}

// errLater says that a step has to wait for somebody else.
type errLater struct{ wait time.Duration }

func (errLater) Error() string { return "later" }

// runOnce makes one step. It reports whether there may be more to do at once, or else
// how long to wait (0: nothing is to be done).
func (r *Room) runOnce(l *lane) (wait time.Duration, more bool) {
	ctx, ready := r.enter(l)
	if !ready {
		return 0, false
	}
	defer r.leave(l)
	done, err := r.step(ctx, l)
	var later errLater
	switch {
	case errors.As(err, &later):
		return later.wait, false
	case err == nil, pluginsdk.CodeOf(err) == pluginsdk.CodeStale:
		l.waits = 0
		return 0, !done || err != nil
	case ctx.Err() != nil:
		return 0, true // it was moved meanwhile, or all is over
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return 0, false // there is no such task
	}
	r.config.Log.Error("a task cannot go on; trying again", "task", l.id, "err", err)
	return storeRetry, false
}

// enter opens a step, which interrupt ends, unless nothing may be begun: then Resume
// finds the task. Only what is read of the task from here on may be acted on.
func (r *Room) enter(l *lane) (ctx context.Context, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stage != started {
		r.early[l.id] = true
		return nil, false
	}
	ctx, l.end = context.WithCancel(r.work)
	return ctx, true
}

func (r *Room) leave(l *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.end()
	l.end = nil
}
