package courier

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the courier does to each run: a row at its start and one at its end, both
// closed, so that no run comes to an end without them. The second says in which
// attempt it was written, which has to be the one that ended the run.

// The events of the rows' metadata.
const (
	Seen = "courier_seen"
	Done = "courier_done"
)

// OnPipelineStart notes that the run has begun.
func (*Plugin) OnPipelineStart(_ context.Context, request *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return &pluginsdk.OnPipelineStartResponse{Effects: rows(Seen, Seen, request.Call.Attempt)}, nil
}

// OnPipelineComplete notes how an attempt ended: under a key of its own, unless it
// is the run's last.
func (*Plugin) OnPipelineComplete(_ context.Context, request *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	key, event := Done, Done
	if request.Outcome != pluginsdk.OutcomeSucceeded {
		key, event = fmt.Sprintf("failed:%d", request.Call.Attempt), "courier_failed"
	}
	return &pluginsdk.OnPipelineCompleteResponse{Effects: rows(key, event, request.Call.Attempt)}, nil
}

func rows(key, event string, attempt int) *pluginsdk.Effects {
	return &pluginsdk.Effects{Key: key, Rows: []pluginsdk.NewMessage{{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: event,
		Metadata: fmt.Appendf(nil, `{"event":%q,"attempt":%d}`, event, attempt),
	}}}
}
