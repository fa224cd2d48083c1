package inbox

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// class is as what a run waits for a place. The first of them are served first.
type class int

const (
	people  class = iota // what people have said
	tasks                // tasks and scheduled jobs
	turns                // what plugins ask of the agent
	classes              // how many there are
)

func classOf(kind pluginsdk.ThreadKind) class {
	if kind == pluginsdk.ThreadTask || kind == pluginsdk.ThreadCron {
		return tasks
	}
	return people
}

// newPlaces are the places for runs that execute. From 3 on, each class has some that are
// kept for it: of 5, people 2, tasks and turns 1 each. So what plugins start keeps nobody
// waiting who types, and a run whose tool waits for a turn is never all that is at work.
func newPlaces(all int) *lanes.Places {
	kept := [classes]int{}
	if all >= 3 {
		kept = [classes]int{people: max(1, all*2/5), tasks: max(1, all/5), turns: max(1, all/5)}
	}
	return lanes.NewPlaces(all, kept[:]...)
}

// takePlace waits for a place of the queue's class, unless the worker has one.
func (in *Inbox) takePlace(queue ledger.Queue, w *worker) (err error) {
	if w.placed {
		return nil
	}
	if w.class, err = in.classOf(queue); err != nil {
		return err
	}
	if err = in.places.Take(in.intake, int(w.class)); err == nil {
		w.placed = true
	}
	return err
}

// freePlace lets another worker have the place, if this one holds any.
func (in *Inbox) freePlace(w *worker) {
	if w.placed {
		w.placed = false
		in.places.Free(int(w.class))
	}
}

// classOf says as what the runs of a queue wait for a place. It reads what kind of thread
// it is once.
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

// leverEvery is how often it is looked whether an operator has paused what plugins
// start.
const leverEvery = time.Second

// obeyLever does what operators have said of what plugins start. What was held back is
// looked for when it no longer is.
func (in *Inbox) obeyLever() error {
	resumed, err := in.readLever(in.intake)
	if err == nil && resumed {
		err = in.sweep()
	}
	return err
}

// readLever takes up how the lever stands, and reports whether it was turned off since
// it was read last.
func (in *Inbox) readLever(ctx context.Context) (resumed bool, err error) {
	lever, err := in.store.Lever(ctx, ledger.LeverPause)
	if err != nil {
		return false, err
	}
	in.mu.Lock()
	resumed = in.quiet && !lever.On
	changed := in.quiet != lever.On
	in.quiet = lever.On
	in.mu.Unlock()
	switch {
	case changed && lever.On:
		in.config.Log.Warn("paused: nothing that a plugin starts is begun until an operator resumes it", "by", lever.Who, "since", lever.At)
	case changed:
		in.config.Log.Info("resumed: what plugins start is begun again", "by", lever.Who)
	}
	return resumed, nil
}

// isQuiet reports whether what plugins start is to wait.
func (in *Inbox) isQuiet() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.quiet
}

// held reports whether no run of the class is to be begun.
func (in *Inbox) held(of class) bool { return of != people && in.isQuiet() }
