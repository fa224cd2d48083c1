package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The run of a schedule that is removed is cancelled while it waits. One at work goes on, and its row has what became of it.
func TestTheRunOfAScheduleThatIsRemoved(t *testing.T) {
	begin := func(t *testing.T) (*world, pluginsdk.Run) {
		w := newWorld(t, hour(), nil)
		w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
		w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "talk"}})
		w.pass()
		return w, w.running()[0]
	}
	row := func(w *world) pluginsdk.CronFire { return w.fires("watch")[0] }
	t.Run("it waits", func(t *testing.T) {
		w, run := begin(t)
		w.command("rm watch")
		w.look()
		w.look()
		if fire := row(w); len(w.running()) != 0 || fire.State != pluginsdk.FireCancelled || fire.Reason != removedWords || fire.EndedAt.IsZero() || fire.RunID != run.ID {
			t.Errorf("%+v, with %+v", fire, w.running())
		}
	})
	for _, again := range []string{"", "it is made again under its name", "the plugin is started anew"} {
		t.Run("it is at work "+again, func(t *testing.T) {
			w, run := begin(t)
			w.host.BeginRun(run.ID)
			w.command("rm watch")
			switch again {
			case "it is made again under its name":
				w.save(pluginsdk.CronSpec{Name: "watch", Schedule: "0 0 1 1 *", Timezone: "UTC", Prompt: "another"})
			case "the plugin is started anew":
				w.restart()
			}
			w.look()
			if fire := row(w); fire.State != pluginsdk.FireRunning || len(w.running()) != 1 {
				t.Errorf("at work: %+v", fire)
			}
			w.now = w.now.Add(time.Minute)
			w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Text: "The end.", CostUSD: 0.25})
			w.look()
			w.look()
			if fire := row(w); fire.State != pluginsdk.FireSucceeded || fire.CostUSD != 0.25 || fire.EndedAt.IsZero() {
				t.Errorf("at its end: %+v", fire)
			}
			if told := w.rows("talk"); len(told) != 1 || !strings.Contains(told[0], "The end.") {
				t.Errorf("told %q", told)
			}
			if len(w.plugin.open) != 0 || len(w.plugin.removed) != 0 {
				t.Errorf("it keeps %v and %v", w.plugin.open, w.plugin.removed)
			}
		})
	}
}
