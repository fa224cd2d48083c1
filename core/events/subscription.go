package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxBatch and maxBatchBytes bound what one call to a subscriber carries.
	maxBatch      = 256
	maxBatchBytes = 4 << 20
	// retryBase and retryMax are how long a subscriber that failed is left
	// alone; the wait doubles with each failure in a row.
	retryBase = 100 * time.Millisecond
	retryMax  = 30 * time.Second
)

// Deliver hands a batch of events to a subscriber, in order. It is called from
// one goroutine. After an error, or a panic, the subscriber is told that it
// missed events.
type Deliver func(ctx context.Context, events []pluginsdk.Event) error

// Subscription is a subscriber's bounded, ordered queue. When the queue is
// full, stream deltas are lost first; when any other event would be lost, the
// queue is replaced by one EventResync.
type Subscription struct {
	bus     *Bus
	name    string
	wants   selection // the bus's lock guards it
	deliver Deliver
	log     *slog.Logger

	mu    sync.Mutex
	queue []entry
	bytes int           // of the payloads in queue
	wake  chan struct{} // something is queued
	now   chan struct{} // something is queued that must not linger

	cancel context.CancelFunc
	done   chan struct{}
}

// Subscribe starts a subscriber for the events that it selects. It begins with the events
// after a position, as another one's Stop returned it; the zero position is now. One that is
// no longer kept gets an EventResync instead, and what comes then. Stop ends it.
func (b *Bus) Subscribe(name string, wants Selection, after pluginsdk.Position, deliver Deliver) *Subscription {
	ctx, cancel := context.WithCancel(context.Background())
	sub := &Subscription{
		bus:     b,
		name:    name,
		wants:   newSelection(wants),
		deliver: deliver,
		log:     b.config.Log.With("subscriber", name),
		wake:    make(chan struct{}, 1),
		now:     make(chan struct{}, 1),
		cancel:  cancel,
		done:    make(chan struct{}),
	}
	b.mu.Lock()
	if after != (pluginsdk.Position{}) {
		sub.begin(after)
	}
	b.subs[sub] = struct{}{}
	b.count(sub.wants, 1)
	b.mu.Unlock()
	go sub.run(ctx)
	return sub
}

// Listen replaces the rules of the subscriber. It returns where the stream stands: events
// after that are selected by the new rules. What is queued stays queued.
func (s *Subscription) Listen(rules []pluginsdk.EventRule) pluginsdk.Position {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	wants := s.wants.with(rules)
	if _, there := s.bus.subs[s]; there {
		s.bus.count(s.wants, -1)
		s.bus.count(wants, 1)
	}
	s.wants = wants
	return pluginsdk.Position{Boot: s.bus.boot, Seq: s.bus.seq}
}

// begin queues what has happened since a position. The bus's lock is held.
func (s *Subscription) begin(after pluginsdk.Position) {
	b := s.bus
	if !b.keeps(after) {
		s.resync(pluginsdk.Event{Boot: b.boot, Seq: b.seq})
		return
	}
	for _, event := range b.ring.after(after.Seq, b.config.RingEvents) {
		s.offer(event)
	}
}

// missed is a position of no boot: who begins there has missed something.
var missed = pluginsdk.Position{Boot: "-"}

// Stop ends the subscriber and waits for the call under way, whose context it
// cancels. It returns the position after which the subscriber has not had every
// event: another one that begins there misses none, and may get those again
// whose call was under way.
func (s *Subscription) Stop() pluginsdk.Position {
	s.bus.mu.Lock()
	if _, there := s.bus.subs[s]; there {
		delete(s.bus.subs, s)
		s.bus.count(s.wants, -1)
	}
	end := pluginsdk.Position{Boot: s.bus.boot, Seq: s.bus.seq}
	s.bus.mu.Unlock()
	s.cancel()
	<-s.done

	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.queue) == 0:
	case s.queue[0].Type == pluginsdk.EventResync:
		end = missed
	default:
		end.Seq = s.queue[0].Seq - 1
	}
	return end
}

func (s *Subscription) run(ctx context.Context) {
	defer close(s.done)
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.linger(ctx)
		batch := s.take()
		if len(batch) == 0 {
			continue
		}
		if ctx.Err() != nil {
			s.putBack(batch)
			return
		}
		began := time.Now()
		err := guard.Call(s.log, "the delivery of events", func() error { return s.deliver(ctx, eventsOf(batch)) })
		if trace := s.bus.config.Trace; trace != nil {
			trace(ledger.Span{Kind: ledger.SpanEvents, Name: s.name, Began: began, Took: time.Since(began), Count: len(batch)})
		}
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() != nil:
			s.putBack(batch)
			return
		default:
			failures++
			s.log.Warn("events could not be delivered", "events", len(batch), "failures", failures, "err", err)
			s.resync(batch[len(batch)-1].Event)
			s.rest(ctx, failures)
		}
	}
}

// rest leaves a subscriber that failed alone for a while.
func (s *Subscription) rest(ctx context.Context, failures int) {
	timer := time.NewTimer(guard.Backoff{Base: retryBase, Max: retryMax}.After(failures))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// linger waits a moment for more events.
func (s *Subscription) linger(ctx context.Context) {
	timer := time.NewTimer(s.bus.config.Linger)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.now:
	case <-ctx.Done():
	}
}

// offer queues an event. The bus holds its lock, so events arrive in order.
func (s *Subscription) offer(event entry) {
	if !s.wants.passes(event) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full(event) && !s.makeRoom(event) {
		return
	}
	s.queue = append(s.queue, event)
	s.bytes += len(event.Data)
	signal(s.wake)
	if event.Type == pluginsdk.EventPipelineComplete || event.Type == pluginsdk.EventPipelineError {
		signal(s.now)
	}
}

// signal leaves word in a channel of capacity 1.
func signal(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// drain takes word out of a channel of capacity 1.
func drain(channel chan struct{}) {
	select {
	case <-channel:
	default:
	}
}

// full reports whether the event is one too many.
func (s *Subscription) full(event entry) bool {
	return len(s.queue) >= s.bus.config.QueueLimit || (len(s.queue) > 0 && s.bytes+len(event.Data) > s.bus.config.QueueBytes)
}

// makeRoom drops deltas, the offered one included. It reports whether the
// event is still to be queued.
func (s *Subscription) makeRoom(event entry) bool {
	if event.delta {
		s.dropped(1)
		return false
	}
	kept := s.queue[:0]
	s.bytes = 0
	for _, queued := range s.queue {
		if !queued.delta {
			kept = append(kept, queued)
			s.bytes += len(queued.Data)
		}
	}
	s.dropped(len(s.queue) - len(kept))
	clear(s.queue[len(kept):])
	s.queue = kept
	if !s.full(event) {
		return true
	}
	s.log.Warn("subscriber is too slow; it is told to read the database", "lost", len(s.queue))
	s.dropped(len(s.queue))
	s.bus.figures.resyncs.Add(1, s.name)
	s.queue, s.bytes = append(s.queue[:0], resyncAt(event.Event)), 0
	return true
}

// dropped counts events that the subscriber will not get.
func (s *Subscription) dropped(n int) { s.bus.figures.dropped.Add(float64(n), s.name) }

func (s *Subscription) take() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(s.queue), maxBatch) && (n == 0 || bytes+len(s.queue[n].Data) <= maxBatchBytes) {
		bytes += len(s.queue[n].Data)
		n++
	}
	batch := make([]entry, n)
	copy(batch, s.queue)
	s.queue = append(s.queue[:0], s.queue[n:]...)
	s.bytes -= bytes
	// What comes from now on waits for others again; what is left of a backlog does not.
	drain(s.wake)
	drain(s.now)
	if len(s.queue) > 0 {
		signal(s.wake)
		signal(s.now)
	}
	return batch
}

// putBack queues a batch again that was not delivered.
func (s *Subscription) putBack(batch []entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(batch, s.queue...)
}

// resync puts a resync in front of what is queued.
func (s *Subscription) resync(last pluginsdk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bus.figures.resyncs.Add(1, s.name)
	if len(s.queue) == 0 || s.queue[0].Type != pluginsdk.EventResync {
		s.queue = append([]entry{resyncAt(last)}, s.queue...)
	}
	signal(s.wake)
}

func resyncAt(event pluginsdk.Event) entry {
	return entry{Event: pluginsdk.Event{
		Type: pluginsdk.EventResync, Timestamp: time.Now().UTC(),
		Boot: event.Boot, Seq: event.Seq,
	}}
}
