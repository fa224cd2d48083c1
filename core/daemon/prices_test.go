package daemon

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// spentOn records turns of these models that began at a time. Their cost may be wrong.
func spentOn(t *testing.T, config Config, at time.Time, models ...string) {
	t.Helper()
	for _, model := range models {
		alter(t, config, fmt.Sprintf("INSERT INTO agent_runs (run_id, thread_id, purpose, model, cost_usd, cost_unsure, success, started_at) VALUES ('R', 'T', 'pipeline', '%s', 1, true, true, '%s')",
			model, at.Format("2006-01-02 15:04:05.000000000-07:00")))
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
	spentOn(t, config, now.Add(-24*time.Hour), "claude-sonnet-4-6")
	spentOn(t, config, now.Add(-8*24*time.Hour), "claude-forgotten-1")
	want(now)
	spentOn(t, config, now.Add(-24*time.Hour), "claude-unheard-1", "claude-unheard-2")
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
