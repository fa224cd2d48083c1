package operate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an operator did not grant, a new plugin must not have, and it must not run
// before it is wanted.
func TestAnInstalledPluginIsOffAndHasNoGrants(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1.0.0"), registry.InstallRequest{})
	row := d.row("greeter")
	if row.Enabled || len(row.Granted) != 0 || len(row.GrantedEnv) != 0 {
		t.Errorf("row: %+v", row)
	}
	if row.Origin != pluginsdk.OriginStore || row.Version != "1.0.0" || !row.Manifest.Answers(pluginsdk.HookCheck) || row.Position == 0 {
		t.Errorf("row: %+v", row)
	}
	if err := d.Registry.Depot.Verify(d.t.Context(), row); err != nil {
		t.Error(err)
	}
	same(t, "audit", d.actions(), []string{"plugin.install"})
	d.said("Says hello", "/greet: greet somebody", "messages.write (add lines to conversations): to greet", "GREETER_TOKEN: to sign in", "word: what it says", row.SHA256,
		"not signed", "will be granted: none", "`harness plugin grant greeter messages.read messages.write --env GREETER_TOKEN`",
		"`harness plugin settings greeter`", "`harness plugin enable greeter`")
}

func TestWhatIsGrantedAtOnceIsWhatWasNamed(t *testing.T) {
	for name, test := range map[string]struct {
		grants registry.Grants
		want   []pluginsdk.Capability
		env    []string
	}{
		"one":       {registry.Grants{Capabilities: []string{"messages.read"}}, []pluginsdk.Capability{"messages.read"}, nil},
		"all":       {registry.Grants{AllCapabilities: true}, []pluginsdk.Capability{"messages.read", "messages.write"}, nil},
		"variables": {registry.Grants{Env: []string{"GREETER_TOKEN"}}, nil, []string{"GREETER_TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.install(greeter("1.0.0"), registry.InstallRequest{Grants: test.grants, Enable: true})
			row := d.row("greeter")
			same(t, "granted", row.Granted, test.want)
			same(t, "environment", row.GrantedEnv, test.env)
			same(t, "audit", d.actions(), []string{"plugin.install"})
			if !row.Enabled {
				t.Error("it is not enabled")
			}
		})
	}
}

func TestInstallIsRefused(t *testing.T) {
	unknown := greeter("1")
	unknown.Capabilities = append(unknown.Capabilities, pluginsdk.CapabilityRequest{Capability: "planets.move", Reason: "fun"})
	stops := greeter("1")
	stops.Commands[0].Name = "stop"
	schema := greeter("1")
	schema.SettingsSchema = []byte(`{"type": 7}`)
	for name, test := range map[string]struct {
		manifest pluginsdk.Manifest
		want     registry.InstallRequest
		before   func(d *desk)
		words    []string
	}{
		"a capability it does not ask for": {greeter("1"), registry.InstallRequest{Grants: registry.Grants{Capabilities: []string{"plugins.admin"}}}, nil,
			[]string{"does not ask for plugins.admin", "messages.read, messages.write"}},
		"a capability that is unknown": {unknown, registry.InstallRequest{Grants: registry.Grants{Capabilities: []string{"planets.move"}}}, nil,
			[]string{`knows no capability "planets.move"`}},
		"a variable it does not ask for": {greeter("1"), registry.InstallRequest{Grants: registry.Grants{Env: []string{"AWS_SECRET"}}}, nil,
			[]string{"does not ask for the environment variable AWS_SECRET"}},
		"the core's command":    {stops, registry.InstallRequest{Enable: true}, nil, []string{"/stop, which the core answers"}},
		"a schema that is none": {schema, registry.InstallRequest{}, nil, []string{"settingsSchema of greeter"}},
		"installed before": {greeter("2"), registry.InstallRequest{}, func(d *desk) { d.install(greeter("1"), registry.InstallRequest{}) },
			[]string{"installed already (version 1)", "harness plugin upgrade greeter"}},
		"the daemon's own": {greeter("1"), registry.InstallRequest{}, func(d *desk) {
			d.register(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "greeter"}, Path: "/opt/greeter"})
		},
			[]string{"the daemon's own directory", "/opt/greeter"}},
		"a file in the daemon's directory": {greeter("1"), registry.InstallRequest{}, func(d *desk) {
			if err := os.MkdirAll(d.Registry.PluginDir, 0o700); err != nil {
				d.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.Registry.PluginDir, "greeter"), nil, 0o600); err != nil {
				d.t.Fatal(err)
			}
		}, []string{"the daemon's own directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			before := 0
			if test.before != nil {
				test.before(d)
				before = d.packages()
			}
			test.want.Source = d.source(test.manifest, "x")
			refused(t, d.Install(t.Context(), test.want), test.words...)
			if d.packages() != before {
				t.Error("its package was kept")
			}
		})
	}
}

func TestSayingNoChangesNothing(t *testing.T) {
	d := newDesk(t)
	d.answer = false
	refused(t, d.Install(t.Context(), registry.InstallRequest{Source: d.source(greeter("1"), "x")}), "nothing was changed")
	if rows, err := d.store.Plugins(t.Context()); err != nil || len(rows) != 0 || d.packages() != 0 || len(d.asked) != 1 {
		t.Errorf("rows %v, %v; %d packages; asked %v", rows, err, d.packages(), d.asked)
	}
}

// The manifest is a stranger's text, shown to decide about the stranger: it may
// not clear the screen, hide a line, or turn text around.
func TestAHostileManifestCannotPlayWithTheTerminal(t *testing.T) {
	m := greeter("1\x1b[2J")
	m.Description = "nice\x1b]0;owned\x07 \u202etxt.exe\u2066 \x9b31m\r\nwants: nothing\n\n\n"
	m.Commands[0].Description = strings.Repeat("long ", 1000)
	m.Capabilities[0].Reason = "because\x08\x08\x08\x1b[8m"
	d := newDesk(t)
	d.install(m, registry.InstallRequest{})
	report, err := d.Report(t.Context(), "greeter")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Info(report); err != nil {
		t.Fatal(err)
	}
	for _, r := range d.out.String() + strings.Join(d.asked, "") {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f) {
			t.Fatalf("%U was printed:\n%q", r, d.out.String())
		}
	}
	for line := range strings.Lines(d.out.String()) {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes: %.80q", len(line), line)
		}
		if strings.HasPrefix(line, "wants: nothing") {
			t.Error("it has written a line of its own")
		}
	}
}

// A hook or capability of a newer version is not a fault, but is not passed over
// in silence either, and not granted with the others.
func TestWhatIsUnknownIsShownAsUnknown(t *testing.T) {
	m := greeter("1")
	m.Hooks = append(m.Hooks, "OnEclipse")
	m.Capabilities = append(m.Capabilities, pluginsdk.CapabilityRequest{Capability: "planets.move", Reason: "fun"})
	d := newDesk(t)
	d.install(m, registry.InstallRequest{Grants: registry.Grants{AllCapabilities: true}})
	d.said("OnEclipse (unknown to this version)", "planets.move (unknown to this version): fun")
	same(t, "granted", d.row("greeter").Granted, []pluginsdk.Capability{"messages.read", "messages.write"})
}

func TestRequiredSignaturesHoldForEveryWayIn(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	if err := d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: d.source(greeter("2"), "2")}); err != nil {
		t.Fatal(err)
	}
	d.open("required")
	other := greeter("1")
	other.Name = "other"
	refused(t, d.Install(t.Context(), registry.InstallRequest{Source: d.source(other, "x")}), "not signed")
	refused(t, d.Upgrade(t.Context(), registry.UpgradeRequest{Name: "greeter", Source: d.source(greeter("3"), "3")}), "not signed")
	refused(t, d.Rollback(t.Context(), registry.RollbackRequest{Name: "greeter", To: ""}), "not signed")
	d.damage("greeter", "evil")
	refused(t, d.Trust(t.Context(), "greeter"), "not signed")
}
