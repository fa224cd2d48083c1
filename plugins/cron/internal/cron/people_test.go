package cron

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An agent that changes, turns off or removes a schedule of other people's tells those people too, and nobody twice.
func TestThePeopleOfAScheduleAreTold(t *testing.T) {
	discord := pluginsdk.Target{Plugin: "discord", Place: "42"}
	for name, row := range map[string]struct {
		spec  pluginsdk.CronSpec
		there string // the thread in which its people are told; empty: its own thread
		twice bool   // not there: that is the same place
	}{
		"it reports to another thread":                   {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "theirs"}}, there: "theirs"},
		"it fires in another thread":                     {spec: pluginsdk.CronSpec{ThreadID: "theirs"}, there: "theirs"},
		"it reports to a channel":                        {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{Plugin: "discord", Place: "7"}}},
		"it reports to nobody":                           {},
		"it reports to the thread of the call":           {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "talk"}}, there: "theirs", twice: true},
		"it reports to the channel of the call":          {spec: pluginsdk.CronSpec{ReportTo: discord}, twice: true},
		"it reports to a thread whose place is the same": {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "same"}}, there: "same", twice: true},
		"it reports to strangers":                        {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "strangers"}}, there: "strangers", twice: true},
		"its thread is gone":                             {spec: pluginsdk.CronSpec{ThreadID: "gone"}, there: "gone", twice: true},
		"it reports in a circle":                         {spec: pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "circle"}}, there: "circle"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hour(), nil)
			w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web", ReportTo: discord})
			w.host.AddThread(pluginsdk.Thread{ID: "theirs", Kind: pluginsdk.ThreadGeneral, Source: "web", SourceID: "theirs"})
			w.host.AddThread(pluginsdk.Thread{ID: "same", Kind: pluginsdk.ThreadGeneral, Source: "web", SourceID: "same", ReportTo: pluginsdk.Target{ThreadID: "talk"}})
			w.host.AddThread(pluginsdk.Thread{ID: "strangers", Kind: pluginsdk.ThreadGeneral, Source: "web", SourceID: "strangers", Apart: true})
			w.host.AddThread(pluginsdk.Thread{ID: "circle", Kind: pluginsdk.ThreadGeneral, Source: "web", SourceID: "circle", ReportTo: pluginsdk.Target{ThreadID: "round"}})
			w.host.AddThread(pluginsdk.Thread{ID: "round", Kind: pluginsdk.ThreadGeneral, Source: "web", SourceID: "round", ReportTo: pluginsdk.Target{ThreadID: "circle"}})
			row.spec.Name, row.spec.Schedule, row.spec.Timezone, row.spec.Prompt = "tea", "0 16 * * *", "UTC", "Tell me that there is tea."
			job := w.save(row.spec)
			there := row.there
			if there == "" {
				made, err := w.plugin.thread(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				there = made
				job.Status.LastRun = w.now // its thread is there, so that it has fired
				w.report(job)
			}
			said := func(thread string) string {
				var all []string
				for _, message := range w.host.Messages(thread) {
					all = append(all, message.Content)
				}
				return strings.Join(all, "\n")
			}
			for _, call := range []struct {
				tool  string
				input object
			}{{toolUpdate, object{"name": "tea", "prompt": "Send it all."}}, {toolToggle, object{"name": "tea", "enabled": false}}, {toolDelete, object{"name": "tea"}}} {
				if got := w.call(call.tool, "talk", "", call.input); got.IsError {
					t.Fatalf("%s: %+v", call.tool, got)
				}
			}
			for _, words := range []string{"It will be told: Send it all.", "has turned off the schedule tea", "To turn it on: /cron on \"tea\"", "has removed the schedule tea"} {
				want := 1
				if row.twice {
					want = 0
				}
				if n := strings.Count(said("talk"), words); n != 1 {
					t.Errorf("%q is said %d times where the agent calls", words, n)
				}
				if n := strings.Count(said(there), words); n != want {
					t.Errorf("%q is said %d times to the schedule's people, want %d", words, n, want)
				}
			}
		})
	}
}

// report stores a job's status.
func (w *world) report(job pluginsdk.CronJob) {
	w.Helper()
	if _, err := w.host.SDK().Crons.Report(w.Context(), &pluginsdk.ReportCronRequest{Name: job.Spec.Name, Status: job.Status}); err != nil {
		w.Fatal(err)
	}
}

// A schedule that was never due, and whose reports go nowhere, gets no thread when it is removed.
func TestNoThreadIsMadeForTheRemoved(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w.save(pluginsdk.CronSpec{Name: "tea", Schedule: "0 16 * * *", Timezone: "UTC", Prompt: "x"})
	if got := w.call(toolDelete, "talk", "", object{"name": "tea"}); got.IsError {
		t.Fatal(got)
	}
	threads, err := w.host.SDK().Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{})
	if err != nil || len(threads.Threads) != 1 {
		t.Errorf("%+v, %v", threads, err)
	}
}
