package discord

import (
	"context"
	"strings"
	"sync"
)

// What a message shows of how far its answer is. The emoji are Unicode's.
const (
	queued  = "⏳"
	running = "👀"
	done    = "✅"
	failed  = "❌"
)

// reactions shows by reactions on people's messages how far the answers are. They are only
// an ornament: what fails is not tried again, and nothing waits for them.
type reactions struct {
	p     *Plugin
	lanes *lanes

	mu    sync.Mutex
	shown map[question]string
}

// set shows a state of a run on its questions, in the place of the one before.
func (r *reactions) set(of record, state string) {
	account := r.p.account.Load()
	if !account.Reactions || account.client == nil {
		return
	}
	for _, on := range of.Questions {
		r.lanes.push(on.Channel, false, func(ctx context.Context) { r.show(ctx, account, on, state) })
	}
}

func (r *reactions) show(ctx context.Context, account *account, on question, state string) {
	r.mu.Lock()
	before, known := r.shown[on]
	switch state {
	case done, failed:
		delete(r.shown, on)
	default:
		r.shown[on] = state
	}
	r.mu.Unlock()
	if before == state {
		return
	}
	old := []string{before}
	if !known && (state == done || state == failed) {
		old = []string{queued, running} // what the process before this one may have shown
	}
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	if err := account.client.React(ctx, on.Channel, on.Message, state); err != nil {
		r.p.host.Log.Debug("a reaction could not be shown", "channel", on.Channel, "err", err)
		return
	}
	for _, emoji := range old {
		if strings.TrimSpace(emoji) == "" {
			continue
		}
		if err := account.client.Unreact(ctx, on.Channel, on.Message, emoji); err != nil {
			r.p.host.Log.Debug("a reaction could not be taken back", "channel", on.Channel, "err", err)
		}
	}
}
