package ledger

import "time"

// SpanKind says what a Span is of.
type SpanKind string

// The kinds of spans.
const (
	SpanHook   SpanKind = "hook"   // a call of a plugin
	SpanWrite  SpanKind = "write"  // a transaction of the store
	SpanRead   SpanKind = "read"   // a query of the store outside of one
	SpanEvents SpanKind = "events" // a batch of events, given to a subscriber
)

// Span is a piece of work that has been done, for who measures where the time of a
// turn goes. A room tells its spans to the Trace of its Config, when that is set; it
// may be called from several goroutines at once, and must not block.
type Span struct {
	Kind SpanKind `json:"kind"`
	// Name is the hook, the method of the store, or the subscriber.
	Name   string    `json:"name"`
	Plugin string    `json:"plugin,omitempty"` // of a hook
	RunID  string    `json:"runId,omitempty"`  // of a hook
	Began  time.Time `json:"began"`
	// Took is from Began to the end, in nanoseconds; Waited is what of it passed before
	// the work began (a write, until the writer had it), Inside what of it the plugin has
	// seen of the call (a hook), or the statements took before the COMMIT (a write).
	Took   time.Duration `json:"took"`
	Waited time.Duration `json:"waited,omitempty"`
	Inside time.Duration `json:"inside,omitempty"`
	// Durable says of a write that it waits for the disk.
	Durable bool `json:"durable,omitempty"`
	// Count is how many statements a write has made, or how many events a batch has.
	Count int `json:"count,omitempty"`
}
