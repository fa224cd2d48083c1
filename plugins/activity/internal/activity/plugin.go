// Package activity records what happened around a reply as rows of its thread.
package activity

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin writes one row when a run begins and, when an attempt of it ends, the
// rows of its steps, thinking and tool calls and a last one with the outcome.
// Its own failures are logged and never fail a run.
type Plugin struct {
	messages pluginsdk.Messages
	log      *slog.Logger
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:        "activity",
		Version:     "0.1.0",
		Description: "Records runs, steps, thinking and tool calls as rows of the thread",
		Capabilities: []pluginsdk.CapabilityRequest{{
			Capability: pluginsdk.CapMessagesWrite,
			Reason:     "store the activity rows of a run in its thread",
		}},
	}
}

// Start keeps the host.
func (p *Plugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.messages, p.log = host.Messages, host.Log
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// OnPipelineStart stores the row that says that a run has begun. A later
// attempt of the run has the same key and content, so it adds nothing.
func (p *Plugin) OnPipelineStart(ctx context.Context, start pluginsdk.PipelineStart) error {
	runID := start.Call.RunID
	p.append(ctx, start.Thread.ID, runID, runID+":start", []pluginsdk.NewMessage{startRow(runID)})
	return nil
}

// OnPipelineComplete stores the rows of an attempt that has ended, in one
// append.
func (p *Plugin) OnPipelineComplete(ctx context.Context, complete pluginsdk.PipelineComplete) error {
	runID := complete.Call.RunID
	p.append(ctx, complete.Thread.ID, runID, completeKey(complete), completeRows(complete))
	return nil
}

// completeKey is RUN:complete for the attempt that answered, which a restart
// may tell of again, and RUN:complete:N for an attempt N that did not: the next
// one has rows of its own.
func completeKey(complete pluginsdk.PipelineComplete) string {
	key := complete.Call.RunID + ":complete"
	if complete.Outcome != pluginsdk.OutcomeSucceeded {
		key += ":" + strconv.Itoa(complete.Call.Attempt)
	}
	return key
}

func (p *Plugin) append(ctx context.Context, threadID, runID, key string, rows []pluginsdk.NewMessage) {
	_, err := p.messages.Append(ctx, threadID, key, rows)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // every other code is a failure
	case "":
	case pluginsdk.CodeConflict:
		// A hook repeated after a crash: the attempt's rows are there, and
		// only its duration differs.
		p.log.Debug("activity rows are stored already", "thread", threadID, "run", runID, "key", key)
	default:
		p.log.Error("activity rows could not be stored",
			"thread", threadID, "run", runID, "key", key, "rows", len(rows), "err", err)
	}
}
