package events

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who sees gaps in what the agent says finds out whether it was the bus, and for whom.
func TestWhatASubscriberLosesIsCounted(t *testing.T) {
	bus := New(Config{QueueLimit: 2})
	sub := &Subscription{bus: bus, name: "slow", log: bus.config.Log, wake: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	bus.subs[sub] = struct{}{}
	for range 2 {
		bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
		bus.Publish(pluginsdk.EventPipelineStream, "t", stream(pluginsdk.StreamTextDelta))
	}
	// The first piece of output made room for the second start, the others found none; for
	// the third start those before it go.
	bus.Publish(pluginsdk.EventPipelineStream, "t", stream(pluginsdk.StreamTextDelta))
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	got := make(map[string]float64)
	for _, figure := range bus.Figures() {
		for _, sample := range figure.Samples {
			got[figure.Name+sample.Labels["subscriber"]] = sample.Value
		}
	}
	want := map[string]float64{"harness_events_published_total": 6, "harness_events_dropped_totalslow": 5, "harness_event_resyncs_totalslow": 1}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
}
