package clock

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What the daemon sees, over the wire.
func TestOverTheWire(t *testing.T) {
	plugin := plugintest.Serve(t, &Plugin{Now: func() time.Time { return instant }},
		pluginsdk.Host{Settings: settingsOf(`{"timezone":"UTC"}`)})
	got, err := plugin.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{Call: pluginsdk.Call{ID: "C"}, Prompt: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Current time: Friday, 2025-11-21 23:05:09 (UTC, UTC+00:00)\n\n---\n\nhello"; *got.Prompt != want {
		t.Errorf("got %q; want %q", *got.Prompt, want)
	}
	wrong, err := plugintest.New(t, new(Plugin), pluginsdk.Host{Settings: settingsOf(`{"timezone":"Mars/Olympus"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "Mars/Olympus") {
		t.Errorf("Start with an unknown zone: %v", err)
	}
}
