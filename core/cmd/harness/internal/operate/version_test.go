package operate_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// damage overwrites the executable of an installed plugin.
func (d *desk) damage(name, content string) {
	d.t.Helper()
	path := d.row(name).Path
	for _, err := range []error{
		os.Chmod(filepath.Dir(path), 0o700), //nolint:gosec // a directory of the test
		os.Chmod(path, 0o700),               //nolint:gosec // an executable of the test
		os.WriteFile(path, []byte(content), 0o600),
	} {
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) upgrade(m pluginsdk.Manifest, grants registry.Grants) {
	d.t.Helper()
	if err := d.Upgrade(d.t.Context(), registry.UpgradeRequest{Name: m.Name, Source: d.source(m, m.Version), Grants: grants}); err != nil {
		d.t.Fatal(err)
	}
}

// An upgrade must not be the way to more rights.
func TestAnUpgradeKeepsWhatTheOperatorSetAndGrantsNothing(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1.0.0"), registry.InstallRequest{Grants: registry.Grants{AllCapabilities: true}, Enable: true})
	if err := d.store.SetPluginQuarantine(t.Context(), "greeter", "it broke"); err != nil {
		t.Fatal(err)
	}
	before := d.row("greeter")
	next := greeter("1.1.0")
	next.Commands = append(next.Commands, pluginsdk.CommandSpec{Name: "wave"})
	next.Commands[0].Description = "something else"
	next.Capabilities = append(next.Capabilities[1:], pluginsdk.CapabilityRequest{Capability: pluginsdk.CapPluginsAdmin, Reason: "trust me"})
	d.out.Reset()
	d.upgrade(next, registry.Grants{})
	row := d.row("greeter")
	if row.Version != "1.1.0" || row.SHA256 == before.SHA256 || !row.Enabled || row.Position != before.Position || row.Quarantine != "" {
		t.Errorf("row: %+v", row)
	}
	same(t, "granted", row.Granted, before.Granted)
	if len(row.Previous) != 1 || row.Previous[0].Version != "1.0.0" || row.Previous[0].SHA256 != before.SHA256 || row.Previous[0].InstalledAt.IsZero() {
		t.Errorf("previous: %+v", row.Previous)
	}
	d.said("version: 1.1.0, was 1.0.0", "commands: +/wave ~/greet", "wants: +plugins.admin -messages.read",
		"`harness plugin grant greeter plugins.admin --env GREETER_TOKEN`", "harness plugin rollback greeter")
	if strings.Contains(d.out.String(), "settings: the schema") {
		t.Error("white space in a schema was taken for a change")
	}
	if err := d.Registry.Depot.Verify(d.t.Context(), row); err != nil {
		t.Error(err)
	}
	d.upgrade(greeter("1.2.0"), registry.Grants{Env: []string{"GREETER_TOKEN"}})
	same(t, "environment", d.row("greeter").GrantedEnv, []string{"GREETER_TOKEN"})
}

// What an upgrade does to work, and with rights, is said before it is asked about.
func TestAnUpgradeSaysWhatItHoldsUpAndWhichRightsItUsesAgain(t *testing.T) {
	d := newDesk(t)
	small, big := greeter("1.0.0"), greeter("1.1.0")
	big.Hooks = append(big.Hooks, pluginsdk.HookMessage, pluginsdk.HookBeforeReply)
	big.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeReply: pluginsdk.FailClosed}
	const (
		waits = "! As long as it lacks turns.change, work waits for it: it must not be passed over in OnBeforeReply. To grant that: `harness plugin grant greeter turns.change`"
		again = "! What it was granted before and uses again from this version on: turns.change, turns.read. To take that back: `harness plugin revoke greeter turns.change turns.read`"
	)
	d.install(small, registry.InstallRequest{Enable: true})
	d.out.Reset()
	d.upgrade(big, registry.Grants{})
	d.said("wants: +turns.read +turns.change", waits)
	if n := strings.Count(d.out.String(), waits); n != 2 {
		t.Errorf("it is said %d times, and not before and after", n)
	}
	d.out.Reset()
	if err := d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: registry.Grants{Capabilities: []string{"turns.change", "turns.read"}}}); err != nil {
		t.Fatal(err)
	}
	for _, to := range []struct {
		pluginsdk.Manifest
		words  []string
		silent []string
	}{
		{small, []string{"version: 1.0.0, was 1.1.0: it is an older one"}, []string{again, waits}},
		{greeter("1.0.1"), nil, []string{again, waits}},
		{big, []string{again}, []string{"older one", waits}},
		{greeter("1.1.1"), nil, []string{again, waits}},
	} {
		d.out.Reset()
		d.upgrade(to.Manifest, registry.Grants{})
		d.said(to.words...)
		for _, words := range to.silent {
			if strings.Contains(d.out.String(), words) {
				t.Errorf("to %s it says %q", to.Version, words)
			}
		}
	}
}

func TestUpgradeIsRefusedForWhatItIsNot(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	other := greeter("2")
	other.Name = "other"
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: d.source(other, "x")}), "is the plugin other, not greeter")
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "gretter", Source: d.source(greeter("2"), "x")}), `there is no plugin "gretter"; there are: greeter`)
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time"}, Path: "/opt/time"})
	own := greeter("2")
	own.Name = "time"
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "time", Source: d.source(own, "x")}), "daemon's own directory", "/opt/time")
	if d.packages() != 1 {
		t.Errorf("%d packages", d.packages())
	}
}

// The version that is there, installed again, is how an operator puts right what
// somebody changed.
func TestUpgradeToTheSameVersionRepairsIt(t *testing.T) {
	d := newDesk(t)
	source := d.source(greeter("1"), "x")
	if err := d.Install(t.Context(), registry.InstallRequest{Source: source}); err != nil {
		t.Fatal(err)
	}
	if err := d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: source}); err != nil {
		t.Fatal(err)
	}
	d.said("is this version already")
	d.damage("greeter", "evil")
	if err := d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: source}); err != nil {
		t.Fatal(err)
	}
	d.said("as it was installed again")
	row := d.row("greeter")
	if err := d.Registry.Depot.Verify(d.t.Context(), row); err != nil || len(row.Previous) != 0 {
		t.Errorf("%v; previous %v", err, row.Previous)
	}
	same(t, "audit", d.actions(), []string{"plugin.install", "plugin.repair"})
}

func TestRollbackGoesBackAndForth(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	refused(t, d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: ""}), "no earlier version")
	d.upgrade(greeter("2"), registry.Grants{})
	d.upgrade(greeter("3"), registry.Grants{})
	for _, step := range []struct {
		to, want string
		previous []string
	}{{"", "2", []string{"3", "1"}}, {"1", "1", []string{"2", "3"}}, {"", "2", []string{"1", "3"}}, {"3", "3", []string{"2", "1"}}} {
		if err := d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: step.to}); err != nil {
			t.Fatal(err)
		}
		row := d.row("greeter")
		var previous []string
		for _, version := range row.Previous {
			previous = append(previous, version.Version)
		}
		same(t, "previous", previous, step.previous)
		if row.Version != step.want || row.Manifest.Version != step.want || !row.Enabled {
			t.Errorf("to %q: %s, want %s", step.to, row.Version, step.want)
		}
		if err := d.Registry.Depot.Verify(d.t.Context(), row); err != nil {
			t.Error(err)
		}
	}
	if sum := d.row("greeter").Previous[1].SHA256; sum == "" {
		t.Error("a version has no pin")
	} else if err := d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: sum[:8]}); err != nil || d.row("greeter").Version != "1" {
		t.Errorf("by its pin: %v, %s", err, d.row("greeter").Version)
	}
	refused(t, d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: "9"}), `no earlier version "9"`, "there are: ")
}

// Going back to what was changed meanwhile would run it.
func TestRollbackVerifiesWhatItGoesBackTo(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	d.damage("greeter", "evil")
	d.upgrade(greeter("2"), registry.Grants{})
	refused(t, d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: ""}), `"greeter" has other content`)
	if got := d.row("greeter").Version; got != "2" {
		t.Errorf("version %s", got)
	}
}

func TestOnlyFiveVersionsAreKept(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("0"), registry.InstallRequest{})
	for n := 1; n <= 8; n++ {
		d.upgrade(greeter(strconv.Itoa(n)), registry.Grants{})
	}
	row := d.row("greeter")
	if len(row.Previous) != 5 || row.Previous[0].Version != "7" || row.Previous[4].Version != "3" {
		t.Errorf("previous: %v", row.Previous)
	}
	if d.packages() != 6 {
		t.Errorf("%d packages, want 6", d.packages())
	}
}

func TestTrustTakesAChangeThatWasMeant(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	before := d.row("greeter")
	if err := d.Trust(t.Context(), "greeter"); err != nil {
		t.Fatal(err)
	}
	d.said("nothing to trust")
	d.damage("greeter", "fixed")
	d.answer = false
	refused(t, d.Trust(t.Context(), "greeter"), "nothing was changed")
	d.answer = true
	if err := d.Trust(t.Context(), "greeter"); err != nil {
		t.Fatal(err)
	}
	row := d.row("greeter")
	d.said(before.SHA256, row.SHA256, "The manifest is the same.")
	if err := d.Registry.Depot.Verify(d.t.Context(), row); err != nil || row.SHA256 == before.SHA256 || !row.Enabled {
		t.Errorf("%v; %+v", err, row)
	}
	same(t, "audit", d.actions(), []string{"plugin.install", "plugin.trust"})
	if d.packages() != 1 {
		t.Errorf("%d packages, want 1", d.packages())
	}
}

func TestTrustPinsAFileOfTheDaemonsDirectory(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(t.TempDir(), "time")
	if err := os.WriteFile(path, []byte("two"), 0o700); err != nil { //nolint:gosec // it is an executable
		t.Fatal(err)
	}
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time", SHA256: strings.Repeat("0", 64), Enabled: true, Granted: []pluginsdk.Capability{"state"}}, Path: path})
	if err := d.Trust(t.Context(), "time"); err != nil {
		t.Fatal(err)
	}
	row, want := d.row("time"), ""
	want, err := depot.SumFile(path)
	if err != nil || row.SHA256 != want || row.Origin != pluginsdk.OriginDirectory || !row.Enabled || len(row.Granted) != 1 {
		t.Errorf("%v; %+v", err, row)
	}
}

// What is removed must not come back, and leave nothing that a plugin of the same
// name would find.
func TestRemoveForgetsEverything(t *testing.T) {
	for name, keep := range map[string]bool{"with its state": false, "but its state": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.install(greeter("1"), registry.InstallRequest{Enable: true})
			d.upgrade(greeter("2"), registry.Grants{})
			if _, err := d.store.WriteState(t.Context(), ledger.StateWrite{Plugin: "greeter", Key: "key", Value: []byte("value")}); err != nil {
				t.Fatal(err)
			}
			if err := d.Remove(t.Context(), registry.RemoveRequest{Name: "greeter", KeepState: keep}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.store.Plugin(t.Context(), "greeter"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
				t.Errorf("the row: %v", err)
			}
			if _, err := d.store.GetState(t.Context(), "greeter", "key"); (err == nil) != keep {
				t.Errorf("its state: %v", err)
			}
			if d.packages() != 0 {
				t.Errorf("%d packages", d.packages())
			}
			if actions := d.actions(); actions[len(actions)-1] != "plugin.remove" {
				t.Errorf("audit: %v", actions)
			}
		})
	}
}

// Files that a process still runs from are not pulled away under it.
func TestRemoveWaitsForTheDaemonToLetGo(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	if err := d.store.SavePluginSeen(t.Context(), "greeter", ledger.PluginSeen{State: pluginsdk.PluginServing}); err != nil {
		t.Fatal(err)
	}
	asked := 0
	d.Registry.Running = func() bool { // asked at each look: the daemon lets go after the third
		if asked++; asked == 3 {
			if d.packages() != 1 {
				t.Error("its files were removed while it served")
			}
			if row := d.row("greeter"); row.Enabled {
				t.Error("it was not disabled")
			}
			if err := d.store.SavePluginSeen(t.Context(), "greeter", ledger.PluginSeen{State: pluginsdk.PluginDisabled}); err != nil {
				t.Error(err)
			}
		}
		return true
	}
	if err := d.Remove(t.Context(), registry.RemoveRequest{Name: "greeter", KeepState: false}); err != nil || asked < 3 {
		t.Errorf("%v, after %d looks", err, asked)
	}
}

func TestAPluginOfTheDaemonsDirectoryIsNotRemoved(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(t.TempDir(), "time")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time", Enabled: true}, Path: path})
	refused(t, d.Remove(t.Context(), registry.RemoveRequest{Name: "time", KeepState: false}), "register it again", "harness plugin disable time", path)
	if !d.row("time").Enabled {
		t.Error("it was disabled")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(t.Context(), registry.RemoveRequest{Name: "time", KeepState: false}); err != nil {
		t.Error(err)
	}
}
