package pluginhost

import (
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
