package main

import (
	"database/sql"
	"path/filepath"
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

// metrics records an old one and a new one.
func metrics(t *testing.T, data string) {
	t.Helper()
	database := openStore(t, data)
	old := time.Now().AddDate(0, 0, -100)
	if err := database.RecordMetrics(t.Context(), "test", []pluginsdk.NewMetric{{Name: "a", At: old}, {Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDBPruneCountsAndDeletes(t *testing.T) {
	data, _ := inUse(t)
	metrics(t, data)
	got := harness(t, "", "db", "prune", "--older-than", "90d", "--dry-run")
	got.want(t, 0, "would be deleted:", "")
	got.want(t, 0, "  1 metrics", "")
	harness(t, "", "db", "prune", "--older-than", "90d", "--vacuum").want(t, 0, "  1 metrics", "")
	harness(t, "", "db", "prune", "--older-than", "90d").want(t, 0, "  0 metrics", "")
	for _, wrong := range []string{"", "90", "0d", "-1d", "d", "1w"} {
		harness(t, "", "db", "prune", "--older-than="+wrong).want(t, exitFailed, "", "--older-than")
	}
}

// What cannot be done as a whole is refused before half of it is done.
func TestDBPruneWithVacuumIsRefusedUnderADaemon(t *testing.T) {
	data, _ := inUse(t)
	metrics(t, data)
	pretendRunning(t, data)
	got := harness(t, "", "db", "prune", "--older-than", "90d", "--vacuum")
	got.want(t, exitFailed, "", "is in use by pid")
	got.want(t, exitFailed, "", "nothing was deleted")
	harness(t, "", "db", "prune", "--older-than", "90d", "--vacuum", "--dry-run").want(t, 0, "  1 metrics", "")
	harness(t, "", "db", "prune", "--older-than", "90d").want(t, 0, "  1 metrics", "")
}

// Whoever reads an error must learn that the rows are gone all the same.
func TestDBPruneThatCannotBeAuditedSaysWhatItDid(t *testing.T) {
	data, _ := inUse(t)
	metrics(t, data)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "harness.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const full = "CREATE TRIGGER full BEFORE INSERT ON audit_entries BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
	if _, err := db.ExecContext(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	got := harness(t, "", "db", "prune", "--older-than", "90d")
	got.want(t, exitFailed, "deleted:", "what is named above was deleted")
	got.want(t, exitFailed, "  1 metrics", "the disk is full")
	harness(t, "", "db", "prune", "--older-than", "90d", "--dry-run").want(t, 0, "  0 metrics", "")
}
