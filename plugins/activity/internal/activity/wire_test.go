package activity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What a reader of the thread sees of a run whose first attempt failed, and whose
// second one was told of twice because of a crash: every row, and each once.
func TestOverTheWire(t *testing.T) {
	host := plugintest.NewHost()
	plugin := host.Serve(t, new(Plugin))
	attempt := func(number int, outcome pluginsdk.PipelineOutcome) {
		t.Helper()
		begun, err := plugin.OnPipelineStart(t.Context(), &pluginsdk.OnPipelineStartRequest{Call: call(number), Thread: thread})
		if err != nil {
			t.Fatal(err)
		}
		ended, err := plugin.OnPipelineComplete(t.Context(), &pluginsdk.OnPipelineCompleteRequest{
			Call: call(number), Thread: thread, Outcome: outcome,
			Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamToolCall, ToolName: "a__b", Input: meta(`{"x":"<é>"}`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, effects := range []*pluginsdk.Effects{begun.Effects, ended.Effects} {
			if applied := host.Apply(plugin.Manifest(), "R", "T", effects); applied.Dropped != nil {
				t.Errorf("left out: %q", applied.Dropped)
			}
		}
	}
	attempt(1, pluginsdk.OutcomeFailed)
	attempt(2, pluginsdk.OutcomeSucceeded)
	attempt(2, pluginsdk.OutcomeSucceeded)
	var got []string
	for _, row := range host.Messages("T") {
		got = append(got, row.Key+" "+row.Content)
	}
	want := []string{
		"R/activity/start Pipeline started",
		"R/activity/complete:1 a__b", "R/activity#1/complete:1 Pipeline completed",
		"R/activity/complete a__b", "R/activity#1/complete Pipeline completed",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
}

// A run that was parked has the same attempt once more: what it had done before is shown all
// the same, and what it does then.
func TestAttemptsThatWereParkedAreShown(t *testing.T) {
	host := plugintest.NewHost()
	plugin := host.Serve(t, new(Plugin))
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for n, outcome := range []pluginsdk.PipelineOutcome{pluginsdk.OutcomeParked, pluginsdk.OutcomeParked, pluginsdk.OutcomeFailed} {
		ended, err := plugin.OnPipelineComplete(t.Context(), &pluginsdk.OnPipelineCompleteRequest{
			Call: call(1), Thread: thread, Outcome: outcome, Steps: []pluginsdk.PipelineStep{{Step: "invoking", Timestamp: at.Add(time.Duration(n) * time.Hour)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		host.Apply(plugin.Manifest(), "R", "T", ended.Effects)
	}
	var said []string
	for _, row := range host.Messages("T") {
		if row.Kind == pluginsdk.MessageStatus {
			said = append(said, row.Content)
		}
	}
	if want := []string{"Pipeline parked", "Pipeline parked", "Pipeline completed"}; !slices.Equal(said, want) {
		t.Errorf("shown %q, want %q", said, want)
	}
}
