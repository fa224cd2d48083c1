package delegation

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

// world is all that goes on around the plugin: the core, the worker, the gate and
// a person. What they say is written down beforehand.
type world struct {
	*testing.T
	host   *plugintest.Host
	plugin *plugintest.Plugin
	says   []pluginsdk.InvokeResult // the worker, to each message
	judges []pluginsdk.OnTaskCompleteResponse
	person pluginsdk.Verdict // on what a worker was blocked at
}

func newWorld(t *testing.T, at plugintest.Death) *world {
	host := plugintest.NewHost()
	host.AddThread(pluginsdk.Thread{ID: "parent", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w := &world{T: t, host: host, plugin: host.ServeUntil(t, new(Plugin), at)}
	return w
}

// immortal is a plugin that is never killed.
var immortal = plugintest.Death{Call: 1 << 40}

func words(said ...string) (results []pluginsdk.InvokeResult) {
	for _, text := range said {
		results = append(results, pluginsdk.InvokeResult{Text: text})
	}
	return results
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

// moved is the event of a task that has moved.
func (w *world) moved(task pluginsdk.Task) pluginsdk.Event {
	data, err := json.Marshal(pluginsdk.TaskPayload{TaskID: task.ID, ThreadID: task.ThreadID, Status: task.Status})
	if err != nil {
		w.Fatal(err)
	}
	return pluginsdk.Event{Type: pluginsdk.EventTaskProgress, ThreadID: task.ThreadID, Data: data}
}

func (w *world) revive() {
	w.Helper()
	if w.plugin.Died() {
		w.plugin = w.host.Serve(w.T, new(Plugin))
		w.activate()
	}
}

func (w *world) activate() {
	w.Helper()
	if err := w.plugin.Activate(w.Context()); err != nil {
		w.Fatal(err)
	}
	plugin := w.plugin
	w.Cleanup(func() { _ = plugin.Deactivate(context.WithoutCancel(w.Context())) })
}

// command has a command given as often as it takes: the core repeats a call whose plugin
// died, under the same id.
func (w *world) command(command pluginsdk.OnCommandRequest) string {
	w.Helper()
	for {
		answer, err := w.plugin.OnCommand(w.Context(), &command)
		if err == nil && answer.Handled {
			return answer.Reply
		}
		if !w.plugin.Died() {
			w.Fatal(err)
		}
		w.revive()
	}
}

// delegate gives a task in the thread parent and returns its id.
func (w *world) delegate(text string) string {
	w.Helper()
	reply := w.command(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call-1"}, Thread: pluginsdk.Thread{ID: "parent"}, Name: verbDelegate, Body: text,
	})
	id := idIn(reply)
	w.told(w.moved(w.task(id)))
	return id
}

// idIn is the task's id in a reply.
func idIn(reply string) string {
	_, rest, _ := strings.Cut(reply, "Delegated as ")
	return strings.TrimRight(strings.Fields(rest + " ?")[0], ".,")
}

func (w *world) task(id string) pluginsdk.Task {
	w.Helper()
	answer, err := w.host.SDK().Tasks.Get(w.Context(), &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Task
}

// open returns the run that is under way in a thread, and how many were before.
func (w *world) open(threadID string) (id string, before int) {
	w.Helper()
	answer, err := w.host.SDK().Runs.List(w.Context(), &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{ThreadID: threadID}})
	if err != nil {
		w.Fatal(err)
	}
	for _, run := range answer.Runs {
		if !run.State.Final() {
			return run.ID, before
		}
		before++
	}
	return "", before
}

// live goes on until the task is over, or waits and nobody decides.
func (w *world) live(id string) pluginsdk.Task {
	w.Helper()
	for range 30 {
		task := w.task(id)
		event := w.moved(task)
		switch task.Status { //nolint:exhaustive // the others are its end
		case pluginsdk.TaskRunning:
			run, before := w.open(task.ThreadID)
			if run == "" {
				w.Fatalf("iteration %d of the task is over and nothing is under way", task.CurrentIteration)
			}
			event = w.host.FinishRun(run, w.says[before])
		case pluginsdk.TaskEvaluating:
			w.host.Judge(id, w.judges[0])
			w.judges = w.judges[1:]
		case pluginsdk.TaskWaiting:
			if w.person == "" {
				return task
			}
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

// sent is what a thread was sent.
func (w *world) sent(threadID string) (sent []string) {
	for _, submission := range w.host.Submissions() {
		if submission.ThreadID == threadID {
			sent = append(sent, submission.Content)
		}
	}
	return sent
}

// A worker that is sent its work twice does it twice, and is paid twice; one that
// is not sent it waits for ever. So the plugin is killed at every call that it
// makes of the host, before and after the host has done what was asked.
func TestATaskIsWorkedOnOnceWhereverThePluginIsKilled(t *testing.T) {
	want := []string{
		rules + "build it",
		reminder,
		goOn,
		"This was not accepted:\nthere are no tests" + again,
		"A person says:\nport 80" + again,
	}
	died := true
	for call := int64(2); died; call++ { // the first one is of Start
		for _, carriedOut := range []bool{false, true} {
			w := newWorld(t, plugintest.Death{Call: call, CarriedOut: carriedOut})
			first := w.plugin
			w.says = words("I had a look.", "And another.", "All of it.\n**DONE: built**\n", "Hm.\nBLOCKED: which port?", "DONE: with tests")
			w.judges = []pluginsdk.OnTaskCompleteResponse{
				{Verdict: pluginsdk.VerdictReject, Feedback: "there are no tests"}, {Verdict: pluginsdk.VerdictAccept},
			}
			w.person = pluginsdk.VerdictReject
			task := w.live(w.delegate("model=sonnet build it"))
			if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 4 || task.Result != "DONE: with tests" || task.Model != "sonnet" {
				t.Errorf("killed at call %d (carried out: %v), the task is %+v", call, carriedOut, task)
			}
			if sent := w.sent(task.ThreadID); !slices.Equal(sent, want) {
				t.Errorf("killed at call %d (carried out: %v), the worker was sent\n%q, want\n%q", call, carriedOut, sent, want)
			}
			died = first.Died()
		}
		if call > 200 {
			t.Fatal("the plugin asks the host without end")
		}
	}
}

// A worker that never comes to an end must come to an end.
func TestATaskThatIsNeverDoneFails(t *testing.T) {
	w := newWorld(t, immortal)
	w.says = slices.Repeat(words("hm"), 10) // to five messages, and to five reminders
	task := w.live(w.delegate("build it"))
	if task.Status != pluginsdk.TaskFailed || task.CurrentIteration != 5 || !strings.Contains(task.Error, "5 iterations are used up") {
		t.Errorf("the task is %+v", task)
	}
}

// An empty answer is no work, whatever its run was.
func TestAnEmptyAnswerIsNotDone(t *testing.T) {
	w := newWorld(t, immortal)
	w.says = words("", "DONE:", "DONE: all")
	w.judges = []pluginsdk.OnTaskCompleteResponse{{Verdict: pluginsdk.VerdictAccept}}
	if task := w.live(w.delegate("build it")); task.Result != "DONE: all" || task.CurrentIteration != 2 {
		t.Errorf("the task is %+v", task)
	}
}

// What a worker could not bring to its end may be good enough for who waits for it.
func TestAPersonTakesWhatThereIs(t *testing.T) {
	w := newWorld(t, immortal)
	w.says, w.person = words("All but the port.\nBLOCKED: which port?"), pluginsdk.VerdictAccept
	if task := w.live(w.delegate("build it")); task.Status != pluginsdk.TaskCompleted || task.Result != w.says[0].Text {
		t.Errorf("the task is %+v", task)
	}
}

// Who stops a worker wants to say something: the task waits for that, and goes on with it.
func TestAWorkerThatAPersonStopsWaitsForThem(t *testing.T) {
	w := newWorld(t, immortal)
	id := w.delegate("build it")
	run, _ := w.open(w.task(id).ThreadID)
	if _, err := w.host.SDK().Runs.Cancel(t.Context(), &pluginsdk.CancelRunRequest{ID: run, Author: "Ada"}); err != nil {
		t.Fatal(err)
	}
	w.told(pluginsdk.Event{Type: pluginsdk.EventPipelineError, ThreadID: w.task(id).ThreadID})
	task := w.task(id)
	if task.Status != pluginsdk.TaskWaiting || !slices.Contains(task.Marks, "stopped") || !strings.Contains(task.Error, "Ada") {
		t.Fatalf("the task is %+v", task)
	}
	w.says, w.person = words("", "DONE: built"), pluginsdk.VerdictReject
	w.judges = []pluginsdk.OnTaskCompleteResponse{{Verdict: pluginsdk.VerdictAccept}}
	if task := w.live(id); task.Status != pluginsdk.TaskCompleted || !slices.Contains(w.sent(task.ThreadID), "A person says:\nport 80"+again) {
		t.Errorf("the task is %+v, sent %q", task, w.sent(task.ThreadID))
	}
}

// What would fail again is not tried five times, and is said with what helps.
func TestWhatWouldFailAgainFailsTheTask(t *testing.T) {
	for name, row := range map[string]struct {
		failure pluginsdk.Failure
		says    []string
	}{
		"unknown model":    {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, APIStatus: 404, Message: "not_found_error"}, []string{`"sonet"`, "not_found_error", "model=NAME"}},
		"bad request":      {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, APIStatus: 400, Message: "too long"}, []string{"too long", "re-delegate"}},
		"no account":       {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, APIStatus: 401, Message: "set a valid key"}, []string{"set a valid key", "re-delegate"}},
		"without a status": {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "billing_error"}, []string{"billing_error"}},
		"no agent":         {pluginsdk.Failure{Kind: pluginsdk.FailureMissing, Message: "claude is not there"}, []string{"claude is not there", "harness doctor"}},
		"the cap":          {pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: "5.00 USD"}, []string{"5.00 USD", "cost=USD"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, immortal)
			w.says = []pluginsdk.InvokeResult{{Failure: &row.failure}}
			task := w.live(w.delegate("model=sonet build it"))
			if task.Status != pluginsdk.TaskFailed || task.CurrentIteration != 1 {
				t.Errorf("the task is %+v", task)
			}
			for _, part := range row.says {
				if !strings.Contains(task.Error, part) {
					t.Errorf("it says %q, without %q", task.Error, part)
				}
			}
		})
	}
}

// What may pass is tried again, after a rest: a worker is not sent against a wall five
// times within a second.
func TestAFailureThatMayPassIsRestedAfter(t *testing.T) {
	host := plugintest.NewHost()
	host.AddThread(pluginsdk.Thread{ID: "parent"})
	now := time.Now()
	plugin := &Plugin{now: func() time.Time { return now }}
	if err := plugin.Start(t.Context(), host.As(plugin.Manifest())); err != nil {
		t.Fatal(err)
	}
	plugin.host.Log = discard
	made, err := plugin.do(t.Context(), verbDelegate, request{call: pluginsdk.Call{ID: "c"}, thread: pluginsdk.Thread{ID: "parent"}, text: "build it"})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, host: host}
	id := idIn(made.words)
	for n, kind := range []pluginsdk.FailureKind{pluginsdk.FailureCrashed, pluginsdk.FailureSilent, pluginsdk.FailureAPI} {
		run, before := w.open(w.task(id).ThreadID)
		if run == "" || before != n {
			t.Fatalf("after %d failures, %q is under way", n, run)
		}
		host.FinishRun(run, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: kind, Message: "overloaded", APIStatus: 529, Retryable: true}})
		now = time.Now() // as the run has ended
		rest := plugin.config.Load().rest(n + 1)
		for _, later := range []time.Duration{0, rest - time.Second} {
			now = now.Add(later)
			plugin.alarm.next = time.Time{}
			plugin.look(t.Context(), false)
			if task := w.task(id); task.CurrentIteration != n+1 || task.Status != pluginsdk.TaskRunning {
				t.Fatalf("within the rest of %v the task is %+v", rest, task)
			}
		}
		if next := plugin.alarm.next; next.After(now.Add(2 * time.Second)) {
			t.Errorf("it looks again at %v, which is after the rest at %v", next, now.Add(time.Second))
		}
		now = now.Add(2 * time.Second)
		plugin.look(t.Context(), false)
	}
	if sent := w.sent(w.task(id).ThreadID); len(sent) != 4 || !strings.Contains(sent[3], "overloaded") {
		t.Errorf("sent %q", sent)
	}
}

// A worker that has given tasks to others waits for them: it is not told to hurry, and
// goes on when the last one is over.
func TestAWorkerWaitsForTheTasksThatItGave(t *testing.T) {
	w := newWorld(t, immortal)
	id := w.delegate("build it")
	worker := w.task(id)
	below := idIn(w.command(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call-2"}, Thread: pluginsdk.Thread{ID: worker.ThreadID, Kind: pluginsdk.ThreadTask},
		Origin: pluginsdk.FromAgent, Name: verbDelegate, Body: "wake=yes the half of it",
	}))
	if child := w.task(below); child.ParentTaskID != id || child.Wake {
		t.Fatalf("the task below is %+v", child)
	}
	run, _ := w.open(worker.ThreadID)
	w.told(w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "I wait."}))
	if sent := w.sent(worker.ThreadID); len(sent) != 1 {
		t.Fatalf("while it waits, the worker was sent %q", sent)
	}
	w.says, w.judges = words("DONE: half"), []pluginsdk.OnTaskCompleteResponse{{Verdict: pluginsdk.VerdictAccept}, {Verdict: pluginsdk.VerdictAccept}}
	w.told(w.moved(w.live(below)))
	if sent := w.sent(worker.ThreadID); len(sent) != 2 || sent[1] != reminder {
		t.Fatalf("when the other is over, the worker was sent %q", sent)
	}
	w.says = words("", "DONE: all")
	if task := w.live(id); task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 1 {
		t.Errorf("the task is %+v", task)
	}
}

// A worker that says that it is done while tasks that it gave are at work has not seen what
// they come to, and its worktree would be merged and gone before theirs is in.
func TestATaskIsNotDoneBeforeThoseBelowIt(t *testing.T) {
	w := newWorld(t, immortal)
	id := w.delegate("build it")
	worker := w.task(id)
	below := idIn(w.command(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call-2"}, Thread: pluginsdk.Thread{ID: worker.ThreadID, Kind: pluginsdk.ThreadTask},
		Origin: pluginsdk.FromAgent, Name: verbDelegate, Body: "the half of it",
	}))
	run, _ := w.open(worker.ThreadID)
	w.told(w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "DONE: the other half"}))
	if task := w.task(id); task.Status != pluginsdk.TaskRunning {
		t.Fatalf("the task above is %s", task.Status)
	}
	w.says, w.judges = words("DONE: half"), []pluginsdk.OnTaskCompleteResponse{{Verdict: pluginsdk.VerdictAccept}, {Verdict: pluginsdk.VerdictAccept}}
	w.told(w.moved(w.live(below)))
	if task := w.live(id); task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 1 || len(w.sent(worker.ThreadID)) != 1 {
		t.Errorf("the task is %+v", task)
	}
}

// One that waits for a person below a worker that is done would wait for ever: nobody reads
// of it in the worker's thread.
func TestAPersonIsToldWhatWaitsBelowATaskThatIsDone(t *testing.T) {
	w := newWorld(t, immortal)
	id := w.delegate("build it")
	worker := w.task(id)
	below := idIn(w.command(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call-2"}, Thread: pluginsdk.Thread{ID: worker.ThreadID, Kind: pluginsdk.ThreadTask},
		Origin: pluginsdk.FromAgent, Name: verbDelegate, Body: "the half of it",
	}))
	w.says = words("BLOCKED: which port?")
	w.told(w.moved(w.live(below)))
	run, _ := w.open(worker.ThreadID)
	w.told(w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "DONE: the other half"}))
	if task := w.task(id); task.Status != pluginsdk.TaskWaiting || !strings.Contains(task.Error, below) {
		t.Errorf("the task above is %+v", task)
	}
}

// Nobody reads in a worker's thread that a task below it waits for a person: the worker
// must get to say so where somebody does.
func TestAWorkerIsToldThatATaskItGaveWaitsForAPerson(t *testing.T) {
	w := newWorld(t, immortal)
	id := w.delegate("build it")
	worker := w.task(id)
	below := idIn(w.command(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call-2"}, Thread: pluginsdk.Thread{ID: worker.ThreadID, Kind: pluginsdk.ThreadTask},
		Origin: pluginsdk.FromAgent, Name: verbDelegate, Body: "the half of it",
	}))
	run, _ := w.open(worker.ThreadID)
	w.told(w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "I wait."}))
	w.says = words("BLOCKED: which port?")
	w.told(w.moved(w.live(below)))
	if sent := w.sent(worker.ThreadID); len(sent) != 2 || sent[1] != reminder {
		t.Fatalf("the worker was sent %q", sent)
	}
	w.says = words("", "BLOCKED: the half of it waits to be told a port")
	if task := w.live(id); task.Status != pluginsdk.TaskWaiting || !strings.Contains(task.Error, "a port") {
		t.Errorf("the task is %+v", task)
	}
}

// Runs are deleted in time, and a task may wait for longer: it goes on all the same.
func TestATaskWhoseRunWasDeletedGoesOn(t *testing.T) {
	w := newWorld(t, immortal)
	w.host.AddTask(pluginsdk.Task{
		ID: "task", ThreadID: "worker", RunID: "gone", CurrentIteration: 1, MaxIterations: 5, CostCapUSD: 1, Plugin: name, Status: pluginsdk.TaskRunning,
	})
	w.told(w.moved(w.task("task")))
	if task := w.task("task"); task.CurrentIteration != 2 || len(w.sent("worker")) != 1 {
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
		w := newWorld(t, immortal)
		row.above.ID, row.above.Status = "above", pluginsdk.TaskWaiting // so that only the other is taken on
		row.task.ID, row.task.ParentTaskID = "task", "above"
		w.host.AddTask(row.above)
		w.host.AddTask(row.task)
		host := w.host.SDK()
		host.Tasks, host.Log = full{host.Tasks}, discard
		plugin := new(Plugin)
		if err := plugin.Start(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		err := plugin.resume(t.Context())
		if got := w.task("task").Status; got != row.want || (err != nil) != (got == pluginsdk.TaskRunning) {
			t.Errorf("%s: it is %s, %v", name, got, err)
		}
	}
}
