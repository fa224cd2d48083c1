package events

import "github.com/seed-706843ae/harness/pluginsdk"

// entry is an event as it is kept and queued.
type entry struct {
	pluginsdk.Event
	// delta is Event.Delta, which reads the payload: it is asked once, before
	// anybody's lock is taken.
	delta  bool
	thread thread
	run    run
}

func eventsOf(entries []entry) []pluginsdk.Event {
	events := make([]pluginsdk.Event, len(entries))
	for n, e := range entries {
		events[n] = e.Event
	}
	return events
}

// ring keeps the newest events, bounded in number and in payload bytes.
type ring struct {
	maxEvents, maxBytes int

	events []entry // a circle once it is full
	start  int
	count  int
	bytes  int
}

func (r *ring) add(event entry) {
	if r.events == nil {
		r.events = make([]entry, r.maxEvents)
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
	r.events[r.start] = entry{}
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
func (r *ring) after(seq uint64, limit int) []entry {
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
	page := make([]entry, n)
	for i := range page {
		page[i] = r.events[(r.start+skip+i)%r.maxEvents]
	}
	return page
}
