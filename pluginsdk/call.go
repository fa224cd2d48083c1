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

// Progress reports how far a call has come.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0: unknown
	Message string  `json:"message,omitempty"`
}

type progressKey struct{}

// WithProgress returns a context whose ReportProgress calls report. The SDK
// gives one to the hooks whose calls can report: CallTool and the task hooks.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress tells the caller of a hook that the call is alive, and how far
// it has come. It may be called with the hook's context any number of times, from
// any goroutine, until the hook returns. Who waits for a tool sees it; a call of
// the deadline class work is ended when it has reported nothing for 5 minutes.
// Where nobody listens it does nothing.
func ReportProgress(ctx context.Context, progress Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		report(progress)
	}
}
