package depot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Installing again what was damaged puts it right.
func TestAddingAPackageAgainRepairsIt(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	source := archive(t, t.TempDir(), good(t, "1", file("lib/x", "x"))...)
	row := keep(t, d, source)
	for name, damage := range map[string]func(dir string) error{
		"a file":     func(dir string) error { return overwrite(filepath.Join(dir, "greeter"), "evil") },
		"everything": os.RemoveAll,
		"the listing": func(string) error {
			return overwrite(filepath.Join(dir, row.SHA256+".sum"), "nonsense")
		},
		"nothing": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "everything" {
				if err := os.Chmod(filepath.Join(filepath.Dir(row.Path), "lib"), 0o700); err != nil { //nolint:gosec // a directory of the test
					t.Fatal(err)
				}
			}
			tamper(t, row, damage)
			if again := keep(t, d, source); again.Path != row.Path {
				t.Errorf("it lies at %s now", again.Path)
			}
			if err := d.Verify(t.Context(), row); err != nil {
				t.Error(err)
			}
			if got := left(t, dir); !slices.Equal(got, sorted(row.SHA256, row.SHA256+".sum")) {
				t.Errorf("in the depot: %v", got)
			}
		})
	}
}

// Disk is not lost to versions that nothing goes back to; those that a row goes
// back to are kept.
func TestSweepRemovesWhatNoRowRefersTo(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	var versions []ledger.Plugin
	for _, version := range []string{"1", "2", "3"} {
		versions = append(versions, keep(t, d, archive(t, t.TempDir(), good(t, version, file("lib/x", "x"))...)))
	}
	write(t, filepath.Join(dir, "notes.txt"), nil, 0o600)
	if err := os.Mkdir(filepath.Join(dir, ".stage-killed"), 0o500); err != nil {
		t.Fatal(err)
	}
	row := versions[2]
	row.Previous = []ledger.PluginVersion{{Version: "1", Path: versions[0].Path, SHA256: versions[0].SHA256}}
	removed, err := d.Sweep(func() ([]ledger.Plugin, error) { return []ledger.Plugin{row}, nil })
	if err != nil || !slices.Equal(removed, []string{versions[1].SHA256}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	want := sorted(versions[0].SHA256, versions[0].SHA256+".sum", versions[2].SHA256, versions[2].SHA256+".sum", "notes.txt")
	if got := left(t, dir); !slices.Equal(got, want) {
		t.Errorf("left: %v\nwant: %v", got, want)
	}
}

// A package that is being shown to an operator is nobody's yet, and stays.
func TestSweepLeavesAloneWhatIsBeingAdded(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	p, err := d.Stage(t.Context(), archive(t, t.TempDir(), good(t, "1")...))
	if err != nil {
		t.Fatal(err)
	}
	nothing := func() ([]ledger.Plugin, error) { return nil, nil }
	if _, err := d.Sweep(nothing); err != nil {
		t.Fatal(err)
	}
	var committing, swept sync.WaitGroup
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Origin: pluginsdk.OriginStore, SHA256: p.SHA256}}
	committing.Add(1)
	swept.Go(func() {
		committing.Wait()
		registered := []ledger.Plugin{{PluginInfo: pluginsdk.PluginInfo{SHA256: p.SHA256}}}
		removed, err := d.Sweep(func() ([]ledger.Plugin, error) { return registered, nil })
		if err != nil || len(removed) != 0 {
			t.Errorf("removed %v, %v", removed, err)
		}
	})
	err = p.Keep(t.Context(), func(path string) error {
		committing.Done() // the sweep waits for this to be over
		row.Path = path
		return nil
	})
	swept.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
}

func TestAPackageThatCouldNotBeRegisteredIsSwept(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	p, err := d.Stage(t.Context(), archive(t, t.TempDir(), good(t, "1")...))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("database is away")
	if err := p.Keep(t.Context(), func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Sweep(func() ([]ledger.Plugin, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if names := left(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Two operators at once do not harm each other.
func TestPackagesCanBeAddedAtTheSameTime(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	source := archive(t, t.TempDir(), good(t, "1", file("lib/x", "x"))...)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			p, err := depot.New(depot.Config{Dir: dir}).Stage(t.Context(), source)
			if err == nil {
				err = p.Keep(t.Context(), func(string) error { return nil })
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	row := keep(t, d, source)
	if err := d.Verify(t.Context(), row); err != nil {
		t.Error(err)
	}
	if got := left(t, dir); !slices.Equal(got, sorted(row.SHA256, row.SHA256+".sum")) {
		t.Errorf("in the depot: %v", got)
	}
}

// A depot that was never used has nothing to sweep, and is not made for it.
func TestSweepOfNothingMakesNothing(t *testing.T) {
	d, dir := newDepot(t, depot.Config{})
	if _, err := d.Sweep(func() ([]ledger.Plugin, error) { return nil, errors.New("asked") }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
}
