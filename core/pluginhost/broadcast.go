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
