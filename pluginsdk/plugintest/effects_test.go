package plugintest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A test sees over gRPC what a hook does to its run, and what becomes of it.
func TestEffectsOfAHookAreStoredOnce(t *testing.T) {
	host := plugintest.NewHost()
	plugin := plugintest.Serve(t, newEverything(), host.SDK())
	able := manifest("everything", pluginsdk.CapMessagesWrite, pluginsdk.CapMetricsWrite)
	for attempt := range 2 {
		answer := must(plugin.OnMessage(t.Context(), &pluginsdk.OnMessageRequest{Call: pluginsdk.Call{RunID: "R", Attempt: attempt + 1}}))
		applied := host.Apply(able, "R", "T", answer.Effects)
		if applied.Known != (attempt > 0) || applied.Dropped != nil {
			t.Errorf("attempt %d: %+v", attempt+1, applied)
		}
	}
	rows, metrics := host.Messages("T"), host.Metrics()
	if len(rows) != 1 || rows[0].Key != "R/everything/OnMessage" || rows[0].RunID != "R" || rows[0].Plugin != "everything" {
		t.Errorf("rows %+v", rows)
	}
	if len(metrics) != 1 || metrics[0].Plugin != "everything" || metrics[0].Tags["hook"] != "OnMessage" {
		t.Errorf("metrics %+v", metrics)
	}
	answer := must(plugin.OnMessage(t.Context(), &pluginsdk.OnMessageRequest{}))
	if applied := host.Apply(able, "another run", "T", answer.Effects); applied.Known || len(host.Messages("T")) != 2 {
		t.Errorf("of another run: %+v", applied)
	}
}

// What the daemon would leave out, a test has to see.
func TestWhatIsNoEffectIsDropped(t *testing.T) {
	status := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus}
	able := manifest("p", pluginsdk.CapMessagesWrite, pluginsdk.CapMetricsWrite)
	for _, row := range []struct {
		name     string
		manifest pluginsdk.Manifest
		effects  pluginsdk.Effects
		dropped  string
		stored   int
	}{
		{"no key", able, pluginsdk.Effects{Rows: []pluginsdk.NewMessage{status}}, "no key", 0},
		{"a text", able, pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{{Kind: pluginsdk.MessageText}, status}}, "row 0: kind: \"text\" is not accepted in effects", 1},
		{"no capability for rows", manifest("p"), pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{status}}, "messages.write", 0},
		{"no capability for metrics", manifest("p"), pluginsdk.Effects{Key: "k", Metrics: []pluginsdk.NewMetric{{Name: "n"}}}, "metrics.write", 0},
		{"all well", able, pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{status, status}, Metrics: []pluginsdk.NewMetric{{Name: "n"}, {Name: "n"}}}, "", 4},
	} {
		host := plugintest.NewHost()
		applied := host.Apply(row.manifest, "R", "T", &row.effects)
		if got := fmt.Sprint(applied.Dropped); !strings.Contains(got, row.dropped) || (row.dropped == "") != (applied.Dropped == nil) {
			t.Errorf("%s: dropped %s", row.name, got)
		}
		if got := len(host.Messages("T")) + len(host.Metrics()); got != row.stored || got != len(applied.Rows)+len(applied.Metrics) {
			t.Errorf("%s: %d stored", row.name, got)
		}
	}
	if applied := plugintest.NewHost().Apply(able, "R", "T", nil); applied.Known || applied.Dropped != nil {
		t.Errorf("nil: %+v", applied)
	}
}
