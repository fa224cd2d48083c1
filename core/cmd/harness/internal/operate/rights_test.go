package operate_test

import (
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestGrantAndRevoke(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	type caps = []pluginsdk.Capability
	for _, step := range []struct {
		do     func() error
		want   caps
		env    []string
		action string
	}{
		{func() error {
			return d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"messages.write"}}})
		}, caps{"messages.write"}, nil, "plugin.grant"},
		{func() error {
			return d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{AllCapabilities: true, AllEnv: true}})
		}, caps{"messages.write", "messages.read"}, []string{"GREETER_TOKEN"}, "plugin.grant"},
		{func() error {
			return d.Revoke(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"messages.write"}, Env: []string{"GREETER_TOKEN"}}})
		}, caps{"messages.read"}, nil, "plugin.revoke"},
		{func() error {
			return d.Revoke(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{AllCapabilities: true, AllEnv: true}})
		}, nil, nil, "plugin.revoke"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		row := d.row("greeter")
		same(t, "granted", row.Granted, step.want)
		same(t, "environment", row.GrantedEnv, step.env)
		if actions := d.actions(); actions[len(actions)-1] != step.action {
			t.Errorf("audit: %v", actions)
		}
	}
	d.said("It also wants, and has not: messages.read, env GREETER_TOKEN.", "messages.write, env GREETER_TOKEN was taken from greeter")
	refused(t, d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{}}), "name what is to be granted", "messages.read, messages.write, env GREETER_TOKEN")
	refused(t, d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"plugins.admin"}}}), "does not ask for plugins.admin")
	refused(t, d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"message.read"}}}), `knows no capability "message.read"`)
	refused(t, d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Env: []string{"HOME"}}}), "does not ask for the environment variable HOME")
	refused(t, d.Revoke(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"messages.read"}}}), "does not have messages.read")
}

// A plugin of the daemon's directory that has never run has not said what it
// wants; an operator can grant it what they know that it needs.
func TestAPluginThatHasNeverRunCanBeGrantedWhatThisVersionKnows(t *testing.T) {
	d := newDesk(t)
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "mine"}, Path: "/opt/mine"})
	if err := d.Grant(t.Context(), registry.GrantRequest{Name: "mine", Grants: registry.Grants{Capabilities: []string{"state"}}}); err != nil {
		t.Error(err)
	}
	refused(t, d.Grant(t.Context(), registry.GrantRequest{Name: "mine", Grants: registry.Grants{Capabilities: []string{"everything"}}}), "knows no capability")
}

func TestCommandsBelongToOnePlugin(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	other := greeter("1")
	other.Name = "other"
	d.install(other, registry.InstallRequest{})
	refused(t, d.Enable(t.Context(), "other", false), "other declares /greet, which greeter has", "--force", "harness plugin order")
	if d.row("other").Enabled {
		t.Error("it was enabled")
	}
	if err := d.Enable(t.Context(), "other", true); err != nil || !d.row("other").Enabled {
		t.Errorf("with force: %v", err)
	}
	report, err := d.Report(t.Context(), "other")
	if err != nil || len(report.Conflicts) != 1 {
		t.Errorf("%v, %v", report.Conflicts, err)
	}
	if err := d.Disable(t.Context(), "greeter"); err != nil {
		t.Fatal(err)
	}
	if err := d.Enable(t.Context(), "other", false); err != nil {
		t.Errorf("with the other one off: %v", err)
	}
	stops := greeter("1")
	stops.Name, stops.Commands[0].Name = "stops", "stop"
	d.install(stops, registry.InstallRequest{})
	refused(t, d.Enable(t.Context(), "stops", true), "stops declares /stop, which the core answers")
}

func TestEnableEndsAQuarantine(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	if err := d.store.SetPluginQuarantine(t.Context(), "greeter", "it failed 5 times\nIts log ends with:\nerror\x1b[2J   no token"); err != nil {
		t.Fatal(err)
	}
	report, err := d.Report(t.Context(), "greeter")
	if err != nil || report.State != pluginsdk.PluginQuarantined {
		t.Fatalf("%s, %v", report.State, err)
	}
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said("quarantined, enabled", "  it failed 5 times\n", "  error[2J   no token\n", "`harness plugin enable greeter`")
	if err := d.Enable(t.Context(), "greeter", false); err != nil || d.row("greeter").Quarantine != "" {
		t.Errorf("%v; %q", err, d.row("greeter").Quarantine)
	}
}

func TestOrder(t *testing.T) {
	d := newDesk(t)
	for n, name := range []string{"a", "b", "c", "d", "e"} {
		d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name, Position: n}, Path: "/opt/" + name})
	}
	for _, step := range []struct {
		words []string
		want  string
	}{
		{[]string{"e", "before", "b"}, "a e b c d"},
		{[]string{"a", "after", "d"}, "e b c d a"},
		{[]string{"a", "e"}, "a b c d e"},
		{[]string{"d", "b", "a"}, "d b c a e"},
		{[]string{"a", "b", "c", "d", "e"}, "a b c d e"},
		{[]string{"a", "after", "b"}, "b a c d e"},
	} {
		if err := d.Order(t.Context(), step.words); err != nil {
			t.Fatal(err)
		}
		rows, err := d.store.Plugins(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for n, row := range rows {
			got += " " + row.Name
			if row.Position != (n+1)*10 {
				t.Errorf("%s has the position %d", row.Name, row.Position)
			}
		}
		if got != " "+step.want {
			t.Errorf("%v: %s, want %s", step.words, got, step.want)
		}
	}
	refused(t, d.Order(t.Context(), []string{"a", "before", "z"}), `there is no plugin "z"`)
	refused(t, d.Order(t.Context(), []string{"a", "before", "a"}), "a is named twice")
	refused(t, d.Order(t.Context(), []string{"a", "b", "a", "c"}), "a is named twice")
}

func TestLimits(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	if err := d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "200MB", CPU: "50", Processes: "20", OpenFiles: "256"}); err != nil {
		t.Fatal(err)
	}
	if got, want := d.row("greeter").Limits, (pluginsdk.PluginLimits{MemoryBytes: 200_000_000, CPUPercent: 50, Processes: 20, OpenFiles: 256}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "0", CPU: "default"}); err != nil {
		t.Fatal(err)
	}
	if got, want := d.row("greeter").Limits, (pluginsdk.PluginLimits{MemoryBytes: -1, Processes: 20, OpenFiles: 256}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	d.out.Reset()
	if err := d.SetLimits(t.Context(), "greeter", operate.Limits{}); err != nil {
		t.Fatal(err)
	}
	d.said("greeter: memory no limit, CPU default, processes 20, open files 256; calls a minute default, ")
	for _, limits := range []operate.Limits{
		{Memory: "much"}, {CPU: "-5"}, {Processes: "1.5"}, {OpenFiles: "99999999999"},
		{CallsPerMinute: "1k"}, {RowsPerMinute: "-1"}, {BytesPerMinute: "64 lines"}, {Stored: "-1"},
	} {
		refused(t, d.SetLimits(t.Context(), "greeter", limits), "is not accepted; it takes")
	}
	// Who means megabytes would have a plugin that cannot start.
	before := d.row("greeter").Limits
	refused(t, d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "10"}), "--memory: 10 of what?", "10MiB")
	refused(t, d.SetLimits(t.Context(), "greeter", operate.Limits{Stored: "2000"}), "--stored: 2000 of what?")
	refused(t, d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "10KB"}), "in 10 kB no plugin can run; the least is 4.0 MiB")
	if got := d.row("greeter").Limits; got != before {
		t.Errorf("refused, and stored: %+v", got)
	}
}

// An operator whose dashboard is refused calls must be able to allow it more, and see
// what it is allowed.
func TestQuotas(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	err := d.SetLimits(t.Context(), "greeter", operate.Limits{CallsPerMinute: "6000", RowsPerMinute: "0", BytesPerMinute: "64MiB", Stored: "2GiB"})
	if err != nil {
		t.Fatal(err)
	}
	want := pluginsdk.PluginLimits{CallsPerMinute: 6000, RowsPerMinute: -1, BytesPerMinute: 64 << 20, StoredBytes: 2 << 30}
	if got := d.row("greeter").Limits; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	const said = "calls a minute 6000, rows a minute no limit, bytes a minute 64 MiB, stored 2.0 GiB"
	d.said("; " + said + "; from the daemon's next start on")
	if err := d.SetLimits(t.Context(), "greeter", operate.Limits{Stored: "default", CPU: "50"}); err != nil {
		t.Fatal(err)
	}
	if got := d.row("greeter").Limits; got.StoredBytes != 0 || got.CallsPerMinute != 6000 || got.CPUPercent != 50 {
		t.Errorf("%+v", got)
	}
	report, err := d.Report(t.Context(), "greeter")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said("quotas       calls a minute 6000, rows a minute no limit, bytes a minute 64 MiB, stored default")
}

// Of two plugins with one source the second is not heard: whoever turns it on must
// know, also while the first is off.
func TestASourceOfAnotherPluginIsRefused(t *testing.T) {
	d := newDesk(t)
	first, second := greeter("1"), greeter("1")
	first.Sources = []string{"greetings"}
	second.Name, second.Sources, second.Commands = "other", []string{"other", "greetings"}, []pluginsdk.CommandSpec{{Name: "other"}}
	d.install(first, registry.InstallRequest{})
	refused(t, d.Install(t.Context(), registry.InstallRequest{Source: d.source(second, "x"), Enable: true}), "other declares the source greetings, which greeter has")
	d.install(second, registry.InstallRequest{})
	refused(t, d.Enable(t.Context(), "other", false), "other declares the source greetings, which greeter has", "--force", "harness plugin order")
	report, err := d.Report(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "conflicts", report.Conflicts, []string{"the source greetings is greeter's"})
	if err := d.Enable(t.Context(), "other", true); err != nil {
		t.Errorf("with force: %v", err)
	}
	refused(t, d.Enable(t.Context(), "greeter", false), "greeter declares the source greetings, which other has")
}
