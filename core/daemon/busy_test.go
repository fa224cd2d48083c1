package daemon_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// busyThread makes a thread of a busy mode.
func (in *installation) busyThread(mode pluginsdk.BusyMode) string {
	in.t.Helper()
	var made pluginsdk.Thread
	status := in.call(http.MethodPost, "/api/threads", map[string]any{"name": string(mode), "busyMode": mode}, &made)
	if status != http.StatusCreated {
		in.t.Fatalf("POST /api/threads: %d", status)
	}
	return made.ID
}

// atWork waits until the agent is called for the run.
func (w *watcher) atWork(runID string) {
	w.t.Helper()
	for {
		event := w.next()
		if event.runID() == runID && event.Event == string(pluginsdk.EventPipelineStep) && strings.Contains(string(event.Data), `"invoking"`) {
			return
		}
	}
}

// replyTo is what a run said.
func (in *installation) replyTo(thread, runID string) (text string) {
	for _, row := range in.messages(thread) {
		if row.RunID == runID && row.Role == pluginsdk.RoleAssistant && row.Kind == pluginsdk.MessageText {
			text += row.Content
		}
	}
	return text
}

const endlessTurn = `[{"match":"endless","delay":600000,"text":"never"}]`

// Messages that come during a turn become one: each is accounted for, and the
// one run's reply is to all of them.
func TestWaitingMessagesAreCollected(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		in.demo(endlessTurn)
		in.start()
		watch := in.watch()
		thread := in.busyThread(pluginsdk.BusyCollect)
		busy := in.chat(thread, "endless")
		watch.atWork(busy.RunID)
		first, second, third := in.chat(thread, "plums"), in.chat(thread, "pears"), in.chat(thread, "figs")
		in.call(http.MethodPost, "/api/threads/"+thread+"/stop", map[string]any{}, nil)
		watch.end(first.RunID)
		for _, merged := range []pluginsdk.Accepted{second, third} {
			if run := in.run(merged.RunID); run.State != pluginsdk.RunMerged || run.MergedInto != first.RunID {
				t.Errorf("run %+v", run)
			}
		}
		if run := in.run(first.RunID); run.State != pluginsdk.RunSucceeded || len(run.Absorbed) != 2 {
			t.Errorf("run %+v", run)
		}
		if run := in.run(busy.RunID); run.State != pluginsdk.RunCancelled {
			t.Errorf("the stopped run is %s", run.State)
		}
	})
}

// A newer message ends the turn that runs and is answered at once.
func TestNewerMessageInterruptsTheTurn(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		in.demo(endlessTurn)
		in.start()
		watch := in.watch()
		thread := in.busyThread(pluginsdk.BusyInterrupt)
		busy := in.chat(thread, "endless")
		watch.atWork(busy.RunID)
		newer := in.chat(thread, "never mind")
		watch.end(newer.RunID)
		if run := in.run(busy.RunID); run.State != pluginsdk.RunCancelled || !strings.Contains(run.Error, "newer message") {
			t.Errorf("the interrupted run is %s: %s", run.State, run.Error)
		}
		if got := in.replyTo(thread, newer.RunID); !strings.Contains(got, "never mind") {
			t.Errorf("the newer message was answered with %q", got)
		}
	})
}

// A stop drops what waits only when it is asked to.
func TestStopDropsTheQueueWhenAsked(t *testing.T) {
	in := newInstallation(t, "")
	in.demo(endlessTurn)
	in.start()
	watch := in.watch()
	thread := in.thread("a thread")
	busy := in.chat(thread, "endless")
	watch.atWork(busy.RunID)
	waiting := in.chat(thread, "waiting")
	var stopped pluginsdk.Stopped
	in.call(http.MethodPost, "/api/threads/"+thread+"/stop", map[string]any{"queue": "drop"}, &stopped)
	if stopped.RunID != busy.RunID || len(stopped.Dropped) != 1 || stopped.Dropped[0] != waiting.RunID {
		t.Errorf("stopped %+v", stopped)
	}
	watch.end(busy.RunID)
	if run := in.run(waiting.RunID); run.State != pluginsdk.RunCancelled {
		t.Errorf("the waiting run is %s", run.State)
	}
}

// A run whose attempts are used up is failed with words for the person, each
// attempt can be seen, and it can be given again.
func TestExhaustedRunCanBeRetried(t *testing.T) {
	in := newInstallation(t, "")
	in.config.MaxAttempts = 3
	in.demo(`[{"match":"hello","times":3,"failure":{"kind":"api","message":"overloaded","apiStatus":529,"retryable":true}}]`)
	in.start()
	watch := in.watch()
	thread := in.thread("a thread")
	failed, events := in.say(watch, thread, "hello")
	retries := 0
	for _, event := range events {
		if event.Event == string(pluginsdk.EventPipelineRetry) {
			retries++
		}
	}
	run := in.run(failed.RunID)
	if run.State != pluginsdk.RunFailed || retries != 2 || len(run.Failures) != 2 || run.Attempt != 3 {
		t.Errorf("%d retries told, run %+v", retries, run)
	}
	rows := in.messages(thread)
	if last := rows[len(rows)-1].Content; !strings.Contains(last, "overloaded") || !strings.Contains(last, "/retry") {
		t.Errorf("the person is told %q", last)
	}
	var again pluginsdk.Accepted
	if status := in.call(http.MethodPost, "/api/runs/"+failed.RunID+"/retry", nil, &again); status != http.StatusAccepted {
		t.Fatalf("retry: %d", status)
	}
	watch.end(again.RunID)
	if got := in.replyTo(thread, again.RunID); !strings.Contains(got, "hello") {
		t.Errorf("the retry was answered with %q", got)
	}
}
