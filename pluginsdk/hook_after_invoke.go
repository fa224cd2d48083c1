package pluginsdk

import "context"

// Invocation is a turn of the agent that has ended.
type Invocation struct {
	Call    Call
	Thread  Thread
	Message Message
	Result  InvokeResult
}

// AfterInvokeHook is told at step 6 how the agent's turn ended.
type AfterInvokeHook interface {
	OnAfterInvoke(ctx context.Context, invocation Invocation) error
}

// AfterInvokeFunc adapts a function to AfterInvokeHook.
type AfterInvokeFunc func(ctx context.Context, invocation Invocation) error

// OnAfterInvoke calls f.
func (f AfterInvokeFunc) OnAfterInvoke(ctx context.Context, invocation Invocation) error {
	return f(ctx, invocation)
}
