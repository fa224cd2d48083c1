package summaries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func numbersOf(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
}

// looks has time pass, and the plugin look at the threads.
func (w *world) looks(times int) {
	w.Helper()
	for range times {
		w.pass(lookEvery)
		w.step()
	}
}

func (w *world) session(id string) string {
	w.Helper()
	got, err := w.host.SDK().Threads.Get(w.Context(), &pluginsdk.GetThreadRequest{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return got.Thread.SessionID
}

// rows are those of a kind in a thread.
func (w *world) rowsOf(id string, kind pluginsdk.MessageKind) (found []pluginsdk.Message) {
	for _, message := range w.host.Messages(id) {
		if message.Kind == kind {
			found = append(found, message)
		}
	}
	return found
}

// A session of which nothing was heard for the set hours ends with a summary, which the next one begins with; the thread is told
// once. Those of tasks, schedules, strangers and threads apart go on.
func TestAnIdleSessionEndsWithASummary(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 3, "every": 5}`)
	for _, thread := range []pluginsdk.Thread{
		{ID: "t", Name: "Talk"}, {ID: "apart", Apart: true}, {ID: "strangers", Source: "discord"}, {ID: "work", Kind: pluginsdk.ThreadTask}, {ID: "job", Kind: pluginsdk.ThreadCron, Source: "cron"},
	} {
		thread.SessionID = "session of " + thread.ID
		w.thread(thread)
		w.says(thread.ID, "the pond of "+thread.ID, "Noted.")
	}
	w.looks(11)
	if got := w.session("t"); got == "" {
		t.Fatal("the session has ended too early")
	}
	w.looks(3)
	summaries, told := w.rowsOf("t", pluginsdk.MessageSummary), w.rowsOf("t", pluginsdk.MessageStatus)
	if w.session("t") != "" || len(summaries) != 1 || !strings.Contains(summaries[0].Content, "all of 2 messages") || len(told) != 1 {
		t.Errorf("the session is %q; %+v; %+v", w.session("t"), summaries, told)
	}
	for _, id := range []string{"apart", "strangers", "work", "job"} {
		if w.session(id) == "" || len(w.rowsOf(id, pluginsdk.MessageStatus)) > 0 {
			t.Errorf("the session of %s has ended", id)
		}
	}
	turns := len(w.turns())
	w.looks(20)
	if len(w.turns()) != turns || len(w.rowsOf("t", pluginsdk.MessageStatus)) != 1 {
		t.Errorf("%d turns more", len(w.turns())-turns)
	}
}

// A session goes on while something is at work in its thread, when somebody has said something meanwhile, when no summary was
// made, and when the setting is off.
func TestASessionThatGoesOn(t *testing.T) {
	for name, row := range map[string]struct {
		settings  string
		meanwhile func(w *world)
	}{
		"the setting is off": {`{"every": 5}`, func(*world) {}},
		"a run is at work": {`{"rotateIdleHours": 1, "every": 5}`, func(w *world) {
			w.host.AddRun(pluginsdk.Run{ID: "at work", ThreadID: "t", Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning})
		}},
		"no summary is made": {`{"rotateIdleHours": 1, "every": 5}`, func(w *world) {
			w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
				return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Message: "no luck"}}
			}
		}},
		"the budget is used up": {`{"rotateIdleHours": 1, "every": 5, "dailyUsd": 0.01}`, func(*world) {}},
		"somebody says something": {`{"rotateIdleHours": 1, "every": 5}`, func(w *world) {
			sums := w.answer
			w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
				w.said(pluginsdk.Message{ThreadID: "t", Author: "Ann", Source: "web", Content: "wait"}, "")
				return sums(request)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, row.settings)
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
			w.says("t", "the pond", "Noted.")
			w.looks(2) // its news are summarised
			row.meanwhile(w)
			w.looks(6)
			if w.session("t") == "" || len(w.rowsOf("t", pluginsdk.MessageStatus)) > 0 {
				t.Errorf("the session has ended: %+v", w.rowsOf("t", pluginsdk.MessageStatus))
			}
		})
	}
}

// A session that had a turn before the set days ends in the first quiet hour, and one that is young goes on.
func TestAnOldSessionEnds(t *testing.T) {
	w := newWorld(t, `{"rotateDays": 2, "every": 5}`)
	for id, age := range map[string]time.Duration{"old": 49 * time.Hour, "young": 47 * time.Hour} {
		w.thread(pluginsdk.Thread{ID: id, Name: id, SessionID: "s " + id})
		w.host.AddRun(pluginsdk.Run{ID: "first " + id, ThreadID: id, Kind: pluginsdk.RunMessage, State: pluginsdk.RunSucceeded, SessionID: "s " + id, QueuedAt: w.now().Add(-age)})
		w.says(id, "the pond", "Noted.")
	}
	w.looks(6)
	if w.session("old") != "" || w.session("young") == "" || len(w.rowsOf("old", pluginsdk.MessageSummary)) != 1 {
		t.Errorf("the sessions are %q and %q", w.session("old"), w.session("young"))
	}
}

// A session that was to end goes on when its thread is in use again before the summary was made.
func TestAThreadInUseAgainKeepsItsSession(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
	thread := pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"}
	w.thread(thread)
	w.says("t", "the pond", "Noted.")
	w.looks(2)
	sums := w.answer
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Message: "no luck"}}
	}
	w.looks(2)
	if len(w.inner.known.Load().Rotate) != 1 {
		t.Fatal("the session is not to end")
	}
	w.answer = sums
	w.thread(thread) // active now
	w.says("t", "and now", "Yes.")
	w.looks(3)
	if w.session("t") == "" || len(w.rowsOf("t", pluginsdk.MessageSummary)) > 0 {
		t.Errorf("the session has ended: %+v", w.rowsOf("t", pluginsdk.MessageSummary))
	}
}

// Wherever the plugin is killed while a session is to end, there is one turn and one summary row, the session ends after that, and
// the thread is told once.
func TestKilledAtEveryCallOfARotation(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		for call := int64(2); ; call++ { // the first reads the settings
			w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
			w.says("t", "the pond", "Noted.")
			w.looks(3) // the news are summarised
			w.pass(lookEvery)
			w.serve(plugintest.Death{Call: call, CarriedOut: carriedOut})
			_, err := w.inner.step(t.Context())
			died := w.died()
			if died && err == nil {
				t.Errorf("killed at call %d, nothing has failed", call)
			}
			w.serve(plugintest.Death{})
			w.looks(2)
			if w.session("t") != "" || len(w.host.Turns()) != 2 || len(w.rowsOf("t", pluginsdk.MessageSummary)) != 1 || len(w.rowsOf("t", pluginsdk.MessageStatus)) != 1 {
				t.Errorf("killed at call %d (carried out: %t): session %q, %d turns, %d summaries, told %d times", call, carriedOut, w.session("t"), len(w.host.Turns()),
					len(w.rowsOf("t", pluginsdk.MessageSummary)), len(w.rowsOf("t", pluginsdk.MessageStatus)))
			}
			if !died {
				if call < 8 {
					t.Errorf("it makes only %d calls", call)
				}
				break
			}
		}
	}
}
