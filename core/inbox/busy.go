package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// joinIn does what the thread's busy mode asks for a message that came into a busy
// thread. The message waits in the queue already: if joinIn has no effect, it is answered
// in its turn. (The next claim collects.) Only a person's message interrupts: person says
// that no run has caused it.
func (in *Inbox) joinIn(ctx context.Context, accepted ledger.Accepted, person bool) {
	switch accepted.BusyMode {
	case pluginsdk.BusySteer:
		if !person && in.isQuiet() {
			return
		}
		in.eachRunning(accepted.ThreadID, func(r running) {
			in.lanes.Go(func() {
				guard.Try(in.config.Log.With("run", r.id), "steering", func() { in.pipeline.Steer(in.work, r.id) })
			})
		})
	case pluginsdk.BusyInterrupt:
		if person {
			in.supersede(ctx, accepted)
		}
	case pluginsdk.BusyQueue, pluginsdk.BusyCollect:
	}
}

// supersede cancels the thread's turn of the agent because of a newer message, also a
// turn that is being claimed at this moment. It leaves alone a run that answers the
// message itself, a plugin's command, which may be half done, and a turn that a plugin has
// asked for in the thread, at work or parked.
func (in *Inbox) supersede(ctx context.Context, accepted ledger.Accepted) {
	if in.eachRunning(accepted.ThreadID, func(r running) {
		if r.kind == pluginsdk.RunMessage && r.newest < accepted.MessageID {
			r.cancel(ErrSuperseded)
		}
	}) {
		return
	}
	run, err := in.parked(ctx, accepted.ThreadID)
	if err == nil && run.ID == "" {
		run, err = in.planned(ctx, accepted.ThreadID)
	}
	if err == nil && run.ID != "" && run.Kind == pluginsdk.RunMessage && newest(run) < accepted.MessageID {
		if err = in.cancelQueued(ctx, run.ID, ErrSuperseded); err == nil {
			err = in.endTurnsOf(ctx, run.ID, ErrSuperseded)
		}
	}
	if err == nil {
		run, err = in.claimed(ctx, accepted.ThreadID)
	}
	if err == nil && run.ID != "" && run.Kind == pluginsdk.RunMessage {
		in.interrupt(run.ID, order{ErrSuperseded, accepted.MessageID - 1})
		if run, err = in.store.Run(ctx, run.ID); err == nil && run.State.Final() {
			in.forget(run.ID) // the run has ended meanwhile
		}
	}
	if err != nil {
		in.config.Log.Warn("the turn in front of a message could not be interrupted", "thread", accepted.ThreadID, "err", err)
	}
}

// claimed returns the thread's run that is at work according to the database; the zero
// Run: none is.
func (in *Inbox) claimed(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	return in.store.FirstQueued(ctx, threadID, pluginsdk.RunRunning)
}

// parked returns the thread's run that waits for people; the zero Run: none does.
func (in *Inbox) parked(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	return in.store.FirstQueued(ctx, threadID, pluginsdk.RunWaiting)
}

// newest returns the id of the newest message that the run answers.
func newest(run pluginsdk.Run) int64 {
	id := run.MessageID
	for _, absorbed := range run.Absorbed {
		id = max(id, absorbed)
	}
	return id
}
