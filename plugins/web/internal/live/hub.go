// Package live streams events to WebSocket clients, and knows what the turns that are at work
// have done so far.
package live

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Limits bound what clients may cost. Zero fields get defaults.
type Limits struct {
	Clients      int           // connections at a time; default 256
	QueueFrames  int           // events a client may be behind; default 2048
	QueueBytes   int           // bytes a client may be behind; default 8 MiB
	WriteTimeout time.Duration // for one frame; default 10 s
	PingInterval time.Duration // default 25 s
	PongTimeout  time.Duration // without a word from the client; default 60 s
	CloseGrace   time.Duration // from the close frame to the end; default 2 s
	Idle         time.Duration // events are heard so long after somebody has looked; default 1 min
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Clients:      or(l.Clients, 256),
		QueueFrames:  or(l.QueueFrames, 2048),
		QueueBytes:   or(l.QueueBytes, 8<<20),
		WriteTimeout: or(l.WriteTimeout, 10*time.Second),
		PingInterval: or(l.PingInterval, 25*time.Second),
		PongTimeout:  or(l.PongTimeout, 60*time.Second),
		CloseGrace:   or(l.CloseGrace, 2*time.Second),
		Idle:         or(l.Idle, time.Minute),
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Hub fans events out to its clients. Broadcast never waits for a client.
type Hub struct {
	events pluginsdk.Events
	limits Limits
	log    *slog.Logger
	now    func() time.Time

	changing chan struct{} // of capacity 1: held by who changes what is heard

	mu       sync.Mutex
	open     bool
	clients  map[*client]struct{}
	position pluginsdk.Position // of the newest event known
	turns    turns              // as they stand at position
	hearing  hearing
	serving  sync.WaitGroup
}

// NewHub returns a Hub that takes no clients until Open.
func NewHub(events pluginsdk.Events, limits Limits, log *slog.Logger) *Hub {
	return &Hub{
		events: events, limits: limits.withDefaults(), log: log, now: time.Now,
		changing: make(chan struct{}, 1), clients: make(map[*client]struct{}),
	}
}

// Open lets clients in.
func (h *Hub) Open(ctx context.Context) {
	h.settle(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	h.watch()
}

// Close sends clients away with 1001 (going away) and waits for them, until ctx
// is done or the grace for closing is over; then it cuts them off.
func (h *Hub) Close(ctx context.Context) {
	h.mu.Lock()
	h.open = false
	h.unwatch()
	for c := range h.clients {
		c.end(websocket.CloseGoingAway, "the server is stopping; reconnect with boot and seq")
	}
	h.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, h.limits.CloseGrace)
	defer cancel()
	stop := context.AfterFunc(ctx, h.cutOff)
	defer stop()
	h.serving.Wait()
}

func (h *Hub) cutOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.cutOff()
	}
}

// Broadcast queues events for the clients that want them, and follows the turns that they
// tell of. An event that is known already is dropped. While nobody looks, all are.
func (h *Hub) Broadcast(events []pluginsdk.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.hearing.catching:
		h.hearing.kept = append(h.hearing.kept, events...)
		return
	case !h.hearing.awake:
		h.overhear(events)
		return
	}
	for _, event := range events {
		if !h.advance(event) {
			continue
		}
		h.turns.take(event)
		if len(h.clients) > 0 {
			h.fanOut(event)
		}
	}
	for c := range h.clients {
		c.queue.signal()
	}
}

// advance moves the position to the event, and reports whether the event is to
// be passed on. A resync always is: it says what was missed, wherever it stands.
func (h *Hub) advance(event pluginsdk.Event) bool {
	at := pluginsdk.Position{Boot: event.Boot, Seq: event.Seq}
	if reached(h.position, at) {
		return event.Type == pluginsdk.EventResync
	}
	if at.Boot != "" {
		h.position = at
	}
	return true
}

func (h *Hub) fanOut(event pluginsdk.Event) {
	f, err := newFrame(event)
	if err != nil {
		h.log.Error("event cannot be encoded", "event", event.Type, "seq", event.Seq, "err", err)
		return
	}
	for c := range h.clients {
		if c.wants.passes(f) && !c.queue.push(f) {
			c.end(websocket.CloseTryAgainLater, "too slow, reconnect with boot & seq")
		}
	}
}

var (
	errClosed = errors.New("the server is stopping")
	errFull   = errors.New("too many WebSocket connections are open; close one")
	errDeaf   = errors.New("the daemon does not tell events at the moment; try again")
	errAsleep = errors.New("the hub has fallen asleep")
)

// enter wakes the hub, and lets a client in.
func (h *Hub) enter(c *client) (pluginsdk.Position, error) {
	for {
		if h.wake() != nil {
			return pluginsdk.Position{}, errDeaf
		}
		if joined, err := h.add(c); !errors.Is(err, errAsleep) {
			return joined, err
		}
	}
}

// add lets a client in. Every event after the position that it returns will be
// queued for the client.
func (h *Hub) add(c *client) (pluginsdk.Position, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		return pluginsdk.Position{}, errClosed
	}
	if len(h.clients) >= h.limits.Clients {
		return pluginsdk.Position{}, errFull
	}
	if !h.hearing.awake {
		return pluginsdk.Position{}, errAsleep
	}
	h.clients[c] = struct{}{}
	h.serving.Add(1)
	return h.position, nil
}

func (h *Hub) remove(c *client) {
	h.mu.Lock()
	delete(h.clients, c)
	h.hearing.used = h.now()
	h.mu.Unlock()
	h.serving.Done()
}
