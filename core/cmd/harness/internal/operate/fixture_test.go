package operate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// desk is an operator on an installation of the test, and what was said.
type desk struct {
	*operate.Operator

	Registry *registry.Registry
	t        *testing.T
	store    *store.Store
	out      bytes.Buffer
	data     string
	running  bool
	asked    []string
	answer   bool
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, data: t.TempDir(), answer: true}
	database, err := store.Open(t.Context(), store.Config{Dir: d.data})
	if err != nil {
		t.Fatal(err)
	}
	d.store = database
	d.Operator = &operate.Operator{
		Out: &d.out,
		Ask: func(question string) (bool, error) {
			d.asked = append(d.asked, question)
			return d.answer, nil
		},
	}
	d.open("optional")
	t.Cleanup(func() {
		_ = database.Close()
		_ = filepath.WalkDir(d.data, func(path string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
			}
			return nil
		})
	})
	return d
}

// open makes the registry, where signatures are required or optional.
func (d *desk) open(signatures string) {
	d.t.Helper()
	config := daemon.Config{Data: d.data, Plugins: filepath.Join(d.data, "bin"), PluginSignatures: signatures}
	opened, err := daemon.NewRegistry(config, d.store, func() bool { return d.running })
	if err != nil {
		d.t.Fatal(err)
	}
	d.Registry = opened
	d.Plugins = operate.Here{Registry: opened, Settings: func(context.Context, ledger.Plugin) string { return "" }}
}

// source writes a plugin with its plugin.json and returns its directory.
func (d *desk) source(m pluginsdk.Manifest, content string) string {
	d.t.Helper()
	dir := d.t.TempDir()
	raw, err := json.MarshalIndent(m, "", "  ") // as a person would write it
	if err != nil {
		d.t.Fatal(err)
	}
	for name, content := range map[string]string{"plugin.json": string(raw), m.Name: content} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // it is an executable
			d.t.Fatal(err)
		}
	}
	return dir
}

// greeter is a plugin that wants things.
func greeter(version string) pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "greeter", Version: version, Description: "Says hello",
		Hooks:    []pluginsdk.Hook{pluginsdk.HookCheck, pluginsdk.HookCommand},
		Commands: []pluginsdk.CommandSpec{{Name: "greet", Description: "greet somebody"}},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapMessagesRead, Reason: "to know whom to greet"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "to greet"},
		},
		Environment:    []pluginsdk.EnvironmentRequest{{Name: "GREETER_TOKEN", Reason: "to sign in"}},
		SettingsSchema: json.RawMessage(`{"type": "object", "properties": {"word": {"type": "string", "description": "what it says"}}}`),
	}
}

func (d *desk) install(m pluginsdk.Manifest, want registry.InstallRequest) {
	d.t.Helper()
	want.Source = d.source(m, m.Version)
	if err := d.Install(d.t.Context(), want); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) row(name string) ledger.Plugin {
	d.t.Helper()
	row, err := d.store.Plugin(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	return row
}

// register makes a plugin of the daemon's own directory.
func (d *desk) register(row ledger.Plugin) {
	d.t.Helper()
	row.Origin = pluginsdk.OriginDirectory
	if err := d.store.RegisterPlugin(d.t.Context(), row); err != nil {
		d.t.Fatal(err)
	}
}

// actions lists what the audit log says that was done.
func (d *desk) actions() []string {
	d.t.Helper()
	entries, err := d.store.AuditEntries(d.t.Context(), "", 100)
	if err != nil {
		d.t.Fatal(err)
	}
	actions := make([]string, len(entries))
	for n, entry := range entries {
		if entry.Who != "operator" {
			d.t.Errorf("%s was done by %q", entry.Action, entry.Who)
		}
		actions[n] = entry.Action
	}
	return actions
}

// packages counts what lies in the depot.
func (d *desk) packages() int {
	d.t.Helper()
	found, err := filepath.Glob(filepath.Join(d.data, "plugins", strings.Repeat("[0-9a-f]", 64)))
	if err != nil {
		d.t.Fatal(err)
	}
	return len(found)
}

func (d *desk) said(words ...string) {
	d.t.Helper()
	for _, word := range words {
		if !strings.Contains(d.out.String(), word) {
			d.t.Errorf("%q was not said:\n%s", word, d.out.String())
		}
	}
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was not refused")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
