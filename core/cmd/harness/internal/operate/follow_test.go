package operate_test

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// follows makes the daemon one that is up, and that has the plugin in one state
// after another, one at each look.
func (d *desk) follows(states ...pluginsdk.PluginInfo) {
	d.Running = func() bool {
		if len(states) > 0 {
			next := states[0]
			states = states[1:]
			if err := d.Store.SavePluginState(d.t.Context(), "greeter", ledger.SeenOf(next)); err != nil {
				d.t.Error(err)
			}
		}
		return true
	}
}

// Who turns a plugin on is told when it serves: what they do next needs it.
func TestEnableWaitsUntilThePluginServes(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), operate.Install{})
	d.follows(pluginsdk.PluginInfo{State: pluginsdk.PluginDisabled}, pluginsdk.PluginInfo{State: pluginsdk.PluginStarting},
		pluginsdk.PluginInfo{State: pluginsdk.PluginServing})
	if err := d.Enable(t.Context(), "greeter", false); err != nil || !strings.HasSuffix(d.out.String(), "greeter is enabled, and serves.\n") {
		t.Errorf("%v, %s", err, d.out.String())
	}
	d.follows(pluginsdk.PluginInfo{State: pluginsdk.PluginServing}, pluginsdk.PluginInfo{State: pluginsdk.PluginDisabled})
	if err := d.Disable(t.Context(), "greeter"); err != nil || !strings.HasSuffix(d.out.String(), "greeter is disabled, and has ended.\n") {
		t.Errorf("%v, %s", err, d.out.String())
	}
}

// One that cannot start is no success, whatever the row says; but what is in the
// row from the last time is no answer to this one.
func TestEnableSaysThatAPluginDoesNotServe(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), operate.Install{})
	old := pluginsdk.PluginInfo{State: pluginsdk.PluginQuarantined, LastError: "it was bad", Restarts: 5}
	if err := d.Store.SavePluginState(t.Context(), "greeter", ledger.SeenOf(old)); err != nil {
		t.Fatal(err)
	}
	d.follows(old, pluginsdk.PluginInfo{State: pluginsdk.PluginBackoff, LastError: "activate: no port\nto be had", Restarts: 5})
	err := d.Enable(t.Context(), "greeter", false)
	want := "greeter is enabled, but it does not serve (it is backoff): activate: no port to be had"
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if !d.row("greeter").Enabled {
		t.Error("it is not enabled")
	}
}

// What a plugin failed with once is not why it does not serve now; and where
// nothing new is tried, there is nothing to wait for.
func TestEnableBlamesNoOldFault(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), operate.Install{})
	failed := pluginsdk.PluginInfo{State: pluginsdk.PluginFailed, LastError: "its file has changed"}
	d.follows(pluginsdk.PluginInfo{State: pluginsdk.PluginStarting}, failed)
	if err := d.Enable(t.Context(), "greeter", false); err == nil || !strings.Contains(err.Error(), "(it is failed): its file has changed") {
		t.Errorf("the first time: %v", err)
	}
	d.follows(failed)
	if err := d.Enable(t.Context(), "greeter", false); err == nil || !strings.Contains(err.Error(), "(it is failed): its file has changed") {
		t.Errorf("once more: %v", err)
	}
}

// A daemon that ends meanwhile has followed nothing.
func TestEnableWhileTheDaemonEnds(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), operate.Install{})
	looks := 0
	d.Running = func() bool { looks++; return looks < 3 }
	if err := d.Enable(t.Context(), "greeter", false); err != nil || !strings.HasSuffix(d.out.String(), "greeter is enabled; from the daemon's next start on.\n") {
		t.Errorf("%v, %s", err, d.out.String())
	}
}

// An upgrade whose new version cannot take over must not look like one that did.
func TestUpgradeSaysWhichVersionServes(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), operate.Install{Enable: true})
	serves := func(seen *ledger.PluginSeen, pin string) { seen.Serving = pin }
	refuses := func(seen *ledger.PluginSeen, pin string) { seen.Rejected, seen.LastError = pin, "no port" }

	d.followsLate(serves)
	if err := d.Upgrade(t.Context(), "greeter", operate.Upgrade{Source: d.source(greeter("2"), "2")}); err != nil {
		t.Fatal(err)
	}
	d.said("greeter is version 2 now, was 1, and serves.")

	d.followsLate(refuses)
	err := d.Upgrade(t.Context(), "greeter", operate.Upgrade{Source: d.source(greeter("3"), "3")})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err.Error() != "greeter is version 3 now, was 2, but that does not take over: no port" {
		t.Errorf("error is %v", err)
	}
	d.out.Reset()
	report, err := d.Report(t.Context(), "greeter")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said("still 2 (", "; the one that was to take over could not")

	d.followsLate(serves)
	if err := d.Rollback(t.Context(), "greeter", ""); err != nil {
		t.Fatal(err)
	}
	d.said("greeter is version 2 now, was 3, and serves.")
	d.followsLate(refuses) // again: what was noted of the first time is no answer
	if err := d.Rollback(t.Context(), "greeter", "3"); err == nil {
		t.Error("it went back to a version that does not serve")
	}
}

// followsLate makes the daemon one that is up, and that has followed at the
// third look.
func (d *desk) followsLate(how func(seen *ledger.PluginSeen, pin string)) {
	looks := 0
	d.Running = func() bool {
		if looks++; looks != 3 {
			return true
		}
		row := d.row("greeter")
		seen := ledger.SeenOf(row)
		seen.State = pluginsdk.PluginServing
		how(&seen, row.SHA256)
		if err := d.Store.SavePluginState(d.t.Context(), "greeter", seen); err != nil {
			d.t.Error(err)
		}
		return true
	}
}
