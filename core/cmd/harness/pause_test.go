package main

import (
	"strings"
	"testing"
)

// An operator who stops what plugins start is told what stands, and finds it in the
// audit log and in doctor.
func TestPauseAndResume(t *testing.T) {
	withPlugins(t)
	for _, step := range []struct{ command, says string }{
		{"resume", "It is not paused."}, {"pause", "Paused: nothing that a plugin starts is begun"},
		{"pause", "It has been paused since"}, {"resume", "Resumed: what plugins start is begun again"},
	} {
		if got := harness(t, "", step.command); got.code != 0 || !strings.Contains(got.out, step.says) {
			t.Errorf("%s: %+v, want %q", step.command, got, step.says)
		}
		if told := strings.Contains(harness(t, "", "doctor").out, "harness resume"); told != (step.command == "pause") {
			t.Errorf("after %s doctor tells of a pause: %v", step.command, told)
		}
	}
	if got := harness(t, "", "audit").out; strings.Count(got, "lever.on") != 1 || strings.Count(got, "lever.off") != 1 {
		t.Errorf("audited: %s", got)
	}
	if got := harness(t, "", "pause", "now"); got.code == 0 {
		t.Errorf("with an argument: %+v", got)
	}
}
