package pluginsdk

import "context"

// Reply is what a person is about to see.
type Reply struct {
	Call    Call
	Thread  Thread
	Message Message // the message that is answered
	Text    string  // the previous plugin's text
}

// BeforeReplyHook is a chain at step 9: it rewrites the text a person will
// see. An empty result is a value, not an error.
type BeforeReplyHook interface {
	OnBeforeReply(ctx context.Context, reply Reply) (string, error)
}

// BeforeReplyFunc adapts a function to BeforeReplyHook.
type BeforeReplyFunc func(ctx context.Context, reply Reply) (string, error)

// OnBeforeReply calls f.
func (f BeforeReplyFunc) OnBeforeReply(ctx context.Context, reply Reply) (string, error) {
	return f(ctx, reply)
}
