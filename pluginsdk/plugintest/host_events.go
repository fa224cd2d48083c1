package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// boot is the boot id of a Host's events.
const boot = "plugintest"

type events struct{ h *Host }

// Events returns what was published.
func (h *Host) Events() []pluginsdk.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (s events) Publish(ctx context.Context, event pluginsdk.Event) error {
	leave, err := s.h.enter(ctx, "Events.Publish")
	if err != nil {
		return err
	}
	defer leave()
	event.Boot, event.Seq, event.Timestamp = boot, uint64(len(s.h.events))+1, now()
	s.h.events = append(s.h.events, event)
	return nil
}

func (s events) Since(ctx context.Context, position pluginsdk.Position, limit int) (pluginsdk.EventPage, error) {
	leave, err := s.h.enter(ctx, "Events.Since")
	if err != nil {
		return pluginsdk.EventPage{}, err
	}
	defer leave()
	answer := pluginsdk.EventPage{Resync: position.Boot != boot && position != (pluginsdk.Position{})}
	if answer.Resync {
		position = pluginsdk.Position{}
	}
	if limit <= 0 {
		limit = 1000
	}
	answer.Events = page(filter(s.h.events, func(e pluginsdk.Event) bool { return e.Seq > position.Seq }), limit)
	answer.Next = pluginsdk.Position{Boot: boot, Seq: position.Seq}
	if n := len(answer.Events); n > 0 {
		answer.Next.Seq = answer.Events[n-1].Seq
	}
	return answer, nil
}
