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

// subscribe begins the version's events.
func (i *Instance) subscribe(v *version) {
	if !v.manifest.Answers(pluginsdk.HookBroadcast) {
		return
	}
	stop := i.host.events.Subscribe(i.name, v.manifest.Events, v.heard, func(ctx context.Context, events []pluginsdk.Event) error {
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

// takeOver ends a version's events, and has the one that replaces it begin where
// they ended, unless it begins earlier. The old one's checks are of no interest any
// more.
func (i *Instance) takeOver(v, old *version) {
	old.stopEvents()
	old.stopChecks()
	if old.manifest.Answers(pluginsdk.HookBroadcast) && old.heard.Seq < v.heard.Seq {
		v.heard = old.heard
	}
}

// visible are the events that the plugin may see: its own, and the others' with
// events.read. That it has missed some is anyone's to know.
func (i *Instance) visible(events []pluginsdk.Event) []pluginsdk.Event {
	if slices.Contains(i.Info().Granted, pluginsdk.CapEventsRead) {
		return events
	}
	own := i.name + ":"
	return slices.DeleteFunc(slices.Clone(events), func(e pluginsdk.Event) bool {
		return e.Type != pluginsdk.EventResync && !strings.HasPrefix(string(e.Type), own)
	})
}
