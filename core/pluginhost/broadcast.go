package pluginhost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// subscribe starts to deliver events to a version that answers OnBroadcast; v.stopEvents
// ends that.
func (i *Instance) subscribe(v *version) {
	if !v.manifest.Answers(pluginsdk.HookBroadcast) {
		return
	}
	stop := v.hearing.subscribe(i.host.events, i.name, v.heard, func(ctx context.Context, events []pluginsdk.Event) error {
		if events = i.visible(events); len(events) == 0 {
			return nil
		}
		last := events[len(events)-1]
		_, err := ask(ctx, i, v, hooks.Question[pluginsdk.OnBroadcastRequest, pluginsdk.OnBroadcastResponse]{
			Hook: pluginsdk.HookBroadcast, CallID: fmt.Sprintf("broadcast:%s:%d", last.Boot, last.Seq), Ask: hooks.Process.OnBroadcast,
			Request: func(pluginsdk.Call, *pluginsdk.PluginInfo) *pluginsdk.OnBroadcastRequest {
				return &pluginsdk.OnBroadcastRequest{Events: events}
			},
		})
		return err
	})
	v.stopEvents = sync.OnceFunc(func() { v.heard = stop() })
}

// hearing is which events a process is told: those that its manifest names, and of these
// those that match its rules. They are the manifest's until the process names others
// (Host.Events.Listen), which may be before it is subscribed, and they end with it.
type hearing struct {
	mu           sync.Mutex
	begun        bool // the process has said what it is
	answers      bool // it answers OnBroadcast
	tells        Telling
	subscription Subscription // nil: it is not subscribed
}

// begin takes in the manifest of the process, once.
func (h *hearing) begin(m pluginsdk.Manifest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.answers = true, m.Answers(pluginsdk.HookBroadcast)
	h.tells = Telling{Types: m.Events, Rules: m.EventRules, Sources: m.SpeaksFor()}
}

func (h *hearing) subscribe(events Events, name string, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) (stop func() pluginsdk.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscription = events.Subscribe(name, h.tells, after, deliver)
	return h.subscription.Stop
}

// listener replaces the rules of a version. The events of one that is not subscribed yet
// begin after an earlier position than the one that is returned; one whose events have ended
// is told nothing more, whatever its rules are.
func (i *Instance) listener(v *version) func(rules []pluginsdk.EventRule) (pluginsdk.Position, error) {
	return func(rules []pluginsdk.EventRule) (pluginsdk.Position, error) {
		h := &v.hearing
		h.mu.Lock()
		defer h.mu.Unlock()
		switch {
		case !h.begun:
			return pluginsdk.Position{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s has not said what it is yet; listen in Start, or later", i.name)
		case !h.answers:
			return pluginsdk.Position{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the plugin %s does not answer %s, so that it is told no events", i.name, pluginsdk.HookBroadcast)
		}
		h.tells.Rules = rules
		if h.subscription == nil {
			return i.host.events.Position(), nil
		}
		return h.subscription.Listen(rules), nil
	}
}

// takeOver stops the events and the checks of the old version. The new one (v) gets the
// events from where the old one's ended, or from its own, earlier position. It is called
// before enter(v).
func (i *Instance) takeOver(v, old *version) {
	old.stopEvents()
	old.stopChecks()
	if old.manifest.Answers(pluginsdk.HookBroadcast) && old.heard.Seq < v.heard.Seq {
		v.heard = old.heard
	}
}

// visible returns the events that the plugin may see: all of them with the capability
// events.read, else its own, and EventResync, which says that events were missed.
func (i *Instance) visible(events []pluginsdk.Event) []pluginsdk.Event {
	if slices.Contains(i.Info().Granted, pluginsdk.CapEventsRead) {
		return events
	}
	own := i.name + ":"
	return slices.DeleteFunc(slices.Clone(events), func(e pluginsdk.Event) bool {
		return e.Type != pluginsdk.EventResync && !strings.HasPrefix(string(e.Type), own)
	})
}
