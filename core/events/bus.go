// Package events is the event bus: sequence numbers, a ring of the newest
// events, and subscribers with bounded queues. Events inform; the database
// decides. Publishing never waits for a subscriber.
package events

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Config holds the bounds of a Bus. Zero fields get defaults.
type Config struct {
	RingEvents int // events kept for Since; default 4096
	RingBytes  int // payload bytes kept for Since; default 8 MiB
	QueueLimit int // events a subscriber may be behind; default 1024
	QueueBytes int // payload bytes a subscriber may be behind; default 16 MiB
	// Thread returns what rules need to know of a thread; false: it cannot be found out. It is
	// asked in the publisher's goroutine, with no lock held, and only while a rule of a
	// subscriber needs it. Nil: nothing is known of threads.
	Thread func(id string) (ThreadLabel, bool)
	// Linger is how long events wait for others to share a call with; default 10 ms. The end of a
	// run does not wait.
	Linger time.Duration
	// Trace, when set, is told of every batch that is given to a subscriber.
	Trace func(ledger.Span)
	Log   *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.RingEvents == 0 {
		c.RingEvents = 4096
	}
	if c.RingBytes == 0 {
		c.RingBytes = 8 << 20
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = 1024
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = 16 << 20
	}
	if c.Linger == 0 {
		c.Linger = 10 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Bus numbers events and hands them to subscribers, in order.
type Bus struct {
	config  Config
	boot    string
	figures *figures

	// asking is how many subscribers have rules for which the labels of threads are needed.
	asking atomic.Int64

	mu   sync.Mutex
	ring ring
	seq  uint64
	subs map[*Subscription]struct{}
}

// New returns a Bus with a boot id of its own.
func New(config Config) *Bus {
	config = config.withDefaults()
	return &Bus{
		config:  config,
		boot:    uuid.NewString(),
		figures: newFigures(),
		ring:    ring{maxEvents: config.RingEvents, maxBytes: config.RingBytes},
		subs:    make(map[*Subscription]struct{}),
	}
}

// Publish broadcasts an event of the core with its payload. threadID is empty
// for events of no thread.
func (b *Bus) Publish(kind pluginsdk.EventType, threadID string, payload any) {
	data, err := json.Marshal(payload)
	if err != nil {
		b.config.Log.Error("event payload cannot be encoded", "event", kind, "err", err)
		return
	}
	stream, _ := payload.(pluginsdk.StreamPayload) // says what Event.Delta would have to read
	b.publish(entry{
		Event: pluginsdk.Event{Type: kind, ThreadID: threadID, Data: data},
		delta: stream.Event.Delta(),
		run:   runOf(payload),
	})
}

// Relay broadcasts an event as it is, but for its position and, when it has
// none, its time.
func (b *Bus) Relay(event pluginsdk.Event) {
	b.publish(entry{Event: event, delta: event.Delta()})
}

func (b *Bus) publish(event entry) {
	if event.Timestamp.IsZero() {
		event.Timestamp = time.Now().UTC()
	}
	event.thread = b.threadOf(event.ThreadID)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	b.figures.published.Add(1)
	event.Boot, event.Seq = b.boot, b.seq
	b.ring.add(event)
	for sub := range b.subs {
		sub.offer(event)
	}
}

// Position returns the position of the newest event.
func (b *Bus) Position() pluginsdk.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return pluginsdk.Position{Boot: b.boot, Seq: b.seq}
}

// Since returns the events after a position that are still kept, at most limit
// (0: 1000). A position of another boot, or one no longer kept, gets Resync.
// The zero position asks for where the stream stands now: no events, Next set.
func (b *Bus) Since(after pluginsdk.Position, limit int) pluginsdk.ListEventsResponse {
	if limit <= 0 || limit > 1000 {
		limit = 1000
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if after == (pluginsdk.Position{}) {
		return pluginsdk.ListEventsResponse{Next: pluginsdk.Position{Boot: b.boot, Seq: b.seq}}
	}
	page := pluginsdk.ListEventsResponse{}
	if !b.keeps(after) {
		page.Resync = true
		after.Seq = b.ring.oldest(b.seq) - 1
	}
	page.Events = eventsOf(b.ring.after(after.Seq, limit))
	page.Next = pluginsdk.Position{Boot: b.boot, Seq: after.Seq}
	if n := len(page.Events); n > 0 {
		page.Next.Seq = page.Events[n-1].Seq
	}
	return page
}

// keeps reports whether every event after the position is still kept. The lock
// is held.
func (b *Bus) keeps(after pluginsdk.Position) bool {
	return after.Boot == b.boot && after.Seq <= b.seq && after.Seq+1 >= b.ring.oldest(b.seq)
}
