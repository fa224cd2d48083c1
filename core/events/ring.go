package events

import "github.com/seed-706843ae/harness/pluginsdk"

// ring keeps the newest events, bounded in number and in payload bytes.
type ring struct {
	maxEvents, maxBytes int

	events []pluginsdk.Event // a circle once it is full
	start  int
	count  int
	bytes  int
}

func (r *ring) add(event pluginsdk.Event) {
	if r.events == nil {
		r.events = make([]pluginsdk.Event, r.maxEvents)
	}
	for r.count > 0 && (r.count == r.maxEvents || r.bytes+len(event.Data) > r.maxBytes) {
		r.drop()
	}
	r.events[(r.start+r.count)%r.maxEvents] = event
	r.count++
	r.bytes += len(event.Data)
}

func (r *ring) drop() {
	r.bytes -= len(r.events[r.start].Data)
	r.events[r.start] = pluginsdk.Event{}
	r.start = (r.start + 1) % r.maxEvents
	r.count--
}

// oldest returns the sequence number of the oldest event kept, or the one
// after newest when none is.
func (r *ring) oldest(newest uint64) uint64 {
	if r.count == 0 {
		return newest + 1
	}
	return r.events[r.start].Seq
}

// after returns up to limit events with a greater sequence number. Sequence
// numbers in the ring have no gaps.
func (r *ring) after(seq uint64, limit int) []pluginsdk.Event {
	if r.count == 0 {
		return nil
	}
	skip := 0
	if first := r.events[r.start].Seq; seq >= first {
		skip = int(seq - first + 1)
	}
	n := min(r.count-skip, limit)
	if n <= 0 {
		return nil
	}
	page := make([]pluginsdk.Event, n)
	for i := range page {
		page[i] = r.events[(r.start+skip+i)%r.maxEvents]
	}
	return page
}
