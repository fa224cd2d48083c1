package operate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What one operator takes back must not come back with what another one grants at
// the same time.
func TestGrantsAndRevocationsAtOnceAreNotLost(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	read := registry.Grants{Capabilities: []string{"messages.read"}}
	write := registry.Grants{Capabilities: []string{"messages.write"}}
	other := *d.Operator
	other.Out = new(strings.Builder)
	for round := range 25 {
		if err := d.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: read}); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var revoked, granted error
		both.Go(func() { revoked = d.Revoke(t.Context(), registry.GrantRequest{Name: "greeter", Grants: read}) })
		both.Go(func() { granted = other.Grant(t.Context(), registry.GrantRequest{Name: "greeter", Grants: write}) })
		both.Wait()
		if revoked != nil || granted != nil {
			t.Fatal(revoked, granted)
		}
		if got := fmt.Sprint(d.row("greeter").Granted); got != "[messages.write]" {
			t.Fatalf("round %d: it has %s", round, got)
		}
		if err := d.Revoke(t.Context(), registry.GrantRequest{Name: "greeter", Grants: write}); err != nil {
			t.Fatal(err)
		}
	}
}

// Which events a plugin hears, and that it is down while it is upgraded, is for
// the operator to know before it is installed.
func TestEventsPrefixAndExclusiveAreShownAndCompared(t *testing.T) {
	d := newDesk(t)
	m := greeter("1")
	m.Hooks = append(m.Hooks, pluginsdk.HookBroadcast, pluginsdk.HookBeforeInvoke)
	m.Events, m.Exclusive, m.PromptPrefix = []string{"thread:*"}, true, true
	d.install(m, registry.InstallRequest{})
	d.said("events       thread:*", "exclusive    only one version of it", "prompt       it puts text in front of prompts")
	d.out.Reset()
	m.Version, m.Events, m.Exclusive, m.PromptPrefix = "2", []string{"*"}, false, false
	d.upgrade(m, registry.Grants{})
	d.said("events: +* -thread:*", "exclusive: false, was true", "prompt prefix: false, was true")
}

// Where signatures are required, a plugin that an author builds has none.
func TestPluginsThatAreWorkedOnNeedASignatureToo(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.data, "greeter")
	if err := os.WriteFile(path, []byte("x"), 0o700); err != nil { //nolint:gosec // it is an executable
		t.Fatal(err)
	}
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "greeter", Origin: pluginsdk.OriginDev, SHA256: strings.Repeat("0", 64)}, Path: path}
	if err := d.store.InstallPlugin(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if err := d.Registry.MayDevelop(); err != nil {
		t.Error(err)
	}
	d.open("required")
	refused(t, d.Registry.MayDevelop(), "signatures are required here", "HARNESS_PLUGIN_SIGNATURES")
	refused(t, d.Trust(t.Context(), "greeter"), "signatures are required here")
	if d.row("greeter").SHA256 != row.SHA256 {
		t.Error("it was pinned")
	}
}

// A stranger must not take the name that people know from Harness, nor one under
// which the core speaks.
func TestNamesThatAreNotForPackages(t *testing.T) {
	for name, want := range map[string]string{"discord": "comes with Harness", "time": "comes with Harness", "cli": "the core speaks under that name"} {
		d := newDesk(t)
		m := greeter("1")
		m.Name = name
		refused(t, d.Install(t.Context(), registry.InstallRequest{Source: d.source(m, "x")}), want)
	}
}

// Whoever takes the name of a plugin that was removed gets what it left: that may
// be somebody else's secrets.
func TestInstallSaysWhatAnEarlierPluginOfTheNameLeft(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	if strings.Contains(d.out.String(), "has left") {
		t.Error("there was nothing left")
	}
	if _, err := d.store.WriteState(t.Context(), ledger.StateWrite{Plugin: "greeter", Key: "k", Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(t.Context(), registry.RemoveRequest{Name: "greeter", KeepState: true}); err != nil {
		t.Fatal(err)
	}
	d.install(greeter("2"), registry.InstallRequest{})
	d.said("has left its state (1 keys) and secrets (0)", "harness plugin remove greeter")
}

// An upgrade must not be the way to another plugin's command.
func TestAnUpgradeThatTakesACommandAsks(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{Enable: true})
	other := greeter("1")
	other.Name, other.Commands[0].Name = "other", "wave"
	d.install(other, registry.InstallRequest{Enable: true})
	other.Version, other.Commands = "2", []pluginsdk.CommandSpec{{Name: "greet"}}
	source := d.source(other, "2")
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "other", Source: source}), "other declares /greet, which greeter has", "harness plugin upgrade other "+source+" --force")
	if d.row("other").Version != "1" {
		t.Error("it was upgraded")
	}
	if err := d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "other", Source: source, Force: true}); err != nil || d.row("other").Version != "2" {
		t.Errorf("with force: %v", err)
	}
	other.Version, other.Commands[0].Name = "3", "stop"
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "other", Source: d.source(other, "3"), Force: true}), "which the core answers")
}

// What an operator said yes to is what is replaced, and nothing else.
func TestAnUpgradeOfWhatSomebodyElseChangedIsRefused(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	second := d.source(greeter("2"), "2")
	other := *d.Operator
	ask := d.Ask
	d.Ask = func(question string) (bool, error) {
		d.Ask = ask
		if err := other.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: second}); err != nil {
			t.Error(err)
		}
		return true, nil
	}
	other.Ask = func(string) (bool, error) { return true, nil }
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: d.source(greeter("3"), "3")}), "changed by somebody else meanwhile")
	if row := d.row("greeter"); row.Version != "2" || len(row.Previous) != 1 {
		t.Errorf("row: %+v", row)
	}
}
