package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDoctorGivesARemedyForEachFault(t *testing.T) {
	data := isolate(t)
	t.Setenv("HARNESS_CLAUDE", data+"/no-such-claude")
	port := freePort(t)
	got := harness(t, "", "doctor", "--port", port, "--plugins", data+"/nowhere")
	got.want(t, exitFailed, "✗ plugin directory: ", "")
	got.want(t, exitFailed, "    → run `make build`", "")
	got.want(t, exitFailed, "! agent: ", "") // the demo agent is a warning
	got.want(t, exitFailed, "✓ data directory: "+data, "")
	got.want(t, exitFailed, "1 of these must be put right", "")
	if faults, remedies := strings.Count(got.out, "✗ ")+strings.Count(got.out, "! "), strings.Count(got.out, "→ "); faults != remedies {
		t.Errorf("%d faults and %d remedies:\n%s", faults, remedies, got.out)
	}
}

// Who watches many installations reads the same from JSON.
func TestDoctorForPrograms(t *testing.T) {
	data := isolate(t)
	got := harness(t, "", "doctor", "--json", "--agent", "demo", "--port", freePort(t), "--plugins", data+"/nowhere")
	var report struct {
		OK     bool
		Checks []struct {
			Name, Detail, Remedy string
			OK                   bool
		}
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.OK || len(report.Checks) < 4 || got.code != exitFailed {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.out)
	}
	for _, check := range report.Checks {
		if !check.OK && check.Remedy == "" {
			t.Errorf("no remedy for %+v", check)
		}
	}
}
