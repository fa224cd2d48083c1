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
	file := daemon.AddFile(pluginsdk.File{Name: "plan.pdf"}, "x")
	daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "busy", Description: "what a message does", Options: []pluginsdk.CommandOption{
		{Name: "wake", Type: pluginsdk.OptionChoice, Choices: []string{"no", "yes"}, Named: true}, {Name: "dir", Type: pluginsdk.OptionText, Named: true},
		{Name: "mode", Type: pluginsdk.OptionChoice, Choices: []string{"queue", "steer"}}, {Name: "when", Type: pluginsdk.OptionChoice, Choices: []string{"now"}},
	}}})
	t.Setenv("HARNESS_URL", daemon.URL())
	for line, want := range map[string]string{
		"plugin enable gre":          "greeter",
		"plugin info ":               "greeter",
		"plugin settings set ":       "greeter",
		"plugin grant greeter ":      "messages.read\tgreet",
		"tools call t":               "time__current_time",
		"send --thread ":             clienttest.Primary,
		"send /b":                    "/busy\twhat a message does",
		"send /busy s":               "steer",
		"send /busy w":               "wake=no\nwake=yes",
		"send /busy dir=x q":         "queue",
		"send /busy queue ":          "wake=no\nwake=yes\ndir=\nnow",
		"send /busy queue now ":      "wake=no\nwake=yes\ndir=\n:",
		"send /nothing ":             ":",
		"file get ":                  file + "\tplan.pdf",
		"plugin enable nothing-such": "",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		got := harness(t, "", args...)
		if !strings.HasPrefix(got.out, want) || got.code != 0 || want == "" && !strings.HasPrefix(got.out, ":") {
			t.Errorf("%s: %q; want %q", line, got.out, want)
		}
	}
}
