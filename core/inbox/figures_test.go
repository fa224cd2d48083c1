package inbox

import (
	"context"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// value is a figure's for a label's value; it fails without one.
func value(t *testing.T, figures []pluginsdk.Figure, name, label string) float64 {
	t.Helper()
	for _, figure := range figures {
		for _, sample := range figure.Samples {
			for _, has := range sample.Labels {
				if figure.Name == name && has == label {
					return sample.Value
				}
			}
			if figure.Name == name && label == "" {
				return sample.Value
			}
		}
	}
	t.Errorf("%s of %q is not told", name, label)
	return -1
}

// An operator who is told that nothing gets done sees whether runs come in, have no
// place, fail and are tried again, or were cancelled by somebody.
func TestWhatTheInboxDoesIsCounted(t *testing.T) {
	f := newFixture(t, Config{RetryBase: time.Millisecond})
	entered, release := make(chan struct{}), make(chan struct{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		switch {
		case claim.Message.Content == "long":
			close(entered)
			<-release
		case claim.Run.Attempt == 1:
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away")
		}
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "long")
	<-entered
	f.submit(t, "T", "1", "long") // a repetition
	f.submit(t, "T", "2", "/status")
	queued := f.submit(t, "T", "3", "never runs")
	if taken := value(t, f.Figures(), "harness_places_taken", "people"); taken != 1 {
		t.Errorf("%v places are taken", taken)
	}
	if _, err := f.Cancel(t.Context(), queued.RunID, ledger.By{}); err != nil {
		t.Fatal(err)
	}
	f.submit(t, "T", "4", "at the second attempt")
	close(release)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	now := f.Figures()
	for _, want := range []struct {
		name, label string
		value       float64
	}{
		{"harness_runs_accepted_total", "message", 3},
		{"harness_runs_accepted_total", "command", 0},
		{"harness_runs_dropped_total", "", 1},
		{"harness_run_retries_total", "", 1},
		{"harness_places", "", 5},
		{"harness_paused", "", 0},
	} {
		if got := value(t, now, want.name, want.label); got != want.value {
			t.Errorf("%s of %q is %v, want %v", want.name, want.label, got, want.value)
		}
	}
}

// Whether it is people who wait, or only what plugins have started, decides whether
// somebody is woken.
func TestWhatWaitsIsToldByTheClassOfItsPlace(t *testing.T) {
	f, at := newFixture(t, Config{}), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	figures := f.Queued([]ledger.Backlog{
		{Thread: pluginsdk.ThreadPrimary, Runs: 1, Oldest: at.Add(-time.Second)},
		{Thread: pluginsdk.ThreadGeneral, Runs: 2, Oldest: at.Add(-time.Minute)},
		{Thread: pluginsdk.ThreadCron, Runs: 3, Oldest: at.Add(-time.Hour)},
		{Thread: pluginsdk.ThreadGeneral, Beside: true, Runs: 4, Oldest: at},
	}, at)
	for label, want := range map[string][2]float64{"people": {3, 60}, "tasks": {3, 3600}, "turns": {4, 0}} {
		runs, oldest := value(t, figures, "harness_runs_waiting", label), value(t, figures, "harness_runs_oldest_seconds", label)
		if runs != want[0] || oldest != want[1] {
			t.Errorf("of %s %v runs wait, the oldest for %v s; want %v", label, runs, oldest, want)
		}
	}
}
