package pluginsdk

import (
	"context"
	"time"
)

// Call identifies one hook call. Hooks are at least once after a crash: ID is
// the same when a retry repeats the call, so that a plugin can tell.
type Call struct {
	ID       string // the same at every attempt
	RunID    string // empty for hooks outside a run
	Attempt  int    // 1 for the first
	Token    string // goes back with every Host call made inside the hook
	Deadline time.Time
	// TraceID is the run's, 32 hex digits as in W3C Trace Context; empty outside
	// a run. It is for the plugin's own logs and traces.
	TraceID string
}

type callKey struct{}

// WithCall returns a context that carries call. The SDK gives every hook such
// a context and sends the token of it with each Host call.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallFrom returns the call that ctx carries, and whether it carries one.
func CallFrom(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}
