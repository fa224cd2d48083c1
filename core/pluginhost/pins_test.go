package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What saves a second reading of every file at the daemon's start must not let
// in a file that was changed in between, nor one of a later start.
func TestAPinStandsForItsFileOnlyOnceAndUnchanged(t *testing.T) {
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "first", Origin: pluginsdk.OriginDirectory}, Path: filepath.Join(t.TempDir(), "first")}
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // it is an executable
			t.Fatal(err)
		}
	}
	for name, step := range map[string]struct {
		between func(*ledger.Plugin)
		holds   bool
	}{
		"nothing":                {func(*ledger.Plugin) {}, runtime.GOOS == "linux"},
		"another file":           {func(*ledger.Plugin) { write(row.Path+"-2", "one"); _ = os.Rename(row.Path+"-2", row.Path) }, false},
		"another size":           {func(*ledger.Plugin) { write(row.Path, "another") }, false},
		"gone":                   {func(*ledger.Plugin) { _ = os.Remove(row.Path) }, false},
		"pinned to another":      {func(r *ledger.Plugin) { r.SHA256 = "another" }, false},
		"installed from a store": {func(r *ledger.Plugin) { r.Origin = pluginsdk.OriginStore }, false},
	} {
		t.Run(name, func(t *testing.T) {
			write(row.Path, "one")
			var p pins
			rows := []ledger.Plugin{row}
			if err := p.take(rows); err != nil {
				t.Fatal(err)
			}
			step.between(&rows[0])
			if got := p.holds(rows[0]); got != step.holds {
				t.Errorf("it holds: %v", got)
			}
			if p.holds(rows[0]) {
				t.Error("it holds for a second start")
			}
		})
	}
}

// The shipped plugins are links to one file. Reading it once for each of them would make the
// daemon's start longer; but a link that leads elsewhere a moment later has another pin.
func TestAFileOfManyLinksIsHashedOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // it is an executable
			t.Fatal(err)
		}
		return path
	}
	write("program", "all of them")
	rows := make([]ledger.Plugin, 4)
	for n, name := range []string{"a", "b", "c", "alone"} {
		rows[n] = ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name, Origin: pluginsdk.OriginDirectory}, Path: filepath.Join(dir, name)}
		if name == "alone" {
			write(name, "another")
		} else if err := os.Symlink("program", rows[n].Path); err != nil {
			t.Fatal(err)
		}
	}
	one, shared := byFile(rows)
	if runtime.GOOS == "linux" && (len(one) != 2 || len(shared) != 2) {
		t.Errorf("%v are hashed, %v are not", one, shared)
	}
	var p pins
	if err := p.take(rows); err != nil {
		t.Fatal(err)
	}
	if rows[0].SHA256 != rows[1].SHA256 || rows[1].SHA256 != rows[2].SHA256 || rows[2].SHA256 == rows[3].SHA256 {
		t.Errorf("the pins are %q, %q, %q, %q", rows[0].SHA256, rows[1].SHA256, rows[2].SHA256, rows[3].SHA256)
	}
	write("program-2", "all of them") // the same content, and another file
	if err := errors.Join(os.Symlink("program-2", filepath.Join(dir, "b-2")), os.Rename(filepath.Join(dir, "b-2"), rows[1].Path)); err != nil {
		t.Fatal(err)
	}
	for n, holds := range []bool{true, false, true, true} {
		if got := p.holds(rows[n]); got != (holds && runtime.GOOS == "linux") {
			t.Errorf("the pin of %s holds: %v", rows[n].Name, got)
		}
	}
	write("program", "changed in place")
	if p.holds(rows[0]) || p.holds(rows[2]) {
		t.Error("a pin holds for a file that has changed")
	}
}
