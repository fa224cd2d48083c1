package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// An orphan without the mark is one that the daemon itself cannot find: it must
// not be missed here too.
func TestAProcessIsFoundByItsMarkAndByWhereItIs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const mark = "HARNESS_OWNER=of-this-test"
	start := func(dir string, env ...string) int {
		command := exec.CommandContext(t.Context(), "sleep", "600")
		command.Dir, command.Env = dir, env
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
		return command.Process.Pid
	}
	want := map[int]bool{start(t.TempDir(), mark): true, start(dir, "A=b"): false}
	stranger := start(dir+"/..", "A=b")
	found := processesOf(mark, dir)
	for pid, marked := range want {
		if !slices.ContainsFunc(found, func(p process) bool { return p.pid == pid && p.marked == marked && p.name == "sleep" }) {
			t.Errorf("process %d (marked: %t) is not among %+v", pid, marked, found)
		}
	}
	if slices.ContainsFunc(found, func(p process) bool { return p.pid == stranger }) {
		t.Errorf("process %d is nobody's, and is among %+v", stranger, found)
	}
}
