package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// joinIn does for a message that has come into a busy thread what the thread's
// busy mode asks. The message waits in the queue already: if nothing comes of
// it, it is answered in its turn. (Collecting is done by the next claim.)
func (in *Inbox) joinIn(ctx context.Context, accepted ledger.Accepted) {
	switch accepted.BusyMode {
	case pluginsdk.BusySteer:
		in.eachRunning(accepted.ThreadID, func(r running) {
			in.group.Go(func() { in.pipeline.Steer(in.work, r.id) })
		})
	case pluginsdk.BusyInterrupt:
		in.eachRunning(accepted.ThreadID, func(r running) {
			if r.newest < accepted.MessageID { // it may have been claimed with this one
				r.cancel(ErrSuperseded)
			}
		})
	case pluginsdk.BusyQueue, pluginsdk.BusyCollect:
	}
}
