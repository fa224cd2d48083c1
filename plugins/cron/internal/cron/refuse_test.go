package cron

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A schedule that nobody has confirmed leaves a row each time, says so in the list and in doctor, and fires once it is
// confirmed; what was due until then is not made up for.
func TestEachTimeThatIsNotConfirmedHasARow(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{Missed: pluginsdk.MissedRun})
	w.ends(pluginsdk.InvokeResult{Text: "x"})
	spec := w.job("watch").Spec
	spec.Model = "opus"
	w.save(spec)
	w.look()
	first := w.now
	for range 3 {
		w.now = w.now.Add(time.Hour)
		w.look()
		w.look()
	}
	fires := w.fires("watch")
	if len(fires) != 4 {
		t.Fatalf("rows %+v", fires)
	}
	for i, fire := range fires[1:] {
		if fire.State != pluginsdk.FireSkipped || !strings.Contains(fire.Reason, "/cron confirm watch") || !fire.Due.Equal(first.Add(time.Duration(i+1)*time.Hour).Truncate(time.Hour)) {
			t.Errorf("row %d: %+v", i, fire)
		}
	}
	if wait := w.plugin.rest(map[string]pluginsdk.CronJob{"x": w.job("watch")}); wait > time.Hour || w.plugin.event.IsZero() || !w.job("watch").Status.NextRun.IsZero() {
		t.Errorf("it looks again in %s, at %s, and is said to be due at %s", wait, w.plugin.event, w.job("watch").Status.NextRun)
	}
	if got := w.command("list"); !strings.Contains(got, "needs confirmation, and does not fire: /cron confirm watch") || strings.Contains(got, "next") {
		t.Error(got)
	}
	if checks := w.checks(); len(checks) != 1 || !strings.Contains(checks[0].Detail, "needs confirmation") || !strings.Contains(checks[0].Remedy, "harness cron confirm watch") {
		t.Errorf("doctor says %+v", checks)
	}
	w.now = w.now.Add(3*time.Hour + 10*time.Second) // nobody has looked since
	if got := w.as(pluginsdk.ScopeAdmin, "confirm watch"); !strings.Contains(got, "is confirmed") {
		t.Error(got)
	}
	w.look()
	if fires := w.fires("watch"); len(fires) != 7 || len(w.running()) != 0 || fires[6].State != pluginsdk.FireSkipped {
		t.Errorf("once it is confirmed: %+v", fires)
	}
	w.pass()
	if fires := w.fires("watch"); len(fires) != 8 || fires[7].State != pluginsdk.FireRunning || w.job("watch").Status.LastResult == fires[6].Reason {
		t.Errorf("the next one is %+v", fires[7:])
	}
}

// Of times that follow each other unconfirmed the first fifty have a row each, and the others one that grows, wherever
// the plugin is started anew; so do those that passed while it was away.
func TestAFloodOfTimesThatAreNotConfirmed(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for n := range 5 {
		name := fmt.Sprint("job ", n)
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "* * * * *", Timezone: "UTC", Prompt: "x"})
		w.fresh(name)
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "* * * * *", Timezone: "UTC", Prompt: "x", Model: "opus"})
	}
	w.look()
	for n := range 120 {
		w.now = w.now.Add(time.Minute)
		for range 3 {
			w.look()
		}
		if n%7 == 0 {
			w.restart()
		}
	}
	for n := range 5 {
		fires := w.fires(fmt.Sprint("job ", n))
		last := fires[len(fires)-1]
		if len(fires) != mostRows+1 || last.Count != 70 || !last.Until.Equal(w.now.Truncate(time.Minute)) {
			t.Errorf("%d rows, the last %+v", len(fires), last)
		}
	}
	w.now = w.now.Add(200 * time.Minute)
	w.restart()
	w.look()
	if fires := w.fires("job 0"); len(fires) != mostRows+1 || fires[mostRows].Count != 270 {
		t.Errorf("after it was away: %d rows, the last %+v", len(fires), fires[len(fires)-1])
	}
	w.command("off job 0")
	w.look()
	w.command("on job 0")
	w.look()
	w.now = w.now.Add(time.Minute)
	w.look()
	if fires := w.fires("job 0"); len(fires) != mostRows+2 || fires[mostRows+1].Count != 0 {
		t.Errorf("turned on again: %+v", fires[mostRows:])
	}
}

// What has no times leaves a row when it waits for an operator, and what cannot be read when that is found, once.
func TestWhatBecomesWrongHasARow(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "file", Trigger: "file:/tmp/x", Timezone: "UTC", Prompt: "x"})
	w.save(pluginsdk.CronSpec{Name: "words", Schedule: "sometimes", Timezone: "UTC", Prompt: "x"})
	for range 3 {
		w.look()
		w.restart()
		w.now = w.now.Add(time.Hour)
	}
	for name, why := range map[string]string{"file": "were not set by an operator", "words": "fields"} {
		fires := w.fires(name)
		if len(fires) != 1 || fires[0].State != pluginsdk.FireSkipped || !strings.Contains(fires[0].Reason, why) {
			t.Errorf("%s: %+v", name, fires)
		}
	}
	once := w.save(pluginsdk.CronSpec{Name: "once", FireAt: w.now.Add(time.Hour), Timezone: "UTC", Prompt: "x", Model: "opus"})
	w.look()
	w.now = once.Spec.FireAt.Add(time.Second)
	w.look()
	w.look()
	if fires := w.fires("once"); len(fires) != 1 || fires[0].State != pluginsdk.FireSkipped || !strings.Contains(fires[0].Reason, "/cron confirm once") {
		t.Errorf("once: %+v", fires)
	}
	if slices.ContainsFunc(w.checks(), func(c pluginsdk.Check) bool { return c.State == pluginsdk.CheckOK }) {
		t.Errorf("doctor says %+v", w.checks())
	}
}

// A power that an operator sets is confirmed with it: nobody sees the schedule unconfirmed in between.
func TestWhatAnOperatorSetsIsNeverUnconfirmed(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "task", Trigger: "task", Timezone: "UTC", Prompt: "x"})
	w.look()
	if got := w.as(pluginsdk.ScopeAdmin, "edit task | model = opus"); !strings.Contains(got, "is changed") {
		t.Error(got)
	}
	w.look()
	if fires := w.fires("task"); len(fires) != 0 {
		t.Errorf("%+v", fires)
	}
}
