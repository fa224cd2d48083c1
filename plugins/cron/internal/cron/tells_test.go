package cron

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// rows are what people read in a thread that a schedule has told.
func (w *world) rows(thread string) (all []string) {
	w.Helper()
	for _, message := range w.host.Messages(thread) {
		if message.Kind == pluginsdk.MessageNotification {
			all = append(all, message.Content)
		}
	}
	return all
}

// ends has an hour pass, and the runs that begin in it end.
func (w *world) ends(result pluginsdk.InvokeResult) {
	w.Helper()
	w.pass()
	for _, run := range w.running() {
		w.host.FinishRun(run.ID, result)
	}
	w.look()
}

func (w *world) notifies(text string) string {
	w.Helper()
	run := w.running()[0]
	raw, _ := json.Marshal(object{"text": text})
	result, err := w.plugin.CallTool(w.Context(), &pluginsdk.CallToolRequest{
		Call: pluginsdk.Call{ID: "call-" + run.ID, RunID: run.ID}, Name: toolNotify, ThreadID: run.ThreadID, Input: raw,
	})
	if err != nil || result.Result.IsError {
		w.Fatalf("%+v, %v", result, err)
	}
	return result.Result.Text
}

var failure = pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"}}

// What a schedule says that was made in a conversation stands in that conversation, once, and is carried from there.
func TestAConversationIsToldWhatItsScheduleSays(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadPrimary, Source: "core", ReportTo: pluginsdk.Target{Plugin: "discord", Place: "7"}})
	job := w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "talk"}})
	w.ends(pluginsdk.InvokeResult{Text: "It is tea time."})
	w.look()
	if told := w.rows("talk"); !slices.Equal(told, []string{"Schedule watch: It is tea time."}) {
		t.Errorf("the conversation is told %q", told)
	}
	if o := w.host.Submissions()[0].Options; !o.QuietReply || len(o.DisallowedTools) != 0 {
		t.Errorf("its run has the options %+v", o)
	}
	w.ends(failure)
	if told := w.rows("talk"); len(told) != 2 || !strings.HasPrefix(told[1], "The schedule watch has failed: no luck") {
		t.Errorf("of a failure the conversation is told %q", told)
	}
	if carried := w.host.Deliveries(); len(carried) != 2 || carried[0].Plugin != "discord" || carried[0].Place != "7" {
		t.Errorf("carried: %+v", carried)
	}
	if own := w.told(job); len(own) != 0 {
		t.Errorf("its own thread is told %q as well", own)
	}
	w.command("edit watch | report = never")
	w.ends(pluginsdk.InvokeResult{Text: "hush"})
	w.command("edit watch | report = always")
	w.ends(pluginsdk.InvokeResult{Text: strings.Repeat("long ", mostTold)})
	told := w.rows("talk")
	if last := told[len(told)-1]; len(told) != 3 || !strings.HasPrefix(last, "Schedule watch: long long") || !strings.HasSuffix(last, "stands in the thread "+w.submitThread()+")") || len(last) > mostTold+200 {
		t.Errorf("of a long reply the conversation is told %d bytes in %d rows", len(last), len(told))
	}
}

// Whom notify tells something it says, wherever the schedule reports.
func TestNotifySaysWhoIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		to    pluginsdk.Target
		says  string
		talks []string // told in the conversation
	}{
		"a conversation":         {pluginsdk.Target{ThreadID: "talk"}, "The people of the thread talk are told.", []string{"Schedule watch: The build is red."}},
		"a place":                {pluginsdk.Target{Plugin: "discord", Place: "7"}, "It is told at discord:7.", nil},
		"nowhere":                {pluginsdk.Target{}, "nobody is told elsewhere: the schedule has no report_to", nil},
		"a thread that was gone": {pluginsdk.Target{ThreadID: "gone"}, "is not there any more", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hour(), nil)
			w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
			w.withoutThread("gone")
			job := w.hourly(pluginsdk.CronSpec{ReportTo: row.to, Report: pluginsdk.ReportOnNotify})
			w.pass()
			if said := w.notifies("The build is red."); !strings.Contains(said, row.says) {
				t.Errorf("the agent is told %q, want %q", said, row.says)
			}
			if told := w.rows("talk"); !slices.Equal(told, row.talks) {
				t.Errorf("the conversation is told %q", told)
			}
			if own := w.told(job); len(own)+len(row.talks) != 1 {
				t.Errorf("its own thread is told %q", own)
			}
			w.finish()
			w.look()
			if told := append(w.rows("talk"), w.told(job)...); len(told) != 1 {
				t.Errorf("with the reply people are told %q", told)
			}
		})
	}
}

// withoutThread has the host refuse what it would of a thread that was deleted.
func (w *world) withoutThread(id string) {
	w.sdk.Messages, w.sdk.Threads = goneMessages{w.sdk.Messages, id}, goneThreads{w.sdk.Threads, id}
	w.restart()
}

type goneMessages struct {
	pluginsdk.Messages
	gone string
}

func (m goneMessages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	if request.ThreadID == m.gone {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread with the id %q", m.gone)
	}
	return m.Messages.Append(ctx, request)
}

type goneThreads struct {
	pluginsdk.Threads
	gone string
}

func (s goneThreads) Create(ctx context.Context, request *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	if request.Thread.ReportTo.ThreadID == s.gone {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "reportTo: no thread with the id %q", s.gone)
	}
	return s.Threads.Create(ctx, request)
}

// A schedule whose conversation was deleted goes on, speaks in its own thread, and doctor names it.
func TestAConversationThatWasDeleted(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.withoutThread("talk")
	job := w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "talk"}})
	w.ends(pluginsdk.InvokeResult{Text: "It is tea time."})
	w.ends(failure)
	fires := w.fires("watch")
	if len(fires) != 2 || fires[0].State != pluginsdk.FireSucceeded {
		t.Errorf("fires %+v", fires)
	}
	if told := w.told(job); len(told) != 1 || !strings.Contains(told[0], "has failed") {
		t.Errorf("its own thread is told %q", told)
	}
	if checks := w.checks(); len(checks) == 0 || !strings.Contains(checks[0].Detail, "the thread talk, to which it reports, is not there any more") || !strings.Contains(checks[0].Remedy, "report_to") {
		t.Errorf("doctor says %+v", checks)
	}
}

// The reply is told once wherever the plugin is killed: at each of its calls of the host in turn, before the host does
// what was asked and after.
func TestAReplyIsToldOnceWhereverThePluginIsKilled(t *testing.T) {
	deaths := 0
	for call, died := firstCall, true; died; call++ {
		for _, carriedOut := range []bool{false, true} {
			at := plugintest.Death{Call: call, CarriedOut: carriedOut}
			w := newWorld(t, hour(), nil)
			w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
			w.save(pluginsdk.CronSpec{Name: "digest", Schedule: "0 * * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun, ReportTo: pluginsdk.Target{ThreadID: "talk"}})
			w.fresh("digest")
			w.now = w.now.Add(time.Hour + time.Second)
			if died = w.liveTwice(at, pluginsdk.InvokeResult{Text: "The news."}); died {
				deaths++
			}
			if told := w.rows("talk"); !slices.Equal(told, []string{"Schedule digest: The news."}) {
				t.Errorf("killed at %+v: told %q", at, told)
			}
			if fires := w.fires("digest"); len(fires) != 1 || fires[0].State != pluginsdk.FireSucceeded {
				t.Errorf("killed at %+v: fires %+v", at, fires)
			}
		}
	}
	if deaths < 20 {
		t.Errorf("it was killed only %d times", deaths)
	}
}

// liveTwice has a plugin look twice that is killed at a call, and then another one.
func (w *world) liveTwice(at plugintest.Death, result pluginsdk.InvokeResult) (died bool) {
	w.Helper()
	live := func(at plugintest.Death) bool {
		plugin := &Plugin{Now: func() time.Time { return w.now }}
		served := w.host.ServeUntil(w.T, plugin, at)
		for range 2 {
			if err := plugin.Step(w.Context()); err != nil && !served.Died() {
				w.Fatalf("killed at %+v: %v", at, err)
			}
			for _, run := range w.running() {
				w.host.FinishRun(run.ID, result)
			}
		}
		if err := plugin.Step(w.Context()); err != nil && !served.Died() {
			w.Fatalf("killed at %+v: %v", at, err)
		}
		return served.Died()
	}
	if died = live(at); died {
		live(plugintest.Death{Call: 1 << 40})
	}
	return died
}

// A run that was submitted by a version which had the host carry its reply is not told a second time.
func TestARunOfTheVersionBeforeIsNotToldTwice(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	job := w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{ThreadID: "talk"}})
	thread, err := w.plugin.thread(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	due := w.now.Truncate(time.Hour)
	metadata, _ := json.Marshal(object{"fire": submitKey(job.ID, due), "job": "watch"})
	before, err := w.sdk.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: thread, Key: submitKey(job.ID, due), Content: "Look.", Metadata: metadata}})
	if err != nil {
		t.Fatal(err)
	}
	fire := pluginsdk.CronFire{Due: due, DecidedAt: due, Cause: pluginsdk.FireScheduled, State: pluginsdk.FireRunning, RunID: before.Accepted.RunID}
	if _, err := w.host.SDK().Crons.Report(t.Context(), &pluginsdk.ReportCronRequest{Name: "watch", Status: w.job("watch").Status, Fires: []pluginsdk.CronFire{fire}}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.look()
	w.finish()
	w.look()
	if told := w.rows("talk"); len(told) != 0 {
		t.Errorf("what the host has carried is told again: %q", told)
	}
	w.pass()
	w.finish()
	w.look()
	w.ends(pluginsdk.InvokeResult{Text: "later"})
	told := w.rows("talk")
	told = told[max(0, len(told)-1):]
	if !slices.Equal(told, []string{"Schedule watch: later"}) {
		t.Errorf("the next one is told as %q", told)
	}
}

// A report_to that is taken away is taken away from the thread too.
func TestAReportToThatIsTakenAway(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{ReportTo: pluginsdk.Target{Plugin: "discord", Place: "7"}})
	w.ends(pluginsdk.InvokeResult{Text: "x"})
	if o := w.host.Submissions()[0].Options; o.QuietReply {
		t.Errorf("a place: %+v", o)
	}
	w.command("edit watch | report_to = ")
	w.ends(pluginsdk.InvokeResult{Text: "x"})
	thread, err := w.host.SDK().Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: w.submitThread()})
	if err != nil || thread.Thread.ReportTo != (pluginsdk.Target{}) {
		t.Errorf("its thread is %+v, %v", thread, err)
	}
	if o := w.host.Submissions()[1].Options; !o.QuietReply {
		t.Errorf("nowhere: %+v", o)
	}
}

// Where a schedule reports is said when it is made.
func TestWhereAScheduleReportsIsSaid(t *testing.T) {
	w := newWorld(t, hour(), nil)
	if got := w.command("add tea | 0 16 * * * | UTC | Tea."); !strings.Contains(got, "stands in its own thread, and is told nowhere else") {
		t.Error(got)
	}
	for target, want := range map[string]string{"discord:7": "It reports to discord:7.", "thread:talk": "It reports to the thread talk."} {
		if got := w.command("edit tea | report_to = " + target); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
}
