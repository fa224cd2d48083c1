package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// joinIn does for a message that has come into a busy thread what the thread's
// busy mode asks. The message waits in the queue already: if nothing comes of
// it, it is answered in its turn. (Collecting is done by the next claim.) Only a person's
// message interrupts: person is that no run has caused it.
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

// supersede cancels the agent's turn that runs in front of a message, also one
// that was claimed in this instant. A run that answers the message itself is
// left alone, and so is a plugin's command: it may be half done.
func (in *Inbox) supersede(ctx context.Context, accepted ledger.Accepted) {
	if in.eachRunning(accepted.ThreadID, func(r running) {
		if r.kind == pluginsdk.RunMessage && r.newest < accepted.MessageID {
			r.cancel(ErrSuperseded)
		}
	}) {
		return
	}
	run, err := in.claimed(ctx, accepted.ThreadID)
	if err == nil && run.ID != "" && run.Kind == pluginsdk.RunMessage {
		in.interrupt(run.ID, order{ErrSuperseded, accepted.MessageID - 1})
		if run, err = in.store.Run(ctx, run.ID); err == nil && run.State.Final() {
			in.forget(run.ID) // it has ended meanwhile
		}
	}
	if err != nil {
		in.config.Log.Warn("the turn in front of a message could not be interrupted", "thread", accepted.ThreadID, "err", err)
	}
}

// claimed returns the thread's run that is at work according to the database,
// or the zero Run.
func (in *Inbox) claimed(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	return in.store.FirstQueued(ctx, threadID, pluginsdk.RunRunning)
}

// newest is the id of the newest message that a run answers.
func newest(run pluginsdk.Run) int64 {
	id := run.MessageID
	for _, absorbed := range run.Absorbed {
		id = max(id, absorbed)
	}
	return id
}
