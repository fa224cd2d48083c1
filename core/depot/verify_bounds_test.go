package depot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sparse makes a file that takes no room and that nobody can read to its end.
func sparse(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755) //nolint:gosec // a file of the test
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(4<<40), file.Close())
}

// pipe puts a pipe that nobody writes to in the place of a file.
func pipe(path string) error {
	return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o755))
}

// A plugin that spoils its own package must not make the daemon, which compares
// it before a start, hang.
func TestAPackageThatCannotBeReadToItsEndIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"an endless file was added": {func(dir string) error { return sparse(filepath.Join(dir, "big")) }, `"big" was added`},
		"the executable is endless": {func(dir string) error { return sparse(filepath.Join(dir, "greeter")) }, `"greeter" makes it larger`},
		"the executable is a pipe":  {func(dir string) error { return pipe(filepath.Join(dir, "greeter")) }, `"greeter" is neither a file`},
		"the listing is a pipe": {func(dir string) error {
			return errors.Join(pipe(dir+".sum"), overwrite(filepath.Join(dir, "greeter"), "x"))
		}, "cannot be said"},
		"the listing is gone, one is new": {func(dir string) error { return errors.Join(os.Remove(dir+".sum"), sparse(filepath.Join(dir, "big"))) }, `"big" makes it larger`},
		"too many files": {func(dir string) error {
			if err := os.Remove(dir + ".sum"); err != nil {
				return err
			}
			for n := range 30 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "more than 20 files"},
		"too many directories": {func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 30)), 0o700)
		}, "more than 20 files"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDepot(t, depot.Config{MaxFiles: 20, MaxBytes: 1 << 20})
			row := keep(t, d, archive(t, t.TempDir(), good(t, "1")...))
			tamper(t, row, func(dir string) error {
				_ = os.Chmod(filepath.Join(dir, "greeter"), 0o700) //nolint:gosec // a file of the test
				return test.change(dir)
			})
			wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, test.want)
		})
	}
}

// The same holds for a plugin of the daemon's own directory.
func TestAnExecutableThatCannotBeReadToItsEndIsRefused(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	path := filepath.Join(t.TempDir(), "time")
	row := ledger.Plugin{
		PluginInfo: pluginsdk.PluginInfo{Name: "time", Origin: pluginsdk.OriginDirectory, SHA256: strings.Repeat("0", 64)}, Path: path,
	}
	if err := sparse(path); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "is larger than 512 MiB")
	if err := pipe(path); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Verify(t.Context(), row), pluginsdk.CodeDenied, "is not a file")
	if _, err := depot.SumFile(path); err == nil {
		t.Error("a pipe has a sum")
	}
}

// Who waits for the answer can stop waiting; the plugin is not called changed
// for that.
func TestVerifyEndsWithItsContext(t *testing.T) {
	d, _ := newDepot(t, depot.Config{})
	row := keep(t, d, archive(t, t.TempDir(), good(t, "1")...))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, origin := range []pluginsdk.PluginOrigin{pluginsdk.OriginStore, pluginsdk.OriginDirectory} {
		row.Origin = origin
		if err := d.Verify(ctx, row); !errors.Is(err, context.Canceled) || pluginsdk.CodeOf(err) == pluginsdk.CodeDenied {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// Where signatures are required, `trust` takes nothing that has none: advice to
// use it leads nowhere.
func TestAdviceUnderRequiredSignatures(t *testing.T) {
	free, dir := newDepot(t, depot.Config{})
	row := keep(t, free, archive(t, t.TempDir(), good(t, "1")...))
	elsewhere, _ := newDepot(t, depot.Config{RequireSignature: true})
	strict := depot.New(depot.Config{Dir: dir, RequireSignature: true})
	tamper(t, row, func(string) error { return overwrite(row.Path, "evil") })
	unpinned := row
	unpinned.SHA256 = ""
	for name, err := range map[string]error{
		"moved": elsewhere.Verify(t.Context(), row), "changed": strict.Verify(t.Context(), row), "unpinned": strict.Verify(t.Context(), unpinned),
	} {
		wantError(t, err, pluginsdk.CodeDenied, "harness plugin upgrade greeter PATH")
		if strings.Contains(err.Error(), "trust") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
