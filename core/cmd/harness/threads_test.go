package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestThreadsAreListedTheLatestFirst(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.AddThread(pluginsdk.Thread{
		ID: "t-2", Source: "discord", Kind: pluginsdk.ThreadGeneral, LastActivity: time.Now().Add(-2 * time.Minute),
	})
	got := harness(t, "", "threads", "--url", daemon.URL())
	lines := strings.Split(got.out, "\n")
	if got.code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[1], "t-2") || !strings.HasPrefix(lines[2], clienttest.Primary) {
		t.Fatalf("%+v", got)
	}
	for _, field := range []string{"general", "discord", "2 minutes"} {
		if !strings.Contains(lines[1], field) {
			t.Errorf("line %q lacks %q", lines[1], field)
		}
	}
	var threads []pluginsdk.Thread
	asJSON := harness(t, "", "threads", "--url", daemon.URL(), "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &threads); err != nil || len(threads) != 2 || threads[0].ID != "t-2" {
		t.Errorf("--json: %v\n%s", err, asJSON.out)
	}
}
