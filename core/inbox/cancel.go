package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Cancel ends a run that waits, or interrupts one that executes. A run that is
// over is left as it is. The run is returned as it is then known; an
// interrupted one ends a moment later.
func (in *Inbox) Cancel(ctx context.Context, runID string) (pluginsdk.Run, error) {
	in.mu.Lock()
	executing, ok := in.running[runID]
	in.mu.Unlock()
	if ok {
		executing.cancel(ErrStopped)
		return in.store.Run(ctx, runID)
	}
	run, cancelled, err := in.store.CancelQueued(ctx, runID)
	if err != nil {
		return pluginsdk.Run{}, err
	}
	if cancelled {
		in.events.Publish(pluginsdk.EventPipelineError, run.ThreadID, pluginsdk.ErrorPayload{
			ThreadID: run.ThreadID, RunID: run.ID, Error: ErrStopped.Error(),
		})
		in.wake(run.ThreadID)
	}
	return run, nil
}
