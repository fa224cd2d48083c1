package operate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// follows makes the daemon one that is up, and that has at the third look carried
// out what the row says then, or failed to.
func (d *desk) follows(outcome func(seen *ledger.PluginSeen, pin string)) {
	looks := 0
	d.Registry.Running = func() bool {
		if looks++; looks != 3 {
			return true
		}
		row := d.row("greeter")
		seen := ledger.SeenOf(row)
		seen.Settled = row.Generation
		outcome(&seen, row.SHA256)
		if err := d.store.SavePluginSeen(d.t.Context(), "greeter", seen); err != nil {
			d.t.Error(err)
		}
		return true
	}
}

func serves(seen *ledger.PluginSeen, pin string) {
	seen.State, seen.Serving, seen.Rejected = pluginsdk.PluginServing, pin, ""
}

// refuses leaves what serves as it is.
func refuses(seen *ledger.PluginSeen, pin string) {
	seen.State, seen.Rejected, seen.LastError = pluginsdk.PluginServing, pin, "no port\nto be had"
	if seen.Serving == "" {
		seen.State = pluginsdk.PluginBackoff
	}
}

func ends(seen *ledger.PluginSeen, _ string) {
	seen.State, seen.Serving = pluginsdk.PluginDisabled, ""
}

// Who turns a plugin on is told when it serves: what they do next needs it. What
// the row says of another time is no answer.
func TestEnableWaitsUntilThePluginServes(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	for range 2 {
		d.follows(serves)
		if err := d.Enable(t.Context(), "greeter", false); err != nil || !strings.HasSuffix(d.out.String(), "greeter is enabled, and it serves.\n") {
			t.Errorf("%v, %s", err, d.out.String())
		}
		d.follows(ends)
		if err := d.Disable(t.Context(), "greeter"); err != nil || !strings.HasSuffix(d.out.String(), "greeter is disabled, and has ended.\n") {
			t.Errorf("%v, %s", err, d.out.String())
		}
		d.follows(refuses)
		want := "greeter is enabled, but it does not serve (it is backoff): no port to be had"
		if err := d.Enable(t.Context(), "greeter", false); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if !d.row("greeter").Enabled {
		t.Error("it is not enabled")
	}
}

// A daemon that ends meanwhile has followed nothing.
func TestEnableWhileTheDaemonEnds(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	looks := 0
	d.Registry.Running = func() bool { looks++; return looks < 3 }
	if err := d.Enable(t.Context(), "greeter", false); err != nil || !strings.HasSuffix(d.out.String(), "greeter is enabled; from the daemon's next start on.\n") {
		t.Errorf("%v, %s", err, d.out.String())
	}
}

// An upgrade whose new version cannot take over must not look like one that did.
func TestUpgradeSaysWhichVersionServes(t *testing.T) {
	d := newDesk(t)
	d.follows(serves)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	d.said("greeter is installed and enabled, and it serves.")
	source := d.source(greeter("3"), "3")

	d.follows(serves)
	d.upgrade(greeter("2"), registry.Grants{})
	d.said("greeter is version 2 now, was 1, and it serves.")

	d.follows(refuses)
	err := d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: source})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err.Error() != "greeter is version 3 now, was 2, but that does not take over: no port to be had" {
		t.Errorf("error is %v", err)
	}
	report, err := d.Report(t.Context(), "greeter")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	d.said("still 2 (", "; the one that was to take over could not")

	for _, step := range []struct {
		do   func() error
		says string
	}{
		{func() error { return d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: ""}) }, "greeter is version 2 now, was 3, and it serves."},
		{func() error { return d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: source}) }, "greeter is version 3 now, was 2, and it serves."},
		{func() error { return d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: "1"}) }, "greeter is version 1 now, was 3, and it serves."},
	} {
		d.follows(serves)
		if err := step.do(); err != nil {
			t.Errorf("want %q: %v", step.says, err)
		}
		d.said(step.says)
	}
}

// The version is the same, and something else of it could not be carried out.
func TestServingIsNotYetCarriedOut(t *testing.T) {
	d := newDesk(t)
	d.follows(serves)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	d.follows(refuses)
	if err := d.Enable(t.Context(), "greeter", false); err == nil || err.Error() != "greeter is enabled, but that does not take over: no port to be had" {
		t.Errorf("error is %v", err)
	}
}

// The daemon does not follow a row that was broken by hand: there is nothing to
// wait for.
func TestARowThatIsWrongIsNotWaitedFor(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	err := d.store.EditPlugin(t.Context(), "greeter", "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: "perhaps"}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Registry.Running = func() bool { return true }
	if err := d.Enable(t.Context(), "greeter", false); err == nil || !strings.Contains(err.Error(), "mend it first: on_failure: OnMessage") {
		t.Errorf("error is %v", err)
	}
}

// What was damaged and is put right serves again, and the command that puts it
// right says so.
func TestARepairIsCarriedOut(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	d.damage("greeter", "something else")
	d.follows(serves)
	d.upgrade(greeter("1"), registry.Grants{})
	d.said("greeter 1 is as it was installed again, and it serves.")
}

// What an operator decides of a plugin that serves must not be said to be done when the
// plugin is down by it, or goes on as before.
func TestWhatIsDecidedSaysWhatComesOfIt(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	d.Registry.Running = func() bool { return true }
	wants := registry.GrantRequest{Name: "greeter", Grants: registry.Grants{AllCapabilities: true}}
	for what, do := range map[string]func() error{
		"The settings of greeter are changed": func() error {
			change := func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
				return json.RawMessage(`{}`), sealed, "", nil
			}
			return errors.Join(d.store.EditPluginSettings(t.Context(), "greeter", "test", change), d.SettingsChanged(t.Context(), "greeter"))
		},
		"greeter: memory 64 MiB": func() error { return d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "64MiB"}) },
		"greeter was granted messages.read": func() error {
			_, err := d.Registry.Revoke(t.Context(), "test", wants)
			return errors.Join(err, d.Grant(t.Context(), wants))
		},
		"messages.read, messages.write was taken from greeter": func() error {
			_, err := d.Registry.Grant(t.Context(), "test", wants)
			return errors.Join(err, d.Revoke(t.Context(), wants))
		},
	} {
		d.out.Reset()
		d.Registry.Running = func() bool { return true }
		if err := d.store.SetPluginEnabled(t.Context(), "greeter", false); err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Errorf("%s, disabled: %v", what, err)
		}
		d.said(what, "; it is disabled.")
		if err := d.store.SetPluginEnabled(t.Context(), "greeter", true); err != nil {
			t.Fatal(err)
		}
		d.follows(serves)
		if err := do(); err != nil {
			t.Errorf("%s, and it serves: %v", what, err)
		}
		d.said(", and it serves.")
		d.follows(refuses)
		if err := do(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "no port to be had") {
			t.Errorf("%s, and does not serve: %v", what, err)
		}
	}
	d.follows(func(seen *ledger.PluginSeen, pin string) {
		serves(seen, pin)
		seen.LastError = ledger.SettingsRefused + ", and goes on with those that it has: no such zone"
		seen.Refused = ledger.RefusedSettings{Mark: d.row("greeter").SettingsMark(), Words: "no such zone"}
	})
	if err := d.store.EditPluginSettings(t.Context(), "greeter", "test", func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
		return json.RawMessage(`{}`), sealed, "", nil
	}); err != nil {
		t.Fatal(err)
	}
	refused(t, d.SettingsChanged(t.Context(), "greeter"), "are stored, but it refused its new settings", "no such zone", "harness plugin settings set greeter")
}

// A plugin in quarantine is started by nobody but who enables it: what is decided of it
// before is done, or the usual `limits x --memory 256MiB && plugin enable x` goes no
// further than its first half.
func TestWhatIsDecidedOfAPluginInQuarantineIsDone(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	if err := d.store.SetPluginQuarantine(t.Context(), "greeter", "five failures"); err != nil {
		t.Fatal(err)
	}
	d.Registry.Running = func() bool { return true }
	wants := registry.GrantRequest{Name: "greeter", Grants: registry.Grants{AllCapabilities: true}}
	for what, do := range map[string]func() error{
		"greeter: memory 64 MiB":              func() error { return d.SetLimits(t.Context(), "greeter", operate.Limits{Memory: "64MiB"}) },
		"The settings of greeter are changed": func() error { return d.SettingsChanged(t.Context(), "greeter") },
		"greeter was granted": func() error {
			_, err := d.Registry.Revoke(t.Context(), "test", wants)
			return errors.Join(err, d.Grant(t.Context(), wants))
		},
		"was taken from greeter": func() error {
			_, err := d.Registry.Grant(t.Context(), "test", wants)
			return errors.Join(err, d.Revoke(t.Context(), wants))
		},
	} {
		d.out.Reset()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		d.said(what, "; it is in quarantine; `harness plugin enable greeter` starts it.")
	}
	d.follows(func(seen *ledger.PluginSeen, pin string) {
		refuses(seen, pin)
		if err := d.store.SetPluginQuarantine(t.Context(), "greeter", "five failures"); err != nil {
			t.Error(err)
		}
	})
	if err := d.Enable(t.Context(), "greeter", false); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("enabled, and in quarantine again: %v", err)
	}
}

// Where the daemon is slow, what comes of new settings is waited for once, not twice.
func TestNewSettingsAreWaitedForOnce(t *testing.T) {
	d := newDesk(t)
	d.follows(serves)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	d.follows(refuses) // at a look that there is no need for
	if err := d.SettingsChanged(t.Context(), "greeter"); err != nil {
		t.Error(err)
	}
	d.said("The settings of greeter are changed, and it serves.")
}

// A gate that is to be asked first must not come second to the next message, after a
// command that said it was done.
func TestOrderIsWaitedFor(t *testing.T) {
	d := newDesk(t)
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "first", Position: 1}, Path: "/opt/first"})
	d.follows(serves)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	if err := d.store.SavePluginSeen(t.Context(), "greeter", ledger.PluginSeen{State: pluginsdk.PluginServing, Settled: d.row("greeter").Generation}); err != nil {
		t.Fatal(err)
	}
	d.follows(serves)
	if err := d.Order(t.Context(), []string{"greeter", "before", "first"}); err != nil {
		t.Fatal(err)
	}
	if row := d.row("greeter"); row.Settled != row.Generation {
		t.Errorf("the daemon has not followed: it is at %d of %d", row.Settled, row.Generation)
	}
	d.said("The order is: greeter, first, and the daemon asks in it.")
}
