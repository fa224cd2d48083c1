package pluginsdk

import "context"

// Prompt is what the agent is about to be given.
type Prompt struct {
	Call    Call
	Thread  Thread // SessionID is empty when the agent will start a new session
	Message Message
	Text    string // the previous plugin's prompt
}

// BeforeInvokeHook is a chain at step 4: each plugin gets the previous one's
// prompt and returns the next. An error keeps the previous prompt.
type BeforeInvokeHook interface {
	OnBeforeInvoke(ctx context.Context, prompt Prompt) (string, error)
}

// BeforeInvokeFunc adapts a function to BeforeInvokeHook.
type BeforeInvokeFunc func(ctx context.Context, prompt Prompt) (string, error)

// OnBeforeInvoke calls f.
func (f BeforeInvokeFunc) OnBeforeInvoke(ctx context.Context, prompt Prompt) (string, error) {
	return f(ctx, prompt)
}
