package daemon

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// spentOn records turns of these models that began at a time. Their cost may be wrong.
func spentOn(t *testing.T, config Config, at time.Time, threadID, taskID string, models ...string) {
	t.Helper()
	driver, source := "sqlite", "file:"+filepath.Join(config.Data, "harness.db")
	if config.DatabaseURL != "" {
		driver, source = "postgres", config.DatabaseURL
	}
	db, err := sql.Open(driver, source)
	for _, model := range models {
		if err == nil {
			_, err = db.ExecContext(t.Context(), `INSERT INTO agent_runs (run_id, thread_id, task_id, purpose, model, cost_usd, cost_unsure, success, started_at) VALUES ('R', $1, $2, 'pipeline', $3, 1, true, true, $4)`,
				threadID, taskID, model, at.UTC())
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// Whoever sets budgets has to know that they go by prices that are old, wrong or guessed.
func TestDoctorLooksAtThePrices(t *testing.T) {
	config := ailing(t)
	config.Agent = "auto"
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	want := func(now time.Time, words ...string) {
		t.Helper()
		var all []string
		for _, check := range checkPrices(t.Context(), config, database, now) {
			if check.OK || !check.Optional || check.Remedy == "" {
				t.Errorf("%+v", check)
			}
			all = append(all, check.Detail)
		}
		if len(all) != len(words) || slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(strings.Join(all, "\n"), word) }) {
			t.Errorf("it says %q, want %q", all, words)
		}
	}
	spentOn(t, config, now.Add(-24*time.Hour), "T", "", "claude-sonnet-4-6")
	spentOn(t, config, now.Add(-8*24*time.Hour), "T", "", "claude-forgotten-1")
	want(now)
	spentOn(t, config, now.Add(-24*time.Hour), "T", "", "claude-unheard-1", "claude-unheard-2")
	want(now, "models without a price were used in the last 7 days: claude-unheard-1, claude-unheard-2; caps and budgets price them as the dearest known one, opus-4-1 ($15 in, $75 out for a million tokens)")
	later := now.AddDate(1, 0, 0)
	want(later, "the prices were compared with their sources on 2026-11-23, 373 days ago")

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config.prices(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"checked": "2027-11-01", "models": [{"model": "unheard", "prices": [{"from": "2026-11-01", "input": 1, "output": 2, "source": "contract"}]}]}`)
	want(later)
	write(`{"checked": "2027-11-01", "models": []}`)
	want(now, "on a day that has not come: 2027-11-01", "claude-unheard-1")
	write("{\n  \"models\": [{\"model\": \"unheard\", \"prices\": [{\"from\": \"2026-11-01\", \"input\": -1, \"output\": 2, \"source\": \"contract\"}]}]}")
	want(now, "line 2: models[0].prices[0].input: must be a number from 0 to 100000, got -1", "claude-unheard-1")
}

// The sign for a cost that may be wrong has its true reason, and people know threads and tasks by
// their names.
func TestUsageSaysNamesAndModelsWithoutAPrice(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		thread, _, err := room.store.CreateThread(t.Context(), pluginsdk.NewThread{Name: "Plans", Source: "chat", SourceID: "plans"})
		if err != nil {
			t.Fatal(err)
		}
		task, _, err := room.store.CreateTask(t.Context(), ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "\n Dig a hole\nhere"}})
		if err != nil {
			t.Fatal(err)
		}
		spentOn(t, room.config, time.Now(), thread.ID, task.ID, "claude-unheard-1", "claude-sonnet-4-6", "demo")
		for _, by := range []pluginsdk.UsageBy{"", pluginsdk.UsageByThread, pluginsdk.UsageByTask, pluginsdk.UsageByModel} {
			usage, err := room.Usage(t.Context(), pluginsdk.UsageRequest{By: by, ThreadID: thread.ID})
			if err != nil || len(usage.Unpriced) != 1 || usage.Unpriced[0].Of != "claude-unheard-1" || usage.Unpriced[0].Unsure != 1 {
				t.Errorf("by %q: %+v, %v", by, usage, err)
			}
			if by == pluginsdk.UsageByThread && (len(usage.Sums) != 1 || usage.Sums[0].Name != "Plans") {
				t.Errorf("by thread: %+v", usage.Sums)
			}
			if by == pluginsdk.UsageByTask && (len(usage.Sums) != 1 || usage.Sums[0].Name != "Dig a hole") {
				t.Errorf("by task: %+v", usage.Sums)
			}
		}
	})
}

// People are told of a model without a price once, however often the daemon is started anew.
func TestPeopleAreToldOnceOfAModelWithoutAPrice(t *testing.T) {
	config := ailing(t)
	for range 2 {
		d, err := New(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		d.tellUnpriced("claude-unheard-1")
		d.tellUnpriced("claude-unheard-2")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	primary, err := database.Primary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages, err := database.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: primary.ID})
	if err != nil || len(messages) != 2 {
		t.Fatalf("%+v, %v", messages, err)
	}
	for n, model := range []string{"claude-unheard-1", "claude-unheard-2"} {
		if m := messages[n]; m.Kind != pluginsdk.MessageNotification || !strings.Contains(m.Content, "The price of the model "+model+" is not known.") ||
			!strings.Contains(m.Content, "opus-4-1 ($15 in, $75 out for a million tokens)") || !strings.Contains(m.Content, config.prices()) {
			t.Errorf("%+v", m)
		}
	}
}
