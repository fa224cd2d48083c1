package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
)

// Who finds a plugin changed wants to know who did that, and when.
func TestTheAuditLogIsShown(t *testing.T) {
	withPlugins(t)
	if got := harness(t, "", "audit"); got.code != 0 || got.out != "There are no such entries.\n" {
		t.Errorf("of an untouched installation: %+v", got)
	}
	for _, args := range [][]string{{"enable", "time"}, {"disable", "activity"}, {"disable", "time"}} {
		if got := harness(t, "", append([]string{"plugin"}, args...)...); got.code != 0 {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	all := strings.Split(harness(t, "", "audit").out, "\n")
	if len(all) != 5 || !strings.Contains(all[2], "plugin.disable") || !strings.Contains(all[2], "activity") {
		t.Errorf("all: %q", all)
	}
	last := harness(t, "", "audit", "time", "-n", "1").out
	if strings.Count(last, "\n") != 2 || !strings.Contains(last, "operator") || !strings.Contains(last, "plugin.disable") || strings.Contains(last, "activity") {
		t.Errorf("the last of time: %s", last)
	}
	var entries []store.AuditEntry
	if err := json.Unmarshal([]byte(harness(t, "", "audit", "--json").out), &entries); err != nil || len(entries) != 3 || entries[0].CreatedAt.IsZero() {
		t.Errorf("as JSON: %+v, %v", entries, err)
	}
	if got := harness(t, "", "audit", "-n", "0"); got.code == 0 || !strings.Contains(got.err, "between 1 and 1000") {
		t.Errorf("none asked for: %+v", got)
	}
}
