package pipeline

import (
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The bounds of what is kept of a run's hook calls, over all its attempts: they are one
// column, written with each of its commits.
const (
	maxCalls     = 200
	maxCallBytes = 32 << 10
	callBytes    = 128 // what a call counts for, beside its words
)

// calls are the hook calls of a run, those of earlier attempts first. Several goroutines
// may add.
type calls struct {
	mu      sync.Mutex
	kept    []pluginsdk.HookCall // of an attempt in the order in which they began
	bytes   int
	omitted pluginsdk.HookCall // counts those that are not kept
}

// takeUp begins with what earlier attempts have stored.
func (c *calls) takeUp(stored []pluginsdk.HookCall) {
	for _, call := range stored {
		switch {
		case call.Omitted > 0:
			c.omitted = call
			continue
		case call.State == pluginsdk.CallWaiting: // of an attempt that died
			continue
		}
		c.kept = append(c.kept, call)
		c.bytes += sizeOf(call)
	}
}

// add keeps a call that is over, or counts it when there is no room.
func (c *calls) add(call pluginsdk.HookCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.omitted.Omitted > 0 || len(c.kept) == maxCalls || c.bytes+sizeOf(call) > maxCallBytes {
		c.omitted.Omitted++
		return
	}
	c.bytes += sizeOf(call)
	at := len(c.kept)
	for at > 0 && c.kept[at-1].Attempt == call.Attempt && c.kept[at-1].StartedAt.After(call.StartedAt) {
		at--
	}
	c.kept = slices.Insert(c.kept, at, call)
}

func sizeOf(call pluginsdk.HookCall) int {
	return callBytes + len(call.Plugin) + len(call.Error)
}

// all returns the calls for a commit; nil: there are none.
func (c *calls) all() []pluginsdk.HookCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.kept)
	if c.omitted.Omitted > 0 {
		all = append(all, c.omitted)
	}
	return all
}
