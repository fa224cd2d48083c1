package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// The test binary is the courier when the daemon starts it under that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == courier.Name {
		serve.Main(new(courier.Plugin))
	}
	os.Exit(m.Run())
}

// A handful of kills on SQLite with the demo agent: that nothing is lost, and
// that the campaign itself still works. The real one is make chaos.
func TestChaosShort(t *testing.T) {
	programs.Used()
	if testing.Short() {
		t.Skip("left out: -short, and this builds the daemon and its plugins and kills them for some seconds")
	}
	bin := t.TempDir()
	if err := programs.Installation(bin, "activity", "context", "cron", "time", "web", "delegation", "discord", "metrics", "worktree", "validation"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	kept := filepath.Join("..", "..", "..", "bin", "chaos") // as make chaos has it: temporary directories do not outlast the test
	violations, err := campaign(t.Context(), options{kills: 6, seed: 5, threads: 6, bin: bin, kept: kept, out: &out}, sqliteName)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(violations) > 0 {
		t.Errorf("promises were broken:\n%s", out.String())
	}
}
