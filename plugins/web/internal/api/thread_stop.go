package api

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// StopRequest says what becomes of the messages that wait.
type StopRequest struct {
	Queue pluginsdk.Queue `json:"queue,omitempty" enum:"keep,drop" doc:"keep: they are answered next; drop: they are cancelled; keep when absent"`
}

// Stopped is what a stop did.
type Stopped struct {
	RunID   string   `json:"runId,omitempty" doc:"The run that was interrupted or given up; absent when there was none. An interrupted one ends a moment later"`
	Dropped []string `json:"dropped" nullable:"false" doc:"Ids of the runs that were cancelled in the queue"`
}

type stopInput struct {
	ID   string       `path:"id" maxLength:"100"`
	Body *StopRequest // may be absent
}

type stopOutput struct {
	Body Stopped
}

func (h *handlers) stopThread(ctx context.Context, input *stopInput) (*stopOutput, error) {
	queue := pluginsdk.KeepQueue
	if input.Body != nil && input.Body.Queue != "" {
		queue = input.Body.Queue
	}
	stopped, err := h.host.Runs.Stop(ctx, input.ID, queue)
	if err != nil {
		return nil, h.fail("stop-thread", err)
	}
	return &stopOutput{Body: Stopped{RunID: stopped.RunID, Dropped: list(stopped.Dropped)}}, nil
}
