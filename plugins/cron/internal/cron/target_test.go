package cron

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A target that somebody has set by hand on the thread of a schedule without report_to stays, and has its replies; one that
// was the schedule's report_to goes with it.
func TestATargetThatIsSetByHand(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	seven, eight := pluginsdk.Target{Plugin: "discord", Place: "7"}, pluginsdk.Target{Plugin: "discord", Place: "8"}
	byHand := func(to pluginsdk.Target) {
		t.Helper()
		if _, err := w.host.SDK().Threads.Update(t.Context(), &pluginsdk.UpdateThreadRequest{ID: w.submitThread(), Patch: pluginsdk.ThreadPatch{ReportTo: &to}}); err != nil {
			t.Fatal(err)
		}
	}
	fires := func(what string, want pluginsdk.Target) {
		t.Helper()
		w.ends(pluginsdk.InvokeResult{Text: "x"})
		thread, err := w.host.SDK().Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: w.submitThread()})
		if err != nil || thread.Thread.ReportTo != want {
			t.Errorf("%s: its thread reports to %v, %v", what, thread.Thread.ReportTo, err)
		}
		all := w.host.Submissions()
		if o := all[len(all)-1].Options; o.QuietReply != (want == pluginsdk.Target{}) {
			t.Errorf("%s: %+v", what, o)
		}
	}
	fires("as it was made", pluginsdk.Target{})
	byHand(seven)
	fires("set by hand", seven)
	w.restart()
	fires("set by hand, another process", seven)
	w.command("edit watch | report_to = discord:8")
	fires("with a report_to", eight)
	byHand(seven)
	fires("set by hand beside a report_to", eight)
	w.command("edit watch | report_to = ")
	w.restart()
	fires("without report_to", pluginsdk.Target{})
	byHand(eight)
	fires("set by hand to what was its report_to", eight)
}
