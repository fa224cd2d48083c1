package live

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Events are heard while somebody looks: while a client is connected, and for Limits.Idle after
// the last one has left or a page was made. Otherwise the hub is asleep: the host is told that
// nothing but overheard is wanted, and the hub knows how the turns stood when it fell asleep.
// Who comes first wakes it: from then on all events are told again, and what was published
// meanwhile is read from the host.

// overheard are the events that the plugin is told while the hub is asleep: those of the gate,
// which ends what tokens do that are revoked.
var overheard = []pluginsdk.EventRule{{Types: []string{string(pluginsdk.EventTokenRevoked)}}}

// wakeTime bounds how long the host is asked for what was missed.
const wakeTime = 5 * time.Second

// hearing is what the hub hears. The hub's lock guards it.
type hearing struct {
	awake bool // the position and the turns are followed
	// always says that the host knows no rules for events: it tells all of them, always.
	always bool
	found  bool // Open has found out which of them it is
	used   time.Time
	timer  *time.Timer // looks whether anybody is there; nil: not awake, or closed

	catching bool              // the hub wakes: events that are told are kept
	kept     []pluginsdk.Event // those
}

// settle finds out, once, where the stream stands, and whether the host knows rules: then the
// hub is asleep.
func (h *Hub) settle(ctx context.Context) {
	h.changing <- struct{}{}
	defer func() { <-h.changing }()
	h.mu.Lock()
	found := h.hearing.found
	h.mu.Unlock()
	if found {
		return
	}
	at, always, err := h.listen(ctx, overheard)
	if err != nil {
		h.log.Warn("position in the event stream is not known yet", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hearing.found, h.hearing.always, h.hearing.awake = err == nil, always, always && err == nil
	if !reached(h.position, at) {
		h.position = at
	}
}

// listen has the host tell the events of the rules. It returns the position after which it
// does; always: it tells all, whatever is asked for.
func (h *Hub) listen(ctx context.Context, rules []pluginsdk.EventRule) (at pluginsdk.Position, always bool, err error) {
	answer, err := h.events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: rules})
	if err == nil {
		return answer.Position, false, nil
	}
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		return at, false, err
	}
	page, err := h.events.List(ctx, &pluginsdk.ListEventsRequest{})
	if err != nil {
		return at, true, err
	}
	return page.Next, true, nil
}

// wake has the hub follow the events, as long as somebody looks. After it the position and the
// turns are those of now.
func (h *Hub) wake() error {
	if h.used() {
		return nil
	}
	h.changing <- struct{}{} // who is before has a bounded time
	defer func() { <-h.changing }()
	if h.used() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), wakeTime)
	defer cancel()
	h.mu.Lock()
	since := h.position
	h.hearing.catching = true
	h.mu.Unlock()
	var missed []pluginsdk.Event
	at, always, err := h.listen(ctx, nil)
	if err == nil {
		missed = h.missed(ctx, since, at)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.hearing.kept
	h.hearing.catching, h.hearing.kept = false, nil
	if err != nil {
		h.overhear(kept)
		h.log.Warn("the host does not tell events", "err", err)
		return err
	}
	for _, event := range missed {
		h.follow(event)
	}
	if !reached(h.position, at) {
		h.position = at
	}
	for _, event := range kept {
		h.follow(event)
	}
	h.hearing.found, h.hearing.always, h.hearing.awake = true, always, true
	h.watch()
	return nil
}

// used notes that somebody looks, and reports whether the hub is awake.
func (h *Hub) used() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hearing.used = h.now()
	return h.hearing.awake
}

// missed returns the events between two positions, and those after them that are there
// already. Where not all of them can be had, it begins with a resync.
func (h *Hub) missed(ctx context.Context, since, until pluginsdk.Position) (missed []pluginsdk.Event) {
	lost := pluginsdk.Event{Type: pluginsdk.EventResync, Boot: until.Boot}
	if since == (pluginsdk.Position{}) {
		return []pluginsdk.Event{lost}
	}
	for !reached(since, until) {
		page, err := h.events.List(ctx, &pluginsdk.ListEventsRequest{After: since})
		if err != nil {
			h.log.Warn("what the turns at work have done meanwhile is not known", "err", err)
			return []pluginsdk.Event{lost}
		}
		if page.Resync {
			missed = []pluginsdk.Event{lost}
		}
		missed = append(missed, page.Events...)
		if page.Next == since || len(page.Events) == 0 {
			return missed
		}
		since = page.Next
	}
	return missed
}

// follow takes in an event that no client is to be told of. The lock is held.
func (h *Hub) follow(event pluginsdk.Event) {
	if h.advance(event) {
		h.turns.take(event)
	}
}

// overhear takes in what is told while the hub is asleep: when events were missed, nothing is
// known of the turns any more. The lock is held.
func (h *Hub) overhear(events []pluginsdk.Event) {
	for _, event := range events {
		if event.Type == pluginsdk.EventResync {
			h.follow(event)
		}
	}
}

// watch looks from time to time whether anybody is there. The lock is held.
func (h *Hub) watch() {
	if h.open && h.hearing.awake && !h.hearing.always && h.hearing.timer == nil {
		h.hearing.timer = time.AfterFunc(h.limits.Idle, h.rest)
	}
}

// unwatch ends that. The lock is held.
func (h *Hub) unwatch() {
	if h.hearing.timer != nil {
		h.hearing.timer.Stop()
		h.hearing.timer = nil
	}
}

// rest has the hub fall asleep when nobody is there, and else looks again later.
func (h *Hub) rest() {
	h.changing <- struct{}{}
	defer func() { <-h.changing }()
	h.mu.Lock()
	h.unwatch()
	if len(h.clients) > 0 || h.now().Sub(h.hearing.used) < h.limits.Idle || !h.open || !h.hearing.awake || h.hearing.always {
		h.watch()
		h.mu.Unlock()
		return
	}
	h.hearing.awake = false // before the host is told: what it does not tell any more is missed from here on
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wakeTime)
	defer cancel()
	if _, err := h.events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: overheard}); err != nil {
		h.log.Warn("the host goes on telling events that nobody looks at", "err", err)
	}
}
