package depot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// tamper makes a package writable, changes it, and leaves it so.
func tamper(t *testing.T, row ledger.Plugin, change func(dir string) error) {
	t.Helper()
	dir := filepath.Dir(row.Path)
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory of the test
		t.Fatal(err)
	}
	if err := change(dir); err != nil {
		t.Fatal(err)
	}
}

func overwrite(path, content string) error {
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a file of the test
		return err
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Chmod(path, 0o555) //nolint:gosec // as it was
}

// A changed plugin must not start, whatever was changed, and the operator must
// learn what it was.
func TestChangedPackagesAreFoundAndTheFileIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"the executable":     {func(dir string) error { return overwrite(filepath.Join(dir, "greeter"), "#!/bin/sh\nevil\n") }, `"greeter" has other content`},
		"another file":       {func(dir string) error { return overwrite(filepath.Join(dir, "lib.js"), "evil") }, `"lib.js" has other content`},
		"a file was added":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "preload.js"), nil, 0o600) }, `"preload.js" was added`},
		"a file was removed": {func(dir string) error { return os.Remove(filepath.Join(dir, "lib.js")) }, `"lib.js" is missing`},
		"a file may be run":  {func(dir string) error { return os.Chmod(filepath.Join(dir, "lib.js"), 0o755) }, `the mode of "lib.js" is another`}, //nolint:gosec // that is what is tested
		"a link was turned": {func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "link")); err != nil {
				return err
			}
			return os.Symlink("plugin.json", filepath.Join(dir, "link"))
		}, `"link" has other content`},
		"the executable is gone": {func(dir string) error { return os.Remove(filepath.Join(dir, "greeter")) }, `"greeter" is missing`},
		"all of it is gone":      {os.RemoveAll, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDepot(t, depot.Config{})
			row := keep(t, d, archive(t, t.TempDir(), good(t, "1", file("lib.js", "x"), link("link", "lib.js"))...))
			if err := d.Verify(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			tamper(t, row, test.change)
			wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, test.want, "harness plugin upgrade greeter PATH")
		})
	}
}

// Who changes a file may change the listing too: it is only for the words.
func TestAListingThatWasChangedTooIsNotBelieved(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	row := keep(t, d, archive(t, t.TempDir(), good(t, "1")...))
	tamper(t, row, func(dir string) error { return overwrite(filepath.Join(dir, "greeter"), "evil") })
	if err := overwrite(filepath.Join(dir, row.SHA256+".sum"), "harness-package 1\n"); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "which file cannot be said", "harness plugin trust greeter")
}

// A row that SQL points elsewhere does not make that run.
func TestOnlyThePinnedPackagesOwnExecutableMayRun(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	one := keep(t, d, archive(t, t.TempDir(), good(t, "1", file("lib.js", "x"))...))
	two := keep(t, d, archive(t, t.TempDir(), good(t, "2")...))
	for name, path := range map[string]string{
		"another package": two.Path, "another place": "/bin/sh", "up and down": filepath.Dir(one.Path) + "/../../x/greeter",
		"a file that may not be executed": filepath.Join(filepath.Dir(one.Path), "lib.js"),
		"a file that is not there":        filepath.Join(filepath.Dir(one.Path), "other"),
	} {
		row := one
		row.Path = path
		if err := d.Verify(t.Context(), row); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The same directory under another name is the same depot; another directory is
// not.
func TestTheDepotMayBeReachedByAnotherPath(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	row := keep(t, d, archive(t, t.TempDir(), good(t, "1")...))
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	if err := depot.New(depot.Config{Dir: alias}).Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
	moved, _ := newDepot(t, depot.Config{})
	same := keep(t, moved, archive(t, t.TempDir(), good(t, "1")...))
	wantError(t, moved.Verify(t.Context(), row), pluginsdk.CodeDenied, "another data directory", "harness plugin trust greeter")
	p, err := moved.StageAgain(t.Context(), row)
	if err != nil || p.SHA256 != same.SHA256 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := p.Discard(); err != nil {
		t.Error(err)
	}
}

// Plugins of the daemon's own directory are pinned by their executable alone.
func TestAFileIsPinnedByItsContent(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	path := filepath.Join(t.TempDir(), "time")
	write(t, path, []byte("one"), 0o700)
	sum, err := depot.SumFile(path)
	if err != nil {
		t.Fatal(err)
	}
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time", Origin: pluginsdk.OriginDirectory, SHA256: sum}, Path: path}
	if err := d.Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
	write(t, path, []byte("two"), 0o700)
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, path+" was changed", "harness plugin trust time")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "is missing")
	row.SHA256 = ""
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "has no pin")
	row.Origin = pluginsdk.OriginDev
	if err := d.Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
}

// An operator who meant the change says so: what lies there gets a pin of its own.
func TestAChangedPackageCanBeTakenAsItIs(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	source := beside(t, "1")
	renamed := filepath.Join(filepath.Dir(source), "greeter-linux-amd64")
	if err := os.Rename(source, renamed); err != nil {
		t.Fatal(err)
	}
	row := keep(t, d, renamed)
	tamper(t, row, func(string) error { return overwrite(row.Path, "#!/bin/sh\nfixed\n") })
	p, err := d.StageAgain(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	trusted := row
	trusted.SHA256 = p.SHA256
	if err := p.Keep(t.Context(), func(path string) error { trusted.Path = path; return nil }); err != nil {
		t.Fatal(err)
	}
	if trusted.SHA256 == row.SHA256 || filepath.Base(trusted.Path) != "greeter-linux-amd64" {
		t.Errorf("trusted: %+v", trusted)
	}
	if err := d.Verify(t.Context(), trusted); err != nil {
		t.Error(err)
	}
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "other content")
}
