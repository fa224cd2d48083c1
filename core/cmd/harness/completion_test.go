package main

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Names of plugins, rights, tools and threads are long: nobody should have to type them.
func TestNamesAreCompleted(t *testing.T) {
	data := isolate(t)
	harness(t, "", "__complete", "plugin", "enable", "").want(t, 0, ":", "") // there is no database
	database := openStore(t, data)
	row := ledger.Plugin{Path: "/nowhere", PluginInfo: pluginsdk.PluginInfo{Name: "greeter"}}
	row.Manifest.Name, row.Manifest.Capabilities = "greeter", []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapMessagesRead, Reason: "greet"}}
	if err := database.RegisterPlugin(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.AddTool(client.Tool{Name: "time__current_time"}, nil)
	t.Setenv("HARNESS_URL", daemon.URL())
	for line, want := range map[string]string{
		"plugin enable gre":          "greeter",
		"plugin info ":               "greeter",
		"plugin settings set ":       "greeter",
		"plugin grant greeter ":      "messages.read\tgreet",
		"tools call t":               "time__current_time",
		"send --thread ":             clienttest.Primary,
		"plugin enable nothing-such": "",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		got := harness(t, "", args...)
		if !strings.HasPrefix(got.out, want) || got.code != 0 || want == "" && !strings.HasPrefix(got.out, ":") {
			t.Errorf("%s: %q; want %q", line, got.out, want)
		}
	}
}
