package daemon_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// packed makes a package of an exhibit. Its plugin.json is a plain guest's,
// whatever the exhibit says about itself.
func (h *hall) packed(name, version string, files ...string) *depot.Package {
	h.t.Helper()
	dir := h.t.TempDir()
	described, err := exec.CommandContext(h.t.Context(), filepath.Join(h.config.Plugins, witnessName), "--describe").Output()
	h.must(err)
	var manifest pluginsdk.Manifest
	h.must(json.Unmarshal(described, &manifest))
	manifest.Name, manifest.Version = name, version
	static, err := json.Marshal(manifest)
	h.must(err)
	binary, err := os.ReadFile(filepath.Join(pluginDir, "gallery"))
	h.must(err)
	h.must(os.WriteFile(filepath.Join(dir, depot.ManifestFile), static, 0o600))
	h.must(os.WriteFile(filepath.Join(dir, name), binary, 0o700)) //nolint:gosec // an executable
	for _, file := range files {
		h.must(os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	packages, err := h.config.Depot()
	h.must(err)
	p, err := packages.Stage(h.t.Context(), dir)
	h.must(err)
	return p
}

// keep installs a package, as `harness plugin install` and `trust` do.
func (h *hall) keep(p *depot.Package) {
	h.t.Helper()
	h.must(p.Keep(h.t.Context(), func(path string) error {
		return h.store.InstallPlugin(h.t.Context(), ledger.Plugin{Path: path, PluginInfo: pluginsdk.PluginInfo{
			Name: p.Manifest.Name, Origin: pluginsdk.OriginStore, SHA256: p.SHA256,
			Version: p.Manifest.Version, Manifest: p.Manifest,
		}})
	}))
}

// A plugin that is not what it was when the operator installed it does not run,
// and the operator is told what is different and what can be done. Everything
// else goes on.
func TestGalleryOfInstalledPlugins(t *testing.T) {
	if !alone() {
		t.Parallel()
	}
	for _, row := range []struct {
		name  string
		first pluginsdk.PluginState // before it is asked anything
		says  []string
	}{
		{"liar", pluginsdk.PluginFailed, []string{"not what its plugin.json said when it was installed", "they differ in capabilities, commands, hooks"}},
		{"fickle", pluginsdk.PluginServing, []string{"not what its plugin.json said when it was installed", "they differ in capabilities"}},
		{"moth", pluginsdk.PluginServing, []string{
			"was changed after it was installed", `"moth" has other content`, "`harness plugin upgrade moth PATH`", "`harness plugin trust moth`",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if !apart(t) {
				return
			}
			h := openHall(t, nil)
			h.config.PluginBackoff = 20 * time.Millisecond
			h.open()
			h.keep(h.packed(row.name, "1.0.0"))
			h.turns(audience)
			before := h.rest()
			h.adopt(exhibit{name: row.name})
			h.await(row.name, row.first)
			h.turns(audience)
			h.await(row.name, pluginsdk.PluginFailed)
			if got := h.row(row.name); !containsAll(got.LastError, row.says) || !slices.Equal(got.Granted, hookRights) {
				t.Errorf("the operator reads %q; granted %v", got.LastError, got.Granted)
			}
			h.turns(audience)
			h.disable(row.name)
			before.temporary++ // fickle remembers that it is known
			h.settle(before)
		})
	}
}

// Somebody changes an installed plugin while the daemon is down.
func TestInstalledPluginThatWasChangedOnDiskDoesNotStart(t *testing.T) {
	if !apart(t) {
		return
	}
	h := openHall(t, nil)
	stop := h.open()
	h.keep(h.packed("reformed", "1.0.0", "reformed.txt"))
	h.adopt(exhibit{name: "reformed"})
	h.await("reformed", pluginsdk.PluginServing)
	stop()

	pinned := h.row("reformed")
	h.must(os.Chmod(filepath.Dir(pinned.Path), 0o700)) //nolint:gosec // it was read-only
	h.must(os.Chmod(pinned.Path, 0o700))               //nolint:gosec // an executable
	file, err := os.OpenFile(pinned.Path, os.O_APPEND|os.O_WRONLY, 0)
	h.must(err)
	_, err = file.WriteString("one byte more")
	h.must(err)
	h.must(file.Close())

	h.start()
	h.listen()
	h.await("reformed", pluginsdk.PluginFailed)
	words := []string{"was changed after it was installed", `"reformed" has other content`, "harness plugin upgrade reformed PATH", "harness plugin trust reformed"}
	if got := h.row("reformed").LastError; !containsAll(got, words) {
		t.Errorf("the operator reads %q", got)
	}
	h.saidInLog(exhibit{name: "reformed", log: append(words[:1:1], "may not be started")})
	h.turns(audience)

	packages, err := h.config.Depot()
	h.must(err)
	again, err := packages.StageAgain(t.Context(), h.row("reformed"))
	h.must(err)
	h.keep(again)
	h.await("reformed", pluginsdk.PluginServing)
	if now := h.row("reformed"); now.SHA256 == pinned.SHA256 {
		t.Error("it serves under the old pin")
	}
}

// A quarantine is a decision that lasts: a restart of the daemon does not end
// it. The operator does, and so does another version.
func TestQuarantineOutlivesTheDaemon(t *testing.T) {
	if !apart(t) {
		return
	}
	h := openHall(t, func(c *pluginhost.Config) { c.Failures = 3 }, "reformed")
	h.config.PluginBackoff = 10 * time.Millisecond
	stop := h.open()
	h.adopt(exhibit{name: "reformed"})
	h.await("reformed", pluginsdk.PluginQuarantined)
	confined := h.row("reformed")
	if !containsAll(confined.Quarantine, []string{"it failed 3 times within 10m0s", "the port is taken, as always", "Its log ends with"}) {
		t.Errorf("the quarantine says %q", confined.Quarantine)
	}
	restart := func() {
		t.Helper()
		stop()
		stop = h.start()
		h.listen()
	}
	stays := func(when string, restarts int) {
		t.Helper()
		h.await("reformed", pluginsdk.PluginQuarantined)
		h.turns(audience)
		now := h.row("reformed")
		if now.State != pluginsdk.PluginQuarantined || now.Quarantine == "" || now.Restarts != restarts {
			t.Errorf("%s: it is %s, with %d restarts: %q", when, now.State, now.Restarts, now.Quarantine)
		}
	}
	stays("before the restart", confined.Restarts)
	restart()
	stays("after the restart", confined.Restarts)

	h.must(h.store.SetPluginEnabled(t.Context(), "reformed", true)) // the operator tries again
	h.until("another three failures", func() bool { return h.row("reformed").Restarts == confined.Restarts+3 })
	stays("after the operator's try", confined.Restarts+3)

	h.another("reformed")
	h.must(os.WriteFile(filepath.Join(h.config.Plugins, "reformed.txt"), nil, 0o600))
	stays("while the daemon has not seen the new file", confined.Restarts+3)
	restart()
	h.await("reformed", pluginsdk.PluginServing)
	entries, err := h.store.AuditEntries(t.Context(), "", 10)
	h.must(err)
	if last := entries[len(entries)-1]; last.Action != "plugin.pin" || last.Target != "reformed" || !strings.Contains(last.Detail, "out of quarantine") {
		t.Errorf("the last entry is %+v", last)
	}

	h.must(h.store.SetPluginQuarantine(t.Context(), "reformed", "for the test"))
	h.keep(h.packed("reformed", "2.0.0", "reformed.txt"))
	h.until("version 2", func() bool {
		now := h.row("reformed")
		return now.State == pluginsdk.PluginServing && now.Version == "2.0.0" && now.Quarantine == ""
	})
}

// another puts an executable with other bytes, which does the same, in the
// place of a plugin of the directory.
func (h *hall) another(name string) {
	h.t.Helper()
	binary, err := os.ReadFile(filepath.Join(pluginDir, "gallery"))
	h.must(err)
	path := filepath.Join(h.config.Plugins, name)
	h.must(os.Remove(path))
	h.must(os.WriteFile(path, append(binary, "another"...), 0o700)) //nolint:gosec // an executable
}
