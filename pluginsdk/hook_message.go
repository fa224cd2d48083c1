package pluginsdk

import "context"

// IncomingMessage is a message about to be answered.
type IncomingMessage struct {
	Call    Call
	Thread  Thread
	Message Message
}

// MessageHook is told at step 2 of the message about to be answered.
type MessageHook interface {
	OnMessage(ctx context.Context, message IncomingMessage) error
}

// MessageFunc adapts a function to MessageHook.
type MessageFunc func(ctx context.Context, message IncomingMessage) error

// OnMessage calls f.
func (f MessageFunc) OnMessage(ctx context.Context, message IncomingMessage) error {
	return f(ctx, message)
}
