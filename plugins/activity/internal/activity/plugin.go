// Package activity records what happened around a reply as rows of its thread.
package activity

import (
	"context"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin writes one row when a run begins and, when an attempt of it ends, the
// rows of its steps, thinking and tool calls and a last one with the outcome.
// They are the hooks' effects: stored with the run, once, whatever is repeated.
type Plugin struct{}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:        "activity",
		Version:     "0.1.0",
		Description: "Records runs, steps, thinking and tool calls as rows of the thread",
		Needs: map[pluginsdk.Hook][]pluginsdk.Part{
			pluginsdk.HookPipelineComplete: {pluginsdk.PartEvents, pluginsdk.PartSteps},
		},
		Capabilities: []pluginsdk.CapabilityRequest{{
			Capability: pluginsdk.CapMessagesWrite,
			Reason:     "store the activity rows of a run in its thread",
		}},
	}
}

// OnPipelineStart has the row that says that a run has begun. A later attempt of
// the run has the same key, so it adds nothing.
func (*Plugin) OnPipelineStart(context.Context, *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return &pluginsdk.OnPipelineStartResponse{
		Effects: &pluginsdk.Effects{Key: "start", Rows: []pluginsdk.NewMessage{startRow()}},
	}, nil
}

// OnPipelineComplete has the rows of an attempt that has ended.
func (*Plugin) OnPipelineComplete(_ context.Context, complete *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return &pluginsdk.OnPipelineCompleteResponse{
		Effects: &pluginsdk.Effects{Key: completeKey(complete), Rows: completeRows(complete)},
	}, nil
}

// completeKey is complete for the attempt that answered, which a restart may tell
// of again, and complete:N for an attempt N that did not: the next one has rows
// of its own. One that was parked does not count as an attempt: the next has its number.
func completeKey(complete *pluginsdk.OnPipelineCompleteRequest) string {
	switch {
	case complete.Outcome == pluginsdk.OutcomeSucceeded:
		return "complete"
	case complete.Outcome == pluginsdk.OutcomeParked && len(complete.Steps) > 0:
		return "parked:" + strconv.FormatInt(complete.Steps[0].Timestamp.UnixMicro(), 10)
	}
	return "complete:" + strconv.Itoa(complete.Call.Attempt)
}
