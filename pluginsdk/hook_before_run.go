package pluginsdk

import "context"

// RunStart asks whether a run may happen at all.
type RunStart struct {
	Call    Call
	Thread  Thread
	Message Message
	Run     Run
}

// Verdict is the answer of a gate.
type Verdict struct {
	Allow  bool
	Reason string // shown to the person when denied; feedback to the worker of a task
}

// BeforeRunHook is a gate at step 1: every plugin that answers it must allow
// the run. An error denies, with the error as the reason (unless the operator
// set the hook to open).
type BeforeRunHook interface {
	OnBeforeRun(ctx context.Context, start RunStart) (Verdict, error)
}

// BeforeRunFunc adapts a function to BeforeRunHook.
type BeforeRunFunc func(ctx context.Context, start RunStart) (Verdict, error)

// OnBeforeRun calls f.
func (f BeforeRunFunc) OnBeforeRun(ctx context.Context, start RunStart) (Verdict, error) {
	return f(ctx, start)
}
