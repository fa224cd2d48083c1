package cron

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// from is a command that is typed in a thread.
func (w *world) from(thread, body string) string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: fmt.Sprint("command-", len(w.host.Calls()))}, Name: name, Body: body, Origin: pluginsdk.FromPerson, Thread: pluginsdk.Thread{ID: thread},
	})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Reply
}

func (w *world) fails() {
	w.Helper()
	for _, run := range w.running() {
		w.host.FinishRun(run.ID, failure)
	}
	w.look()
}

// A run that a person asks for tells its failure to that person, in the thread in which it was asked for, and neither
// to the people of the schedule again nor as one of the failures that turn the schedule off.
func TestAFailureIsToldToWhoHasAsked(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for _, id := range []string{"talk", "report"} {
		w.host.AddThread(pluginsdk.Thread{ID: id, Kind: pluginsdk.ThreadGeneral, Source: "web"})
	}
	w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "report"}})
	w.ends(failure)
	for n := range 6 {
		w.now = w.now.Add(time.Second)
		w.from("talk", "run watch")
		w.look()
		w.restart()
		w.look()
		w.fails()
		if told := w.rows("talk"); len(told) != n+1 || told[n] != "The run of the schedule watch that was asked for has failed: no luck" {
			t.Fatalf("who has asked is told %q", told)
		}
	}
	if told := w.rows("report"); len(told) != 1 {
		t.Errorf("its people are told %q", told)
	}
	if job := w.job("watch"); !job.Enabled || job.Status.Failures != 1 || len(noteOf(job).askings()) != 6 || !strings.Contains(job.Status.LastResult, "no luck") {
		t.Errorf("%+v", job)
	}
	w.now = w.now.Add(time.Second)
	w.from("talk", "backfill watch | "+hour().Format("2006-01-02 15:04")+" | "+w.now.Add(-time.Minute).Format("2006-01-02 15:04"))
	w.look()
	for range 5 {
		w.fails()
	}
	if told := w.rows("talk"); len(told) != 7 {
		t.Errorf("of times that are made up for is told %q", told[6:])
	}
	spec := w.job("watch").Spec
	spec.Model = "opus"
	w.save(spec)
	w.now = w.now.Add(time.Second)
	w.from("talk", "run watch")
	w.look()
	if told := w.rows("talk"); len(told) != 8 || !strings.Contains(told[7], "was not made: its when, model") {
		t.Errorf("of one that is not confirmed is told %q", told[7:])
	}
}

// Who asks by the page sees the row: its people are told once a day, unless they know that the schedule fails.
func TestAFailureThatSomebodyElsewhereHasAskedFor(t *testing.T) {
	w := newWorld(t, hour(), nil)
	job := w.hourly(pluginsdk.CronSpec{})
	for range 3 {
		w.now = w.now.Add(time.Second)
		w.command("run watch")
		w.look()
		w.fails()
	}
	if told := w.told(job); len(told) != 1 || !strings.Contains(told[0], "that was asked for has failed") || w.job("watch").Status.Failures != 0 {
		t.Errorf("told %q", told)
	}
}

// Wherever the plugin is killed, who has asked is told once.
func TestWhoHasAskedIsToldOnce(t *testing.T) {
	for call, died := firstCall, true; died; call++ {
		for _, carriedOut := range []bool{false, true} {
			at := plugintest.Death{Call: call, CarriedOut: carriedOut}
			w := newWorld(t, hour(), nil)
			w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
			w.hourly(pluginsdk.CronSpec{})
			w.from("talk", "run watch")
			died = w.liveTwice(at, failure)
			if told, fires := w.rows("talk"), w.fires("watch"); len(told) != 1 || len(fires) != 1 || fires[0].State != pluginsdk.FireFailed {
				t.Errorf("killed at %+v: told %q of %+v", at, told, fires)
			}
		}
	}
}

// Who has asked for a run that a budget does not let happen is told once, also in the thread to which the schedule reports.
func TestADeniedRunIsToldOnceToWhoHasAsked(t *testing.T) {
	for what, spec := range map[string]pluginsdk.CronSpec{"it reports there": {ReportTo: pluginsdk.Target{ThreadID: "talk"}}, "it fires there": {ThreadID: "talk"}} {
		w := newWorld(t, hour(), nil)
		w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
		w.hourly(spec)
		w.from("talk", "run watch")
		w.look()
		run := w.running()[0]
		w.host.AddMessage(pluginsdk.Message{
			ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus,
			Metadata: json.RawMessage(`{"event": "pipeline_error", "denied": "metrics"}`), Content: "Not run: the budget is used up",
		})
		w.fails()
		if told := w.rows("talk"); len(told) != 1 || !strings.Contains(told[0], "that was asked for was not made: the plugin metrics did not let it run") {
			t.Errorf("%s: told %q", what, told)
		}
	}
}
