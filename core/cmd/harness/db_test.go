package main

import (
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestDBStatusSaysWhereAndWho(t *testing.T) {
	data, _ := inUse(t)
	got := harness(t, "", "db", "status")
	got.want(t, 0, "SQLite at "+data, "")
	got.want(t, 0, ", current", "")
	got.want(t, 0, "nobody; the daemon is down", "")
	pretendRunning(t, data)
	got = harness(t, "", "db", "status")
	got.want(t, 0, "pid ", "")
	if row := fields(got.out, "messages"); len(row) != 2 || row[1] != "3" {
		t.Errorf("messages: %v\n%s", row, got.out)
	}
	harness(t, "", "db", "status", "--json").want(t, 0, `"holder": "pid `, "")
	harness(t, "", "db", "migrate").want(t, exitFailed, "", "is in use by pid")
}

func TestDBMigrateSaysThatThereIsNothingToDo(t *testing.T) {
	inUse(t)
	harness(t, "", "db", "migrate").want(t, 0, "there is nothing to do", "")
}

func TestDBPruneCountsAndDeletes(t *testing.T) {
	data, _ := inUse(t)
	database := openStore(t, data)
	old := time.Now().AddDate(0, 0, -100)
	if err := database.RecordMetrics(t.Context(), []pluginsdk.Metric{{Name: "a", CreatedAt: old}, {Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	got := harness(t, "", "db", "prune", "--older-than", "90d", "--dry-run")
	got.want(t, 0, "would be deleted:", "")
	got.want(t, 0, "  1 metrics", "")
	harness(t, "", "db", "prune", "--older-than", "90d", "--vacuum").want(t, 0, "  1 metrics", "")
	harness(t, "", "db", "prune", "--older-than", "90d").want(t, 0, "  0 metrics", "")
	pretendRunning(t, data)
	harness(t, "", "db", "prune", "--older-than", "90d", "--vacuum").want(t, exitFailed, "", "is in use by pid")
	for _, wrong := range []string{"", "90", "0d", "-1d", "d", "1w"} {
		harness(t, "", "db", "prune", "--older-than="+wrong).want(t, exitFailed, "", "--older-than")
	}
}
