package operate_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestInfoShowsWhatAPluginHasDone(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Grants: registry.Grants{Capabilities: []string{"messages.read"}}})
	d.upgrade(greeter("2"), registry.Grants{})
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	err := d.store.SavePluginFigures(t.Context(), "greeter", pluginsdk.PluginFigures{
		Calls: 1200, Errors: 7, Timeouts: 2, RSSBytes: 20 << 20, CPUSeconds: 1.25, Processes: 1, Restarts: 3, Since: at, At: at,
		Slow: 4, RowsDropped: 5, HeldBack: 6,
		Host: map[string]pluginsdk.CallFigures{
			"Messages.Append": {Calls: 30, Errors: 6, P50: 300 * time.Microsecond, P99: time.Millisecond}, "Events.List": {Calls: 1},
		},
		Hooks: map[pluginsdk.Hook]pluginsdk.CallFigures{
			pluginsdk.HookCommand: {Calls: 200, Errors: 7, Timeouts: 2, P50: 1500 * time.Microsecond, P99: 2 * time.Second},
			pluginsdk.HookMessage: {Calls: 1000, P50: 120 * time.Microsecond, P99: 900 * time.Microsecond},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.damage("greeter", "evil")
	report, err := d.Report(t.Context(), "greeter")
	if err != nil {
		t.Fatal(err)
	}
	d.out.Reset()
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said("greeter 2", "granted      messages.read\n", "lacks        messages.write, env GREETER_TOKEN; `harness plugin grant greeter messages.write --env GREETER_TOKEN`",
		"earlier      1 (", "20 MiB of memory and 1.2 s of CPU in 1 process, 3 restarts",
		"OnMessage  1000   0       0         120µs  900µs\nOnCommand  200    7       2         1.5ms  2s\nall        1200   7       2",
		"! Runs had to wait for it for more than a second: 4 times\n", "were not: 5; `harness plugin logs greeter` says why\n",
		"over its quotas: 6; `harness plugin limits greeter` shows and sets them\n",
		"ASKED OF THE CORE  CALLS  ERRORS  TIMEOUTS  P50    P99\nEvents.List        1      0       0         0s     0s\nMessages.Append    30     6       0         300µs  1ms\n",
		`! It may not start: the package of greeter was changed after it was installed: "greeter" has other content`)
}

func TestListShowsWhatPluginsNeed(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	err := d.store.EditPluginSettings(t.Context(), "greeter", "test", func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
		return json.RawMessage(`{"word":"hunter2"}`), sealed, "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time", Position: 20}, Path: "/opt/time"})
	rows, err := d.Rows(t.Context())
	if err != nil || rows[0].Settings != nil || rows[0].State != pluginsdk.PluginStopped {
		t.Fatalf("%+v, %v", rows, err)
	}
	d.out.Reset()
	if err := d.Overview(rows); err != nil {
		t.Fatal(err)
	}
	d.said("greeter  stopped   yes      10        1        0         0         messages.read, messages…  -")
}

// An operator who wonders why the agent does not use a tool finds out here, with
// the daemon up or down.
func TestListAndInfoShowWhichToolsTheAgentLacks(t *testing.T) {
	d := newDesk(t)
	here := d.Plugins.(operate.Here)
	here.Tools.Tools = 5 // two are the core's own
	d.Plugins = here
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "greedy", Enabled: true}, Path: "/opt/greedy"}
	for _, name := range []string{"one", "two", "three", "four"} {
		row.Manifest.Tools = append(row.Manifest.Tools, pluginsdk.ToolSpec{Name: name, InputSchema: json.RawMessage("{}")})
	}
	d.register(row)
	rows, err := d.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = "! the agent is offered 3 of the 4 tools of greedy, none from four on: " +
		"there is room for 5 tools and 128 KiB of names, descriptions and schemas of all plugins together"
	d.out.Reset()
	if err := d.Overview(rows); err != nil {
		t.Fatal(err)
	}
	d.said(want)
	report, err := d.Report(t.Context(), "greedy")
	if err != nil {
		t.Fatal(err)
	}
	d.out.Reset()
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said(want)
}
