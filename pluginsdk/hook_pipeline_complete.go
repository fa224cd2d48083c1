package pluginsdk

import (
	"context"
	"time"
)

// PipelineOutcome says how an attempt of a run ended.
type PipelineOutcome string

// The outcomes of an attempt.
const (
	OutcomeSucceeded PipelineOutcome = "succeeded"
	OutcomeFailed    PipelineOutcome = "failed"
	OutcomeDenied    PipelineOutcome = "denied"
	OutcomeCancelled PipelineOutcome = "cancelled"
)

// PipelineComplete is the record of an attempt, before its reply is stored.
type PipelineComplete struct {
	Call     Call
	Thread   Thread
	Message  Message
	Outcome  PipelineOutcome
	Error    string
	Steps    []PipelineStep
	Events   []StreamEvent // whole blocks only, no deltas
	Usage    *Usage        // nil when the agent was not reached
	Duration time.Duration
}

// PipelineCompleteHook is told at step 10 how an attempt ended. Every started
// attempt ends with it.
type PipelineCompleteHook interface {
	OnPipelineComplete(ctx context.Context, complete PipelineComplete) error
}

// PipelineCompleteFunc adapts a function to PipelineCompleteHook.
type PipelineCompleteFunc func(ctx context.Context, complete PipelineComplete) error

// OnPipelineComplete calls f.
func (f PipelineCompleteFunc) OnPipelineComplete(ctx context.Context, complete PipelineComplete) error {
	return f(ctx, complete)
}
