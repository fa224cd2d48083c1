package plugintest

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// boot is the boot id of a Host's events.
const boot = "plugintest"

type events struct{ view }

// Events returns what was published.
func (h *Host) Events() []pluginsdk.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (s events) Publish(ctx context.Context, request *pluginsdk.PublishEventRequest) (*pluginsdk.PublishEventResponse, error) {
	leave, err := s.h.enter(ctx, "Events.Publish")
	if err != nil {
		return nil, err
	}
	defer leave()
	event := pluginsdk.Event{Type: request.Type, ThreadID: request.ThreadID, Data: request.Data}
	if own := s.manifest.Name + ":"; !s.any && !strings.HasPrefix(string(event.Type), own) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "event %q: a plugin publishes only events whose type begins with %s", event.Type, own)
	}
	event.Boot, event.Seq, event.Timestamp = boot, uint64(len(s.h.events))+1, now()
	s.h.events = append(s.h.events, event)
	return &pluginsdk.PublishEventResponse{}, nil
}

// Listening returns the rules of the last Events.Listen, and whether there was one.
func (h *Host) Listening() (rules []pluginsdk.EventRule, listened bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listening == nil {
		return nil, false
	}
	return slices.Clone(*h.listening), true
}

// Listen keeps the rules for Listening. The host tells nothing by itself.
func (s events) Listen(ctx context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	leave, err := s.h.enter(ctx, "Events.Listen")
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := pluginsdk.CheckEventRules(request.Rules); err != nil {
		return nil, err
	}
	rules := slices.Clone(request.Rules)
	s.h.listening = &rules
	return &pluginsdk.ListenEventsResponse{Position: pluginsdk.Position{Boot: boot, Seq: uint64(len(s.h.events))}}, nil
}

func (s events) List(ctx context.Context, request *pluginsdk.ListEventsRequest) (*pluginsdk.ListEventsResponse, error) {
	leave, err := s.h.enter(ctx, "Events.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	position, limit := request.After, request.Limit
	answer := &pluginsdk.ListEventsResponse{Resync: position.Boot != boot && position != (pluginsdk.Position{})}
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
