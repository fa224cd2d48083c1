// Package examples_test runs what the example plugins bring along that Go does
// not run by itself. `make conformance` examines them from the outside.
package examples_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The copy has nothing that an earlier build has left in the folder.
func TestNodeExamplesPassTheirOwnTests(t *testing.T) {
	_ = os.Getenv("HARNESS_TEST_PROGRAMS") // another one when what Go has compiled is: go test does not see what make reads
	for _, need := range []string{"node", "npm", "make"} {
		if _, err := exec.LookPath(need); err != nil {
			if os.Getenv("HARNESS_TEST_REQUIRED") == "1" {
				t.Fatalf("%v; HARNESS_TEST_REQUIRED=1 does not allow that it is left out", err)
			}
			t.Skipf("%v: install Node.js with npm to test the plugins in Node.js", err)
		}
	}
	proto, err := filepath.Abs("../../proto")
	if err != nil {
		t.Fatal(err)
	}
	// go test tests this package again when something in a directory that it has listed is changed.
	if err := filepath.WalkDir(proto, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("node-*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("folders %v, %v", folders, err)
	}
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			dir := cleanCopy(t, folder)
			cmd := exec.CommandContext(t.Context(), "make", "test", "PROTO="+proto)
			cmd.Dir = dir
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("make test: %v\n%s", err, output)
			}
		})
	}
}

func cleanCopy(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"node_modules", "contract.json", "dist"} {
		if err := os.RemoveAll(filepath.Join(dir, made)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
