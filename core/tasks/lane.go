package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// lane is what the steps of one task remember while there is something to do for it.
type lane struct {
	waits int    // steps in a row that had to wait for somebody
	said  string // what the task says as it was read for the step that is being made
}

// Wake makes sure that somebody looks at what there is to do for a task. It may be
// called at any time.
func (r *Room) Wake(id string) { r.lanes.Wake(id) }

// PluginChanged lets tasks go on that wait for a plugin.
func (r *Room) PluginChanged() { r.lanes.Hurry() }

// interrupt ends the step that is being made for a task, which was moved: what it asks
// is of no use any more.
func (r *Room) interrupt(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if end := r.ends[id]; end != nil {
		end()
	}
}

// errLater says that a step has to wait for somebody else.
type errLater struct{ wait time.Duration }

func (errLater) Error() string { return "later" }

// runOnce makes one step for a task, unless nothing may be begun.
func (r *Room) runOnce(id string, l *lane) lanes.Next {
	if !r.lanes.Ready(id) {
		return lanes.Idle
	}
	ctx, leave := r.enter(id)
	defer leave()
	done, err := r.step(ctx, id, l)
	var later errLater
	switch {
	case errors.As(err, &later):
		return lanes.After(later.wait)
	case err == nil && done:
		l.waits = 0
		return lanes.Idle
	case err == nil, pluginsdk.CodeOf(err) == pluginsdk.CodeStale:
		l.waits = 0
		return lanes.Again
	case ctx.Err() != nil:
		return lanes.Again // it was moved meanwhile, or all is over
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return lanes.Idle // there is no such task
	}
	r.config.Log.Error("a task cannot go on; trying again", "task", id, "err", err)
	return lanes.After(lanes.FaultPause)
}

// enter opens a step, which interrupt ends. Only what is read of the task from here on
// may be acted on: of a move that was made before, interrupt has told nobody.
func (r *Room) enter(id string) (ctx context.Context, leave func()) {
	ctx, end := context.WithCancel(r.lanes.Work)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[id] = end
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		end()
		delete(r.ends, id)
	}
}
