package delegation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/plugins/examples/drafts/delegation"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// world is all that goes on around the plugin: the core, the worker, the gate and
// a person. What they say is written down beforehand.
type world struct {
	*testing.T
	host   *plugintest.Host
	plugin *plugintest.Plugin
	says   []string // the worker, in each iteration
	judges []pluginsdk.OnTaskCompleteResponse
	person pluginsdk.Verdict // on what a worker was blocked at
}

// told is an event for the plugin. One that died over it is started anew.
func (w *world) told(event pluginsdk.Event) {
	w.Helper()
	_, err := w.plugin.OnBroadcast(w.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{event}})
	if err != nil && !w.plugin.Died() {
		w.Fatal(err)
	}
	w.revive()
}

func (w *world) revive() {
	w.Helper()
	if w.plugin.Died() {
		w.plugin = w.host.Serve(w.T, new(delegation.Plugin))
		if err := w.plugin.Activate(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// delegate has the tool called, as often as it takes: the core repeats a call
// whose plugin died, under the same id.
func (w *world) delegate() string {
	w.Helper()
	for {
		answer, err := w.plugin.CallTool(w.Context(), &pluginsdk.CallToolRequest{
			Call: pluginsdk.Call{ID: "call-1"}, Name: "delegate", Input: []byte(`{"task": "build it", "model": "sonnet"}`), ThreadID: "parent",
		})
		if err == nil {
			return answer.Result.Text
		}
		if !w.plugin.Died() {
			w.Fatal(err)
		}
		w.revive()
	}
}

func (w *world) task(id string) pluginsdk.Task {
	w.Helper()
	answer, err := w.host.SDK().Tasks.Get(w.Context(), &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Task
}

// live goes on until the task is over, or nothing happens any more.
func (w *world) live() pluginsdk.Task {
	w.Helper()
	id := w.delegate()
	for range 20 {
		task := w.task(id)
		event := pluginsdk.Event{Type: pluginsdk.EventTaskProgress, ThreadID: task.ThreadID}
		switch task.Status {
		case pluginsdk.TaskRunning:
			answer, err := w.host.SDK().Runs.Get(w.Context(), &pluginsdk.GetRunRequest{ID: task.RunID})
			if err != nil {
				w.Fatalf("iteration %d of the task has no run: nothing is under way: %v", task.CurrentIteration, err)
			}
			if answer.Run.State.Final() {
				w.Fatalf("iteration %d is over and the task waits for nobody", task.CurrentIteration)
			}
			event = w.host.FinishRun(task.RunID, pluginsdk.InvokeResult{Text: w.says[task.CurrentIteration-1]})
		case pluginsdk.TaskEvaluating:
			w.host.Judge(id, w.judges[0])
			w.judges = w.judges[1:]
		case pluginsdk.TaskWaiting:
			if _, err := w.host.SDK().Tasks.Decide(w.Context(), &pluginsdk.DecideTaskRequest{
				ID: id, Iteration: task.CurrentIteration, Verdict: w.person, Feedback: "port 80",
			}); err != nil {
				w.Fatal(err)
			}
		default:
			return task
		}
		w.told(event)
	}
	w.Fatal("the task never ends")
	return pluginsdk.Task{}
}

func newWorld(t *testing.T, at plugintest.Death) *world {
	host := plugintest.NewHost()
	return &world{T: t, host: host, plugin: host.ServeUntil(t, new(delegation.Plugin), at)}
}

// A worker that is sent its work twice does it twice, and is paid twice; one that
// is not sent it waits for ever. So the plugin is killed at every call that it
// makes of the host, before and after the host has done what was asked.
func TestATaskIsWorkedOnOnceWhereverThePluginIsKilled(t *testing.T) {
	want := []string{
		"rules: build it",
		"Go on. When there is nothing left to do, say so with DONE: or BLOCKED: in your last line.",
		"This was not accepted:\nthere are no tests",
		"A person says:\nport 80",
	}
	died := true
	for call := int64(1); died; call++ {
		for _, carriedOut := range []bool{false, true} {
			w := newWorld(t, plugintest.Death{Call: call, CarriedOut: carriedOut})
			first := w.plugin
			w.says = []string{"I had a look.", "All of it.\nDONE: built", "Hm.\nBLOCKED: which port?", "DONE: with tests"}
			w.judges = []pluginsdk.OnTaskCompleteResponse{
				{Verdict: pluginsdk.VerdictReject, Feedback: "there are no tests"}, {Verdict: pluginsdk.VerdictAccept},
			}
			task := w.live()
			if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 4 || task.Result != "DONE: with tests" || task.Model != "sonnet" {
				t.Errorf("killed at call %d (carried out: %v), the task is %+v", call, carriedOut, task)
			}
			var sent []string
			for _, submission := range w.host.Submissions() {
				sent = append(sent, submission.Content)
			}
			if len(sent) == 4 {
				sent[0] = "rules: " + sent[0][len(sent[0])-len("build it"):]
			}
			if !slices.Equal(sent, want) {
				t.Errorf("killed at call %d (carried out: %v), the worker was sent\n%q, want\n%q", call, carriedOut, sent, want)
			}
			died = first.Died()
		}
		if call > 100 {
			t.Fatal("the plugin asks the host without end")
		}
	}
}

// A worker that never comes to an end must come to an end.
func TestATaskThatIsNeverDoneFails(t *testing.T) {
	w := newWorld(t, plugintest.Death{Call: 1000})
	w.says = slices.Repeat([]string{"hm"}, 5)
	if task := w.live(); task.Status != pluginsdk.TaskFailed || task.CurrentIteration != 5 {
		t.Errorf("the task is %+v", task)
	}
}

// What a worker could not bring to its end may be good enough for who waits for it.
func TestAPersonTakesWhatThereIs(t *testing.T) {
	w := newWorld(t, plugintest.Death{Call: 1000})
	w.says, w.person = []string{"All but the port.\nBLOCKED: which port?"}, pluginsdk.VerdictAccept
	if task := w.live(); task.Status != pluginsdk.TaskCompleted || task.Result != w.says[0] {
		t.Errorf("the task is %+v", task)
	}
}

// full is a host whose thread of a task takes no more messages for now.
type full struct{ pluginsdk.Tasks }

func (full) Iterate(context.Context, *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "100 messages wait already")
}

// A task must not be given up because there is no room for its next iteration this very
// moment; one that may cost no more, or whose parent may not, must not wait for ever.
func TestOnlyATaskThatIsUsedUpIsGivenUp(t *testing.T) {
	running := pluginsdk.Task{Plugin: "delegation", Status: pluginsdk.TaskRunning, MaxIterations: 5, CostCapUSD: 1}
	with := func(change func(*pluginsdk.Task)) pluginsdk.Task {
		task := running
		change(&task)
		return task
	}
	for name, row := range map[string]struct {
		above, task pluginsdk.Task
		want        pluginsdk.TaskStatus
	}{
		"no room":              {above: running, task: running, want: pluginsdk.TaskRunning},
		"a parent's iteration": {above: with(func(t *pluginsdk.Task) { t.CurrentIteration = 5 }), task: running, want: pluginsdk.TaskRunning},
		"no iterations left":   {above: running, task: with(func(t *pluginsdk.Task) { t.MaxIterations = 0 }), want: pluginsdk.TaskFailed},
		"no money left":        {above: running, task: with(func(t *pluginsdk.Task) { t.CostUSD = 1 }), want: pluginsdk.TaskFailed},
		"nor its parent's":     {above: with(func(t *pluginsdk.Task) { t.CostUSD = 1.5 }), task: running, want: pluginsdk.TaskFailed},
	} {
		w := newWorld(t, plugintest.Death{Call: 1000})
		row.above.ID, row.above.Status = "above", pluginsdk.TaskWaiting // so that only the other is taken on
		row.task.ID, row.task.ParentTaskID = "task", "above"
		w.host.AddTask(row.above)
		w.host.AddTask(row.task)
		host := w.host.SDK()
		host.Tasks = full{host.Tasks}
		plugin := new(delegation.Plugin)
		if err := plugin.Start(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		err := plugin.Activate(t.Context())
		if got := w.task("task").Status; got != row.want || (err != nil) != (got == pluginsdk.TaskRunning) {
			t.Errorf("%s: it is %s, %v", name, got, err)
		}
	}
}

func TestACommandDelegatesToo(t *testing.T) {
	w := newWorld(t, plugintest.Death{Call: 1000})
	for range 2 {
		answer, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{
			Call: pluginsdk.Call{ID: "call-1"}, Thread: pluginsdk.Thread{ID: "parent"}, Name: "delegate", Body: "build it",
		})
		if err != nil || !answer.Handled {
			t.Fatal(err)
		}
	}
	if got := w.host.Submissions(); len(got) != 1 {
		t.Errorf("sent %s", fmt.Sprint(got))
	}
}
