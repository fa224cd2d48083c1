package budget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Somebody who costs far more than in its own last weeks is told once a day, and named by doctor; who always costs
// as much, who costs next to nothing, and who is new are not.
func TestASpikeIsToldOnceADay(t *testing.T) {
	w := newWorld(t, nil)
	spend := func(plugin string, usd float64, daysAgo int) {
		w.host.AddTurn(plugintest.Turn{Plugin: plugin, ThreadID: "t1", At: w.now.Add(-time.Duration(daysAgo)*24*time.Hour - time.Hour), Usage: pluginsdk.UsageSum{CostUSD: usd}})
	}
	for day := 2; day <= 28; day++ {
		spend("looper", 0.5, day)
		spend("steady", 3, day)
		spend("cheap", 0.01, day)
	}
	spend("looper", 2.5, 0)
	spend("steady", 3.5, 0)
	spend("cheap", 0.9, 0)
	spend("newcomer", 5, 0)
	look := func() {
		t.Helper()
		if err := w.own.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	told := func() (words []string) {
		for _, m := range w.host.Messages("primary") {
			words = append(words, m.Content)
		}
		return words
	}
	look()
	want := "Spending is unusual: the plugin looper cost $2.50 in the last 24 hours; on a usual day of the four weeks before it was $0.50."
	if got := told(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Fatalf("people are told %q, want %q alone", got, want)
	}
	if checks := strings.Join(w.checks(), "\n"); !strings.Contains(checks, "the plugin looper cost $2.50") || strings.Contains(checks, "steady") {
		t.Errorf("doctor says %s", checks)
	}
	reads := func() (n int) {
		for _, call := range w.host.Calls() {
			if call.Method == "Installation.Usage" {
				n++
			}
		}
		return n
	}
	calls := reads()
	look()
	if n := reads(); n != calls || n == 0 {
		t.Errorf("within the hour it has read usage %d times more", n-calls)
	}
	w.now = w.now.Add(2 * time.Hour)
	look()
	if got := told(); len(got) != 1 {
		t.Errorf("on the same day people are told again: %q", got)
	}
	w.now = w.now.Add(48 * time.Hour)
	look()
	if checks := strings.Join(w.checks(), "\n"); strings.Contains(checks, "looper") {
		t.Errorf("two days later doctor says %s", checks)
	}
}

// A thread that usually costs little is not among those that cost the most, and its spike is told all the same.
func TestTheSpikeOfACheapThreadIsTold(t *testing.T) {
	w := newWorld(t, nil)
	for week := range burnWeeks {
		at := w.now.AddDate(0, 0, -7*week-2)
		for n := range countedNames + 1 {
			w.host.AddTurn(plugintest.Turn{ThreadID: fmt.Sprint("dear", n), At: at, Usage: pluginsdk.UsageSum{CostUSD: 2}})
		}
		w.host.AddTurn(plugintest.Turn{ThreadID: "talk", At: at, Usage: pluginsdk.UsageSum{CostUSD: 0.7}})
	}
	w.spends(1, 3, plugintest.Turn{ThreadID: "talk"})
	if err := w.own.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := w.host.Messages("primary"); len(told) != 1 || !strings.Contains(told[0].Content, "the thread talk cost $3.00 in the last 24 hours; on a usual day of the four weeks before it was $0.10") {
		t.Errorf("people are told %+v", told)
	}
}

// What costs a little each day and is read by nobody goes on for months: people are told of it, once a week. What
// somebody opens, and what does not cost something every day, is not told of.
func TestAThreadThatCostsAndNobodyOpensIsTold(t *testing.T) {
	w := newWorld(t, nil)
	w.now = w.now.Truncate(24 * time.Hour).Add(12 * time.Hour)
	for _, id := range []string{"digest", "opened", "seldom"} {
		thread := pluginsdk.Thread{ID: id, Name: "The " + id, Source: "cron", SourceID: id, Kind: pluginsdk.ThreadCron, LastActivity: w.now}
		w.host.AddThread(thread)
		var last int64
		for range 20 {
			last = w.host.AddMessage(pluginsdk.Message{ThreadID: id, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Source: "agent", Content: "news"})
		}
		for day := 1; day <= 20; day++ {
			if id == "seldom" && day == 9 {
				continue
			}
			w.host.AddTurn(plugintest.Turn{ThreadID: id, At: w.now.AddDate(0, 0, -day), Usage: pluginsdk.UsageSum{CostUSD: 0.15}})
		}
		if id == "opened" {
			thread.LastReadMessageID = last
			w.host.AddThread(thread)
		}
	}
	told := func() (words []string) {
		t.Helper()
		if err := w.own.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.host.Messages("primary") {
			words = append(words, m.Content)
		}
		return words
	}
	want := `the thread "The digest" has cost $2.10 in the last 14 days, at least $0.10 on each of them, and nobody has opened it`
	if got := told(); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Fatalf("people are told %q, want %q alone", got, want)
	}
	if got := told(); len(got) != 1 {
		t.Errorf("it is told again: %q", got)
	}
}
