package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an operator writes wrong by SQL is said, and the last good value holds until it is mended. A schedule of which none
// is known does not fire.
func TestALimitThatIsWrittenWrong(t *testing.T) {
	for want, change := range map[string]func(s *pluginsdk.CronSpec){
		"jitter: it is no duration":            func(s *pluginsdk.CronSpec) { s.Jitter = -1 },
		"timeout: it is no duration":           func(s *pluginsdk.CronSpec) { s.Timeout = -1 },
		"overlap: banana is not one of skip":   func(s *pluginsdk.CronSpec) { s.Overlap = "banana" },
		"missed: banana is not one of run":     func(s *pluginsdk.CronSpec) { s.Missed = "banana" },
		"report: banana is not one of always":  func(s *pluginsdk.CronSpec) { s.Report = "banana" },
		"session: banana is not one of fresh":  func(s *pluginsdk.CronSpec) { s.Session = "banana" },
		"cost_cap_usd: it is no amount":        func(s *pluginsdk.CronSpec) { s.CostCapUSD = -3 },
		"report: banana is not one of always,": func(s *pluginsdk.CronSpec) { s.Report, s.Keep = "banana", -1 },
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t, hour(), nil)
			good := w.hourly(pluginsdk.CronSpec{Report: pluginsdk.ReportOnNotify, CostCapUSD: 0.5, Timeout: time.Minute}).Spec
			w.ends(pluginsdk.InvokeResult{Text: "x"})
			bad := good
			change(&bad)
			w.save(bad)
			w.look()
			if job := w.job("watch"); !strings.Contains(job.Status.LastResult, want) || !strings.HasSuffix(job.Status.LastResult, wrongWords) {
				t.Errorf("its row says %q", job.Status.LastResult)
			}
			if got := w.command("list"); !strings.Contains(got, "wrong: "+want) || !strings.Contains(got, "next") {
				t.Error(got)
			}
			if said := w.doctor(); !strings.Contains(said, want) {
				t.Errorf("doctor says %q", said)
			}
			w.restart()
			w.ends(pluginsdk.InvokeResult{Text: "x"})
			made := w.host.Submissions()
			if o := made[len(made)-1].Options; len(made) != 2 || !o.QuietReply || o.CostCapUSD != 0.5 || o.Timeout != time.Minute {
				t.Errorf("%d are made, the last with %+v", len(made), o)
			}
			w.save(good)
			w.look()
			if said := w.doctor(); said != "" || strings.Contains(w.command("list"), "wrong") {
				t.Errorf("mended: %q, %s", said, w.command("list"))
			}
			bad.Name = "new"
			w.save(bad)
			w.look()
			if got := w.command("list"); !strings.Contains(got, "wrong: "+want) || w.job("new").Status.LastResult == "" {
				t.Error(got)
			}
		})
	}
}

// A row that says more than one time, or none that can be read, says so.
func TestARowWithoutOneTime(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "both", Schedule: "0 * * * *", FireAt: w.now.Add(time.Hour), Timezone: "UTC", Prompt: "x"})
	w.save(pluginsdk.CronSpec{Name: "none", Timezone: "UTC", Prompt: "x"})
	w.look()
	for name, want := range map[string]string{"both": "more than one of them is set", "none": "fire_at is no time that can be read"} {
		if got := w.job(name).Status.LastResult; !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	w.now = w.now.Add(2 * time.Hour)
	w.look()
	if n := len(w.host.Submissions()); n != 0 {
		t.Errorf("%d are made", n)
	}
}

// A schedule whose row has a wrong limit is confirmed as the page shows it, which shows the row, and as the plugin shows it,
// which shows the last good limit; with neither, it was changed.
func TestAScheduleWithAWrongLimitIsConfirmed(t *testing.T) {
	for what, row := range map[string]struct {
		seen func(bad, good pluginsdk.CronSpec) pluginsdk.CronSpec
		sure bool
	}{
		"the row":              {func(bad, _ pluginsdk.CronSpec) pluginsdk.CronSpec { return bad }, true},
		"the last good limits": {func(_, good pluginsdk.CronSpec) pluginsdk.CronSpec { return good }, true},
		"another": {func(bad, _ pluginsdk.CronSpec) pluginsdk.CronSpec {
			bad.Prompt = "Look elsewhere."
			return bad
		}, false},
	} {
		w := newWorld(t, hour(), nil)
		good := w.hourly(pluginsdk.CronSpec{Model: "opus", CostCapUSD: 0.5}).Spec
		bad := good
		bad.Overlap = "banana"
		w.save(bad)
		w.look()
		got := w.as(pluginsdk.ScopeAdmin, "confirm watch | "+schedules.Version(row.seen(bad, good)))
		if sure := confirmed(w.job("watch")); sure != row.sure || strings.Contains(got, "was changed since you have seen it") == sure {
			t.Errorf("%s: %s", what, got)
		}
	}
}
