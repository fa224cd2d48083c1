package daemon_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const deskName = "desk"

// desk is a dashboard before which a person sits who says yes to all that is shown. It
// installs a ferry from bytes, upgrades it from an upload, goes back and removes it, and
// notes in desk.txt what it was shown and told.
type desk struct{ host pluginsdk.Host }

func runDesk() { serve.Main(&desk{}) }

func (*desk) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: deskName, Version: "1.0.0"}
}

func (d *desk) Start(_ context.Context, host pluginsdk.Host) error {
	d.host = host
	return nil
}

func (d *desk) Activate(context.Context) error {
	go d.open(context.Background())
	return nil
}

func (*desk) Deactivate(context.Context) error { return nil }

func (*desk) note(format string, args ...any) {
	appendLine(beside("desk.txt"), strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

// shown notes a plan, and returns its digest: the person has said yes.
func (d *desk) shown(plan pluginsdk.PluginPlan, err error) string {
	if err != nil {
		d.note("%s: %v", pluginsdk.CodeOf(err), err)
		return "refused"
	}
	d.note("%s %s %q -> %q signed %v, has %v, wants %v %v, may grant %v, settings %v", plan.Action, plan.Name, plan.Was.Version, plan.Next.Version,
		plan.Package.Signed, plan.Has.Capabilities, plan.Wants.Capabilities, plan.Wants.Env, plan.MayGrant, len(plan.Next.Manifest.SettingsSchema) > 0)
	return plan.Digest
}

// told notes what has been done, and what comes of it.
func (d *desk) told(ctx context.Context, outcome *pluginsdk.PluginOutcome, err error) {
	if err != nil || outcome == nil {
		d.note("%s: %v", pluginsdk.CodeOf(err), err)
		return
	}
	d.note("done: %s, granted %v, lacks %v", outcome.Plugin.Version, outcome.Plugin.Granted, outcome.Missing.Capabilities)
	came, err := d.host.Plugins.Follow(ctx, &pluginsdk.FollowPluginRequest{Name: outcome.Plugin.Name})
	if err != nil {
		d.note("%s: %v", pluginsdk.CodeOf(err), err)
		return
	}
	d.note("%s %s", came.Plugin.Version, came.Standing)
}

func (d *desk) open(ctx context.Context) {
	archive, err := os.ReadFile(beside("ferry-1.tar.gz"))
	if err != nil {
		d.note("%v", err)
	}
	plugins := d.host.Plugins
	install := &pluginsdk.InstallPluginRequest{Package: pluginsdk.PluginPackage{Archive: archive}, Enable: true}
	planned, err := plugins.Install(ctx, install)
	if err == nil {
		install.Digest, install.Grant = d.shown(planned.Plan, nil), planned.Plan.MayGrant
		planned, err = plugins.Install(ctx, install)
	}
	if err != nil {
		d.note("install: %v", err)
		return
	}
	d.told(ctx, planned.Outcome, nil)

	_, err = plugins.Grant(ctx, &pluginsdk.GrantPluginRequest{Name: ferryName, Capabilities: []pluginsdk.Capability{pluginsdk.CapEventsRead}})
	d.note("grant: %v", err)

	upgrade := &pluginsdk.UpgradePluginRequest{Name: ferryName, Package: pluginsdk.PluginPackage{Upload: "../ferry-2.tar.gz"}}
	_, err = plugins.Upgrade(ctx, upgrade)
	d.note("upload: %v", pluginsdk.CodeOf(err))
	upgrade.Package.Upload, upgrade.Digest = "ferry-2.tar.gz", install.Digest
	_, err = plugins.Upgrade(ctx, upgrade)
	d.note("another plan's digest: %v", pluginsdk.CodeOf(err))
	for upgrade.Digest = ""; ; {
		answer, err := plugins.Upgrade(ctx, upgrade)
		if err != nil || answer.Outcome != nil {
			d.told(ctx, answer.Outcome, err)
			break
		}
		upgrade.Digest = d.shown(answer.Plan, nil)
	}
	for rollback := (pluginsdk.RollbackPluginRequest{Name: ferryName}); ; {
		answer, err := plugins.Rollback(ctx, &rollback)
		if err != nil || answer.Outcome != nil {
			d.told(ctx, answer.Outcome, err)
			break
		}
		rollback.Digest = d.shown(answer.Plan, nil)
	}
	for remove := (pluginsdk.RemovePluginRequest{Name: ferryName}); ; {
		answer, err := plugins.Remove(ctx, &remove)
		if err != nil || answer.Outcome != nil {
			d.told(ctx, answer.Outcome, err)
			break
		}
		remove.Digest = d.shown(answer.Plan, nil)
	}
	d.note("end")
}

// pack writes a directory as the archive that its author hands out.
func pack(t *testing.T, dir, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(file)
	writer := tar.NewWriter(zipped)
	for _, err := range []error{writer.AddFS(os.DirFS(dir)), writer.Close(), zipped.Close(), file.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A dashboard does for a person what an operator does at the command line: it sees what a
// package is and wants, they say yes, it is done, and it sees what came of it.
func TestADashboardDecidesForItsPerson(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "", deskName)
	h := in.harbour()
	pack(t, h.build(ferryName, "1.0.0", ""), filepath.Join(in.config.Plugins, "ferry-1.tar.gz"))
	pack(t, h.build(ferryName, "2.0.0", ""), filepath.Join(in.config.Data, "uploads", "ferry-2.tar.gz"))
	in.start()
	in.sql(`UPDATE plugins SET granted = '["plugins.admin","plugins.read","threads.read"]', enabled = TRUE WHERE name = 'desk'`)
	path := filepath.Join(in.config.Plugins, "desk.txt")
	in.until("the desk's end", func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(content), "end\n")
	})
	want := []string{
		`install ferry "" -> "1.0.0" signed false, has [], wants [threads.read events.read turns.read turns.change] [], may grant [threads.read], settings true`,
		"done: 1.0.0, granted [threads.read], lacks [events.read turns.read turns.change]",
		"1.0.0 serves",
		"grant: desk may not grant events.read: it can grant what it has been granted itself, but for plugins.admin, " +
			"and no variables of the environment; an operator can: `harness plugin grant ferry events.read`",
		"upload: invalid_argument",
		"another plan's digest: failed_precondition",
		`upgrade ferry "1.0.0" -> "2.0.0" signed false, has [threads.read], wants [events.read turns.read turns.change] [], may grant [], settings true`,
		"done: 2.0.0, granted [threads.read], lacks [events.read turns.read turns.change]",
		"2.0.0 serves",
		`rollback ferry "2.0.0" -> "1.0.0" signed false, has [threads.read], wants [events.read turns.read turns.change] [], may grant [], settings true`,
		"done: 1.0.0, granted [threads.read], lacks [events.read turns.read turns.change]",
		"1.0.0 serves",
		`remove ferry "1.0.0" -> "" signed false, has [threads.read], wants [] [], may grant [], settings false`,
		"done: 1.0.0, granted [threads.read], lacks []",
	}
	got := lines(t, path)
	for n, line := range want {
		if n >= len(got) || got[n] != line {
			t.Fatalf("line %d: want %s\nof:\n%s", n, line, strings.Join(got, "\n"))
		}
	}
	entries, err := in.database().AuditEntries(t.Context(), ferryName, 20)
	var done []string
	for _, entry := range entries {
		done = append(done, entry.Who+" "+entry.Action)
	}
	slices.Sort(done)
	if got := strings.Join(done, ", "); err != nil || got != "plugin:desk plugin.disable, plugin:desk plugin.install, "+
		"plugin:desk plugin.remove, plugin:desk plugin.rollback, plugin:desk plugin.upgrade" {
		t.Errorf("the audit log has %s: %v", got, err)
	}
}
