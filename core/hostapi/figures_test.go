package hostapi

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who shows an operator how the daemon does asks for it like for anything else: within
// its quota, and seen in its own figures.
func TestTheDaemonsFiguresAreServed(t *testing.T) {
	f := newFixture(pluginsdk.CapMetricsRead)
	f.limits.CallsPerMinute = 1
	answer, err := f.Metrics.Figures(t.Context(), &pluginsdk.ListFiguresRequest{})
	if err != nil || len(answer.Figures) != 1 || answer.Figures[0].Name != "harness_start_time_seconds" {
		t.Errorf("%+v %v", answer, err)
	}
	_, err = f.Metrics.Figures(t.Context(), &pluginsdk.ListFiguresRequest{})
	refused(t, "one call too many", err, pluginsdk.CodeExhausted)
	if calls, heldBack := f.api.Figures("p"); calls["Metrics.Figures"].Calls != 2 || heldBack != 1 {
		t.Errorf("counted %+v, %d", calls, heldBack)
	}
}
