package pluginsdk

import "context"

// PipelineStart tells that a run has begun.
type PipelineStart struct {
	Call    Call
	Thread  Thread
	Message Message
}

// PipelineStartHook is told at step 1 that a run has begun.
type PipelineStartHook interface {
	OnPipelineStart(ctx context.Context, start PipelineStart) error
}

// PipelineStartFunc adapts a function to PipelineStartHook.
type PipelineStartFunc func(ctx context.Context, start PipelineStart) error

// OnPipelineStart calls f.
func (f PipelineStartFunc) OnPipelineStart(ctx context.Context, start PipelineStart) error {
	return f(ctx, start)
}
