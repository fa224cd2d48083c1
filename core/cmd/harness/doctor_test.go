package main

import (
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
