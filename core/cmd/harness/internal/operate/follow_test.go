package operate_test

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// follows makes the daemon one that is up, and that has the plugin in one state
// after another, one at each look.
func (d *desk) follows(states ...pluginsdk.PluginInfo) {
	d.Running = func() bool {
		if len(states) > 0 {
			next := states[0]
			states = states[1:]
			if err := d.Store.SavePluginState(d.t.Context(), "greeter", next.State, next.LastError, next.Restarts); err != nil {
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
	if err := d.Store.SavePluginState(t.Context(), "greeter", old.State, old.LastError, old.Restarts); err != nil {
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
