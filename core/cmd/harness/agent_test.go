package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever upgrades the CLI reads what it breaks, and a script knows by the exit code.
func TestAgentCheckSaysWhatIsBroken(t *testing.T) {
	isolate(t)
	binary := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho '9.9.9 (Claude Code)'\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	got := harness(t, "", "agent", "check", "--claude", binary)
	for _, want := range []string{"Claude CLI 9.9.9 (" + binary + ")", "this version is newer", "✗ starts and answers: broken\n      ", "\n0 hold, 0 differ, "} {
		got.want(t, exitFailed, want, "")
	}
	t.Setenv("HARNESS_CLAUDE", binary)
	got = harness(t, "", "agent", "check", "--json")
	var report struct {
		Version, Oldest, Newest string
		Lines                   []struct{ Name, State, Words string }
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFailed || report.Version != "9.9.9" || report.Oldest == "" {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.out)
	}
	for _, line := range report.Lines {
		if line.State != "broken" || line.Words == "" {
			t.Errorf("%+v", line)
		}
	}
	t.Setenv("HARNESS_CLAUDE", binary+"-not-there")
	if got = harness(t, "", "agent", "check"); got.code != exitFailed || !strings.Contains(got.err, "npm install") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}
