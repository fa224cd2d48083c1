package cron

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// doctor is what doctor says of the schedules; empty: they are all right.
func (w *world) doctor() (said string) {
	w.Helper()
	for _, check := range w.checks() {
		if check.State != pluginsdk.CheckOK {
			said += check.Name + ": " + check.Detail + "; " + check.Remedy + "\n"
		}
	}
	return said
}

// A schedule that was turned off after failures is named until somebody turns it on or changes it. The agent is nobody.
func TestDoctorNamesWhatWasTurnedOff(t *testing.T) {
	broken := func(t *testing.T) *world {
		w := newWorld(t, hour(), nil)
		w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
		w.hourly(pluginsdk.CronSpec{})
		for range 10 {
			w.ends(failure)
		}
		w.look()
		if said := w.doctor(); w.job("watch").Enabled || !strings.Contains(said, "schedule watch: it was turned off after 5 failures in a row; last: failed: no luck; see `harness cron history watch`, then `harness cron on watch`") {
			t.Fatalf("doctor says %q", said)
		}
		return w
	}
	t.Run("it stays so", func(t *testing.T) {
		w := broken(t)
		w.restart()
		w.look()
		if got := w.call(toolUpdate, "talk", "", object{"name": "watch", "prompt": "Look better."}); got.IsError {
			t.Fatal(got)
		}
		for range 2 {
			w.look()
			if w.doctor() == "" {
				t.Error("doctor says nothing")
			}
		}
	})
	t.Run("of a version that kept nothing of it", func(t *testing.T) {
		w := broken(t)
		status := w.job("watch").Status
		status.Mark = note{Off: true, Decided: w.now}.mark()
		if _, err := w.host.SDK().Crons.Report(t.Context(), &pluginsdk.ReportCronRequest{Name: "watch", Status: status}); err != nil {
			t.Fatal(err)
		}
		w.look()
		w.look()
		if w.doctor() == "" {
			t.Error("doctor says nothing")
		}
	})
	for how, do := range map[string]func(w *world){
		"turned on": func(w *world) { w.command("on watch") },
		"edited":    func(w *world) { w.command("edit watch | prompt = Look better.") },
		"by SQL": func(w *world) {
			spec := w.job("watch").Spec
			spec.Hours = "08:00-18:00"
			w.save(spec)
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := broken(t)
			do(w)
			w.look()
			if said := w.doctor(); said != "" || w.job("watch").Status.Failures != 0 {
				t.Errorf("doctor says %q", said)
			}
		})
	}
}

// A schedule that has not succeeded for three of its times is named whatever the reason. One without news is fine.
func TestDoctorNamesWhatIsOnlySkipped(t *testing.T) {
	t.Run("denied", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		w.hourly(pluginsdk.CronSpec{})
		w.ends(pluginsdk.InvokeResult{Text: "x"})
		for n := range 4 {
			if said := w.doctor(); (said != "") != (n >= neglected) {
				t.Errorf("after %d that were denied doctor says %q", n, said)
			}
			w.pass()
			denied := w.running()[0]
			w.host.AddMessage(pluginsdk.Message{
				ThreadID: denied.ThreadID, RunID: denied.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus,
				Metadata: json.RawMessage(`{"denied": "metrics"}`), Content: "Not run",
			})
			w.host.FinishRun(denied.ID, failure)
			w.look()
		}
		if said := w.doctor(); !strings.Contains(said, "it has not succeeded since") || !strings.Contains(said, "the plugin metrics did not let it run") {
			t.Errorf("doctor says %q", said)
		}
		w.ends(pluginsdk.InvokeResult{Text: "x"})
		if said := w.doctor(); said != "" {
			t.Errorf("once it has succeeded doctor says %q", said)
		}
	})
	t.Run("it hangs", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		w.save(pluginsdk.CronSpec{Name: "often", Schedule: "* * * * *", Timezone: "UTC", Prompt: "x"})
		w.fresh("often")
		for n := range 40 {
			w.now = w.now.Add(time.Minute)
			w.look()
			if said := w.doctor(); n == 0 {
				w.finish()
				w.look()
			} else if n < 30 && said != "" {
				t.Errorf("after %d minutes doctor says %q", n, said)
			}
		}
		if said := w.doctor(); !strings.Contains(said, "it has not succeeded since") {
			t.Errorf("doctor says %q", said)
		}
	})
	t.Run("without news", func(t *testing.T) {
		w := newWorld(t, hour(), nil)
		w.plugin.do = func(context.Context, run.Command) (run.Result, error) { return run.Result{Code: exitNothing}, nil }
		w.hourly(pluginsdk.CronSpec{})
		w.as(pluginsdk.ScopeAdmin, "edit watch | when = check")
		w.look()
		for range 5 {
			w.pass()
		}
		if said := w.doctor(); said != "" || len(w.fires("watch")) != 5 {
			t.Errorf("doctor says %q of %+v", said, w.fires("watch"))
		}
	})
}
