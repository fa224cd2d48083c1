package delegation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// gives has the agent of the thread parent give a task in a run of its own.
func (w *world) gives(runID string, n int, body string) string {
	w.Helper()
	return idIn(w.command(pluginsdk.OnCommandRequest{
		Call:   pluginsdk.Call{ID: fmt.Sprintf("%s:OnCommand:%d:delegation", runID, n), RunID: runID},
		Thread: pluginsdk.Thread{ID: "parent", Kind: pluginsdk.ThreadGeneral}, Origin: pluginsdk.FromAgent, Name: verbDelegate, Body: body,
	}))
}

// completes has a task's worker say that it is done, and the gate accept it.
func (w *world) completes(id, result string) {
	w.Helper()
	w.told(w.moved(w.task(id)))
	run, _ := w.open(w.task(id).ThreadID)
	w.told(w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "DONE: " + result}))
	w.told(w.moved(w.host.Judge(id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept})))
}

// An agent that waits for several tasks must be run once, when the last one is in: not
// with a part of them, not twice, and not never, wherever the plugin is killed. One that
// was cancelled is in, too.
func TestAGroupIsToldOfOnceWhereverThePluginIsKilled(t *testing.T) {
	for _, attribute := range []string{"wake=all ", `join="the survey" `} {
		died := true
		for call := int64(2); died; call++ { // the first one is of Start
			for _, carriedOut := range []bool{false, true} {
				w := newWorld(t, plugintest.Death{Call: call, CarriedOut: carriedOut})
				first := w.plugin
				w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning})
				one := w.gives("run", 1, attribute+"one")
				w.completes(one, "first result") // before the next is made
				two, three := w.gives("run", 2, attribute+"two"), w.gives("run", 3, attribute+"three")
				w.completes(three, "third result")
				when := fmt.Sprintf("%s, killed at call %d (carried out: %v)", attribute, call, carriedOut)
				if sent := w.sent("parent"); len(sent) != 0 {
					t.Fatalf("%s: before all are in, the agent was sent %q", when, sent)
				}
				w.told(w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "I have given three tasks."}))
				w.command(pluginsdk.OnCommandRequest{
					Call: pluginsdk.Call{ID: "c"}, Thread: pluginsdk.Thread{ID: "parent"}, Name: verbCheckin, Body: two,
				})
				if _, err := w.host.SDK().Tasks.Cancel(t.Context(), &pluginsdk.CancelTaskRequest{ID: two, Reason: "it is too dear"}); err != nil {
					t.Fatal(err)
				}
				w.told(w.moved(w.task(two)))
				w.plugin = w.host.Serve(t, new(Plugin))
				w.activate() // an upgrade, say
				sent := w.sent("parent")
				if len(sent) != 1 {
					t.Fatalf("%s: the agent was sent %q", when, sent)
				}
				for _, part := range []string{"tasks: 3", "first result", "third result", "it is too dear", "cancelled", one, two, three} {
					if !strings.Contains(sent[0], part) {
						t.Errorf("%s: %q is not in\n%s", when, part, sent[0])
					}
				}
				died = first.Died()
			}
			if call > 200 {
				t.Fatal("the plugin asks the host without end")
			}
		}
	}
}

// A name that is used again is another group: nobody is told of old results as if they
// were new.
func TestANameThatIsUsedAgainIsAnotherGroup(t *testing.T) {
	w := newWorld(t, immortal)
	for n, runID := range []string{"run-a", "run-b"} {
		w.host.AddRun(pluginsdk.Run{ID: runID, ThreadID: "parent", State: pluginsdk.RunRunning})
		w.completes(w.gives(runID, 0, "join=survey ask"), runID)
		w.told(w.host.FinishRun(runID, pluginsdk.InvokeResult{Text: "ok"}))
		if sent := w.sent("parent"); len(sent) != n+1 || !strings.Contains(sent[n], "What you wait for of \"survey\" is over (tasks: 1)") || !strings.Contains(sent[n], "DONE: "+runID) {
			t.Fatalf("sent %q", sent)
		}
	}
}

// An agent that goes on giving tasks which cannot begin must not be run again without end:
// what tells it of them is caused by the run that has made them.
func TestTasksThatNeverBeganHaveACause(t *testing.T) {
	w := newWorld(t, immortal)
	w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning, Depth: 3})
	w.host.Fail("Tasks.Iterate", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now"))
	id := w.gives("run", 1, "wake=all one")
	if _, err := w.host.SDK().Tasks.Fail(t.Context(), &pluginsdk.FailTaskRequest{ID: id, Reason: "no directory"}); err != nil {
		t.Fatal(err)
	}
	w.told(w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "ok"}))
	told := w.host.Submissions()
	if len(told) != 1 || told[0].CauseRunID != "run" {
		t.Errorf("told %+v", told)
	}
}

// What is refused for good is given up, and what may pass is not.
func TestAGroupThatCannotBeToldOfIsGivenUp(t *testing.T) {
	for name, one := range map[string]struct {
		refusal pluginsdk.Code
		depth   int
		told    int
	}{
		"runs have caused one another too often": {pluginsdk.CodeExhausted, 8, 0},
		"too many messages wait":                 {pluginsdk.CodeExhausted, 7, 1},
		"the thread is gone":                     {pluginsdk.CodeNotFound, 0, 0},
		"the database is away":                   {pluginsdk.CodeUnavailable, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, immortal)
			w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning, Depth: one.depth})
			w.host.Fail("Tasks.Iterate", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now"))
			id := w.gives("run", 1, "join=survey one")
			if _, err := w.host.SDK().Tasks.Fail(t.Context(), &pluginsdk.FailTaskRequest{ID: id, Reason: "no directory"}); err != nil {
				t.Fatal(err)
			}
			w.host.Fail("Messages.Submit", pluginsdk.Errorf(one.refusal, "no"))
			over := w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "ok"})
			w.told(over)
			w.host.Fail("Messages.Submit", nil)
			w.told(over) // it looks again
			if sent := w.sent("parent"); len(sent) != one.told {
				t.Errorf("sent %q", sent)
			}
		})
	}
}

// What many workers wrote must not be more than a message may have.
func TestResultsAreBounded(t *testing.T) {
	tasks := make([]pluginsdk.Task, 200)
	for n := range tasks {
		tasks[n] = pluginsdk.Task{ID: fmt.Sprint(n), Status: pluginsdk.TaskCompleted, Result: strings.Repeat("é", 1<<15)}
	}
	if got := len(resultsOf(tasks)); got > 2*resultsMost {
		t.Errorf("%d bytes", got)
	}
}
