package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An upgrade replaces the files of the shipped plugins by links to one program, at the same
// paths; later the operator moves the installation. What the operator has decided stays, and
// the audit log has one new pin for each plugin.
func TestLinksTakeThePlaceOfPluginFiles(t *testing.T) {
	withoutBot(t)
	in := leanInstallation(t, "")
	names := shipped.Plugins.Names()
	place := func(dir string, each func(name, path string) error) {
		t.Helper()
		in.config.Plugins = filepath.Join(in.config.Data, dir)
		if err := os.MkdirAll(in.config.Plugins, 0o755); err != nil { //nolint:gosec // plugins are executed
			t.Fatal(err)
		}
		for _, name := range names {
			path := filepath.Join(in.config.Plugins, name)
			if err := errors.Join(os.RemoveAll(path), each(name, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	links := func(name, path string) error { return os.Symlink(filepath.Join(pluginDir, name), path) }

	program, err := os.ReadFile(filepath.Join(pluginDir, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(in.config.Data, "older")
	if err := os.WriteFile(older, append(program, 0), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	place("plugins", func(_, path string) error { return os.Link(older, path) })
	stop := in.start()
	rows := in.database()
	in.serving(rows, names...)
	in.decidesOfPlugins(rows)
	stop()
	before := decisions(t, rows)

	place("plugins", links)
	stop = in.start()
	on := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "discord" })
	in.serving(rows, on...)
	stop()
	in.sameDecisions(rows, before)

	place("moved", links)
	stop = in.start()
	in.serving(rows, on...)
	stop()
	in.sameDecisions(rows, before)
}

// decidesOfPlugins has an operator turn a plugin off, take a grant, change settings, limits and the order.
func (in *installation) decidesOfPlugins(rows *store.Store) {
	in.t.Helper()
	ctx := in.t.Context()
	err := errors.Join(
		rows.SetPluginEnabled(ctx, "discord", false),
		rows.SetPluginGrants(ctx, "activity", []pluginsdk.Capability{pluginsdk.CapMessagesWrite}, nil),
		rows.EditPluginSettings(ctx, "time", "operator", func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
			return json.RawMessage(`{"timezone":"Europe/Berlin"}`), sealed, "timezone", nil
		}),
		rows.EditPlugin(ctx, "context", "operator", "plugin.limits", func(row *ledger.Plugin) (string, error) {
			row.Limits.OpenFiles = 777
			return "open files 777", nil
		}),
		rows.ArrangePlugins(ctx, "operator", "time", func(all []ledger.Plugin) (order []string, detail string, err error) {
			for _, row := range all {
				order = append(order, row.Name)
			}
			slices.Reverse(order)
			return order, "reversed", nil
		}),
	)
	if err != nil {
		in.t.Fatal(err)
	}
}

// decisions are what an operator has decided of each plugin.
func decisions(t *testing.T, rows *store.Store) map[string]string {
	t.Helper()
	all, err := rows.Plugins(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	decided := make(map[string]string)
	for _, row := range all {
		decided[row.Name] = fmt.Sprintf("%v %v %v %v %s %d %+v", row.Enabled, row.Granted, row.GrantedEnv, row.GrantsVersion, row.Settings, row.Position, row.Limits)
	}
	return decided
}

func (in *installation) sameDecisions(rows *store.Store, before map[string]string) {
	in.t.Helper()
	after := decisions(in.t, rows)
	for name, was := range before {
		if after[name] != was {
			in.t.Errorf("%s is\n  %s\nwas\n  %s", name, after[name], was)
		}
		row := plugin(in.t, rows, name)
		if row.Path != filepath.Join(in.config.Plugins, name) || row.SHA256 != plugin(in.t, rows, "web").SHA256 {
			in.t.Errorf("%s is %s, pinned to %s", name, row.Path, row.SHA256)
		}
		if n := in.count("SELECT COUNT(*) FROM audit_entries WHERE action = 'plugin.pin' AND target = '" + name + "'"); n != 1 {
			in.t.Errorf("%d new pins of %s are in the audit log", n, name)
		}
	}
	if len(after) != len(before) {
		in.t.Errorf("there are the plugins %v", after)
	}
}
