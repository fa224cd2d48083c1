package api

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// StopRequest says what becomes of the messages that wait, and who wants it.
type StopRequest struct {
	Queue  pluginsdk.Queue `json:"queue,omitempty" enum:"keep,drop" doc:"keep: they are answered next; drop: they are cancelled; keep when absent"`
	Author string          `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the run says so"`
}

// somebody is in whose name the API asks when the request names nobody: it was a
// person, and not the plugin.
const somebody = "a person"

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
	var request StopRequest
	if input.Body != nil {
		request = *input.Body
	}
	answer, err := h.host.Runs.Stop(ctx, &pluginsdk.StopThreadRequest{
		ThreadID: input.ID, Queue: cmp.Or(request.Queue, pluginsdk.KeepQueue), Author: cmp.Or(request.Author, somebody),
	})
	if err != nil {
		return nil, h.fail("stop-thread", err)
	}
	return &stopOutput{Body: Stopped{RunID: answer.Stopped.RunID, Dropped: list(answer.Stopped.Dropped)}}, nil
}
