package pluginsdk

import "context"

// BroadcastHook receives events in batches, in order, one batch at a time.
// Events inform; the database decides. A subscriber that is too slow loses
// stream deltas first, and is then told with an EventResync that it missed
// events.
//
// A process is told of everything since its Start was called, and one that
// replaces another of everything that the other was not told of. An event can
// come twice; its boot and sequence number are the same then.
type BroadcastHook interface {
	OnBroadcast(ctx context.Context, events []Event) error
}

// BroadcastFunc adapts a function to BroadcastHook.
type BroadcastFunc func(ctx context.Context, events []Event) error

// OnBroadcast calls f.
func (f BroadcastFunc) OnBroadcast(ctx context.Context, events []Event) error {
	return f(ctx, events)
}
