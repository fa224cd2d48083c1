package summaries

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A day's turns cost no more than the day may; doctor says that it waits, and the next day it goes on.
func TestTheDaysBudget(t *testing.T) {
	w := newWorld(t, `{"dailyUsd": 0.12}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		result := w.sums(request)
		result.CostUSD = request.CostCapUSD
		return result
	}
	for range 10 {
		w.says("t", "more", "Yes.")
		w.pass(15 * time.Minute)
		w.step()
	}
	turns := w.turns()
	if len(turns) != 2 || turns[0].CostCapUSD != 0.10 || turns[1].CostCapUSD < 0.0199 || turns[1].CostCapUSD > 0.0201 {
		t.Fatalf("%d turns: %+v", len(turns), turns)
	}
	if checks := w.checks(); len(checks) != 1 || checks[0].State != pluginsdk.CheckWarning || !strings.Contains(checks[0].Detail, "$0.12 of $0.12 used today") {
		t.Errorf("doctor shows %+v", checks)
	}
	if wait := w.step(); w.now().Add(wait) != noon.Truncate(24*time.Hour).Add(24*time.Hour) {
		t.Errorf("it waits %s from %s on", wait, w.now())
	}
	w.pass(12 * time.Hour)
	if w.step(); len(w.turns()) != 3 || w.checks()[0].State == pluginsdk.CheckWarning && strings.Contains(w.checks()[0].Detail, "$0.12") {
		t.Errorf("%d turns the next day; %+v", len(w.turns()), w.checks())
	}
}

// A turn that fails is said by doctor, rests, and what it was about comes with a later one.
func TestATurnThatFails(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{CostUSD: 0.02, Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "no luck"}}
	}
	w.says("t", "hello", "Hello.")
	w.pass(gather)
	if wait := w.step(); wait != 20*time.Minute {
		t.Errorf("it waits %s", wait)
	}
	if checks := w.checks(); checks[0].State != pluginsdk.CheckWarning || !strings.Contains(checks[0].Detail, "no luck") {
		t.Errorf("doctor shows %+v", checks)
	}
	w.pass(20 * time.Minute)
	if wait := w.step(); wait != 40*time.Minute || len(w.turns()) != 2 || w.file(summariesFile) != "" {
		t.Errorf("it waits %s after %d turns", wait, len(w.turns()))
	}
	w.answer = w.sums
	w.pass(40 * time.Minute)
	w.step()
	if checks := w.checks(); !strings.Contains(w.file(summariesFile), "they said: hello") || checks[0].State != pluginsdk.CheckOK || !strings.Contains(checks[0].Detail, "$0.05 of $0.50") {
		t.Errorf("doctor shows %+v, the file is\n%s", checks, w.file(summariesFile))
	}
}

// A turn that says nothing of a thread leaves its section as it is.
func TestATurnThatSaysNothing(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.says("t", "hello", "Hello.")
	w.pass(gather)
	w.step()
	was := w.file(summariesFile)
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{StructuredOutput: []byte(`{"threads": [{"thread": "t1", "lines": [" ", "-"]}, {"thread": "t7", "lines": ["of another"]}]}`)}
	}
	w.says("t", "more", "Yes.")
	w.pass(time.Hour)
	w.step()
	if len(w.turns()) != 2 || w.file(summariesFile) != was {
		t.Errorf("%d turns, the file is\n%s", len(w.turns()), w.file(summariesFile))
	}
}
