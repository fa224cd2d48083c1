package discord

import (
	"context"
	"slices"
	"sync"
	"time"
)

// What a message shows of how far its answer is. The emoji are Unicode's.
const (
	queued  = "⏳"
	running = "👀"
	done    = "✅"
	failed  = "❌"
)

const (
	queuedAfter = 2 * time.Second // from a question to the sign that it waits
	mostShown   = 1000            // messages of which is remembered what they show
)

// reactions shows by reactions on people's messages how far the answers are. They are only
// an ornament: what fails is not tried again, and nothing waits for them. What was
// overtaken before its turn came is not shown.
type reactions struct {
	p     *Plugin
	lanes *lanes

	mu     sync.Mutex
	wanted map[question]string // what is to be shown next
	shown  map[question]string
}

// bare notes that questions that were asked just now show nothing yet. It is called before their
// run's record is stored: from then on events of the run are shown.
func (r *reactions) bare(questions []question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, on := range questions {
		r.shown[on] += ""
	}
}

// waits shows that a run waits, if it has not begun after a moment.
func (r *reactions) waits(run string) {
	if _, ok := r.p.runs.cached(run); !ok || !r.p.account.Load().Reactions {
		return
	}
	time.AfterFunc(queuedAfter, func() {
		if of, ok := r.p.runs.cached(run); ok && !of.begun && !of.ends {
			r.set(of, queued)
		}
	})
}

// set shows a state of a run on its questions, in the place of the one before.
func (r *reactions) set(of record, state string) {
	account := r.p.account.Load()
	if !account.Reactions || account.client == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, on := range of.Questions {
		_, waits := r.wanted[on]
		if waits || r.lanes.push(on.Channel, false, func(ctx context.Context) { r.show(ctx, account, on) }) {
			r.wanted[on] = state
		}
	}
}

// show shows what is wanted on a message.
func (r *reactions) show(ctx context.Context, account *account, on question) {
	old := r.next(on)
	if old == nil || old[0] == queued && r.p.connected() == nil { // another process shows by now what waits
		return
	}
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	if err := account.client.React(ctx, on.Channel, on.Message, old[0]); err != nil {
		r.p.host.Log.Debug("a reaction could not be shown", "channel", on.Channel, "err", err)
		return
	}
	for _, emoji := range old[1:] {
		if err := account.client.Unreact(ctx, on.Channel, on.Message, emoji); err != nil {
			r.p.host.Log.Debug("a reaction could not be taken back", "channel", on.Channel, "err", err)
		}
	}
}

// next is what is to be shown on a message, and behind it what is to be taken away; nil:
// it shows that already.
func (r *reactions) next(on question) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.wanted[on]
	before, known := r.shown[on]
	delete(r.wanted, on)
	final := state == done || state == failed
	if len(r.shown) >= mostShown {
		clear(r.shown)
	}
	if r.shown[on] = state; final {
		delete(r.shown, on)
	}
	switch {
	case before == state:
		return nil
	case known && before != "":
		return []string{state, before}
	case known:
		return []string{state}
	}
	// What the process before this one may have shown goes.
	return append([]string{state}, slices.DeleteFunc([]string{queued, running}, func(other string) bool { return other == state })...)
}
