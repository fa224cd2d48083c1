package plugintest_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// worker drives one task over the wire.
type worker struct {
	*testing.T
	host *plugintest.Host
	sdk  pluginsdk.Tasks
	id   string
}

func newWorker(t *testing.T, task pluginsdk.NewTask) worker {
	t.Helper()
	host, sdk := overTheWire(t)
	made := must(sdk.Tasks.Create(t.Context(), &pluginsdk.CreateTaskRequest{Key: "key", Task: task}))
	return worker{T: t, host: host, sdk: sdk.Tasks, id: made.Task.ID}
}

func (w worker) task() pluginsdk.Task {
	return must(w.sdk.Get(w.Context(), &pluginsdk.GetTaskRequest{ID: w.id})).Task
}

func (w worker) iterate(n int) (*pluginsdk.IterateTaskResponse, error) {
	return w.sdk.Iterate(w.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: n, Content: fmt.Sprint("go ", n)})
}

func (w worker) evaluate(n int) (pluginsdk.Task, error) {
	answer, err := w.sdk.Evaluate(w.Context(), &pluginsdk.EvaluateTaskRequest{ID: w.id, Iteration: n, Result: "done"})
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return answer.Task, nil
}

func (w worker) suspend(n int) (pluginsdk.Task, error) {
	answer, err := w.sdk.Suspend(w.Context(), &pluginsdk.SuspendTaskRequest{ID: w.id, Iteration: n, Reason: "which port?", Mark: "blocked"})
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return answer.Task, nil
}

func (w worker) refused(code pluginsdk.Code, err error) {
	w.Helper()
	if pluginsdk.CodeOf(err) != code {
		w.Errorf("error is %s %v, want %s", pluginsdk.CodeOf(err), err, code)
	}
}

func TestATaskIsCreatedOnceAndRuns(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx := t.Context()
	request := &pluginsdk.CreateTaskRequest{Key: "key", Task: pluginsdk.NewTask{Prompt: "work", ParentThreadID: "T", Wake: true, Labels: map[string]string{"a": "b"}}}
	made, again := must(sdk.Tasks.Create(ctx, request)), must(sdk.Tasks.Create(ctx, request))
	if made.Existed || !again.Existed || again.Task.ID != made.Task.ID {
		t.Errorf("made %+v, again %+v", made, again)
	}
	if task := made.Task; task.Status != pluginsdk.TaskRunning || task.MaxIterations != 5 || task.ThreadID == "" || !task.Wake || task.Labels["a"] != "b" {
		t.Errorf("made %+v", task)
	}
	child := must(sdk.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{ParentTaskID: made.Task.ID}})).Task
	if child.Depth != 1 {
		t.Errorf("the child is %+v", child)
	}
	query := pluginsdk.TaskQuery{ThreadID: made.Task.ThreadID, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskRunning}, Newest: true}
	if got := must(sdk.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: query})).Tasks; len(got) != 1 || got[0].ID != made.Task.ID {
		t.Errorf("listed %+v", got)
	}
}

func TestATaskGoesOnInTheThreadOfOneThatIsOver(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{Prompt: "work", ParentThreadID: "T", Cwd: "/worktree"})
	request := &pluginsdk.CreateTaskRequest{Key: "again", Task: pluginsdk.NewTask{Prompt: "more", FromTaskID: w.id}}
	_, err := w.sdk.Create(t.Context(), request)
	w.refused(pluginsdk.CodeStale, err)
	must(w.sdk.Fail(t.Context(), &pluginsdk.FailTaskRequest{ID: w.id}))
	made, again := must(w.sdk.Create(t.Context(), request)).Task, must(w.sdk.Create(t.Context(), request))
	if made.ThreadID != w.task().ThreadID || made.ID == w.id || made.ParentThreadID != "T" || made.Cwd != "/worktree" || !again.Existed {
		t.Errorf("went on as %+v, again %+v", made, again)
	}
	_, err = w.sdk.Create(t.Context(), &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{FromTaskID: "none"}})
	w.refused(pluginsdk.CodeNotFound, err)
}

// Whoever repeats a transition after a kill must not make it twice.
func TestTransitionsAreMadeOnce(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{Prompt: "work"})
	first, again := must(w.iterate(1)), must(w.iterate(1))
	if first.Accepted.Existed || !again.Accepted.Existed || again.Accepted.RunID != first.Accepted.RunID || first.Task.RunID != first.Accepted.RunID {
		t.Errorf("iterated %+v, then %+v", first, again)
	}
	if got := w.host.Submissions(); len(got) != 1 || got[0].Content != "go 1" || got[0].ThreadID != first.Task.ThreadID {
		t.Errorf("submitted %+v", got)
	}
	for range 2 {
		if task := must(w.evaluate(1)); task.Status != pluginsdk.TaskEvaluating || task.Result != "done" {
			t.Errorf("evaluated %+v", task)
		}
	}
	rejected := w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: "no tests"})
	if rejected.Status != pluginsdk.TaskRunning || rejected.Feedback != "no tests" || rejected.ValidationIterations != 1 {
		t.Errorf("rejected %+v", rejected)
	}
	if task := must(w.evaluate(1)); task.Status != pluginsdk.TaskRunning || task.Feedback != "no tests" {
		t.Errorf("an iteration that was rejected is evaluated again: %+v", task)
	}
	must(w.iterate(2))
	if task := must(w.suspend(2)); task.Status != pluginsdk.TaskWaiting || task.Marks[0] != "blocked" {
		t.Errorf("suspended %+v", task)
	}
	_, err := w.sdk.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: w.id, Iteration: 1})
	w.refused(pluginsdk.CodeStale, err)
	_, err = w.sdk.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: w.id, Verdict: pluginsdk.VerdictAccept})
	w.refused(pluginsdk.CodeStale, err) // the result of iteration 1 is no result of iteration 2
	decide := &pluginsdk.DecideTaskRequest{ID: w.id, Iteration: 2, Feedback: "port 80", Author: "Ann"}
	if task := must(w.sdk.Decide(t.Context(), decide)).Task; task.Status != pluginsdk.TaskRunning || task.Feedback != "port 80" || len(task.Marks) != 0 {
		t.Errorf("decided %+v", task)
	}
	if task := must(w.suspend(2)); task.Status != pluginsdk.TaskRunning {
		t.Errorf("an iteration that a person has decided on waits again: %+v", task)
	}
	must(w.iterate(3))
	must(w.evaluate(3))
	if task := w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: "look", Marks: []string{"a"}}); task.Status != pluginsdk.TaskWaiting || task.Error != "look" || len(task.Marks) != 1 || !task.CompletedAt.IsZero() {
		t.Errorf("left to a person %+v", task)
	}
	must(w.sdk.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: w.id}))
	must(w.iterate(4))
	must(w.evaluate(4))
	if task := w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept}); task.Status != pluginsdk.TaskCompleted || task.CompletedAt.IsZero() {
		t.Errorf("accepted %+v", task)
	}
}

// A plugin that does the work of an iteration itself finds here what the daemon does.
func TestAnOwnIterationHasNoRun(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{Prompt: "work"})
	own := func(n int) *pluginsdk.IterateTaskResponse {
		return must(w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: n, Own: true}))
	}
	_, err := w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: 1, Own: true, Content: "go"})
	w.refused(pluginsdk.CodeInvalid, err)
	run := must(w.iterate(1)).Accepted.RunID
	for range 2 {
		if got := own(2); got.Accepted != (pluginsdk.Accepted{}) || got.Task.RunID != "" || got.Task.CurrentIteration != 2 {
			t.Errorf("iterated %+v", got)
		}
	}
	if got := w.host.Submissions(); len(got) != 1 || got[0].Options != nil {
		t.Errorf("submitted %+v", got)
	}
	if again := own(1); again.Accepted.RunID != run || !again.Accepted.Existed {
		t.Errorf("iteration 1 is %+v", again)
	}
	if task := must(w.evaluate(2)); task.Status != pluginsdk.TaskEvaluating || task.Result != "done" {
		t.Errorf("evaluated %+v", task)
	}
	w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject})
	own(3)
	must(w.sdk.Cancel(t.Context(), &pluginsdk.CancelTaskRequest{ID: w.id}))
	history := must(w.sdk.History(t.Context(), &pluginsdk.TaskHistoryRequest{ID: w.id})).Iterations
	for n, want := range []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunSucceeded, pluginsdk.RunCancelled} {
		if one := history[n]; one.State != want || one.Own != (n > 0) || one.RunID == "" != one.Own || one.FinishedAt.IsZero() == one.Own {
			t.Errorf("iteration %d is %+v", n+1, one)
		}
	}
}

func TestAnIterationForbidsTools(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{})
	rules := []string{"Edit"}
	must(w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: 1, Content: "go", DisallowedTools: rules}))
	if got := w.host.Submissions(); len(got) != 1 || got[0].Options == nil || !slices.Equal(got[0].Options.DisallowedTools, rules) {
		t.Errorf("submitted %+v", got)
	}
	_, err := w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: 2, Own: true, DisallowedTools: rules})
	w.refused(pluginsdk.CodeInvalid, err)
}

func TestTransitionsAreGuardedByTheStatusTheyLeave(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{Prompt: "work", MaxIterations: 2, MaxValidationIterations: 1})
	ctx := t.Context()
	decide := func() error {
		_, err := w.sdk.Decide(ctx, &pluginsdk.DecideTaskRequest{ID: w.id})
		return err
	}
	w.refused(pluginsdk.CodeStale, decide())
	_, err := w.sdk.Decide(ctx, &pluginsdk.DecideTaskRequest{ID: w.id, Verdict: "maybe"})
	w.refused(pluginsdk.CodeInvalid, err)
	_, err = w.evaluate(0)
	w.refused(pluginsdk.CodeInvalid, err)
	_, err = w.iterate(2)
	w.refused(pluginsdk.CodeInvalid, err)
	_, err = w.evaluate(1)
	w.refused(pluginsdk.CodeInvalid, err)
	must(w.iterate(1))
	must(w.evaluate(1))
	_, err = w.iterate(2)
	w.refused(pluginsdk.CodeStale, err)
	_, err = w.suspend(2)
	w.refused(pluginsdk.CodeStale, err)
	if task := w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{}); task.Status != pluginsdk.TaskEvaluating {
		t.Errorf("no verdict made it %s", task.Status)
	}
	if task := w.host.Judge(w.id, pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject}); task.Status != pluginsdk.TaskFailed {
		t.Errorf("rejected as often as may be, it is %s", task.Status)
	}
	_, err = w.iterate(2)
	w.refused(pluginsdk.CodeStale, err)
	if got := must(w.sdk.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: w.id})).Task; got.Status != pluginsdk.TaskFailed {
		t.Errorf("a task that was over is %s", got.Status)
	}
	_, err = w.sdk.Fail(ctx, &pluginsdk.FailTaskRequest{ID: "none"})
	w.refused(pluginsdk.CodeNotFound, err)
}

func TestATaskEndsByFailCancelOrExhaustion(t *testing.T) {
	for status, end := range map[pluginsdk.TaskStatus]func(context.Context, worker) pluginsdk.Task{
		pluginsdk.TaskFailed: func(ctx context.Context, w worker) pluginsdk.Task {
			return must(w.sdk.Fail(ctx, &pluginsdk.FailTaskRequest{ID: w.id, Reason: "r"})).Task
		},
		pluginsdk.TaskCancelled: func(ctx context.Context, w worker) pluginsdk.Task {
			return must(w.sdk.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: w.id, Reason: "r", Author: "Ann"})).Task
		},
	} {
		w := newWorker(t, pluginsdk.NewTask{})
		for range 2 {
			if task := end(t.Context(), w); task.Status != status || task.Error != "r" {
				t.Errorf("%s: %+v", status, task)
			}
		}
	}
	w := newWorker(t, pluginsdk.NewTask{MaxIterations: 2, CostCapUSD: 1})
	for n := 1; n <= 2; n++ {
		w.host.FinishRun(must(w.iterate(n)).Accepted.RunID, pluginsdk.InvokeResult{Text: "hm", CostUSD: 0.4})
	}
	_, err := w.iterate(3)
	w.refused(pluginsdk.CodeExhausted, err)
	if task := w.task(); task.CostUSD != 0.8 || task.CurrentIteration != 2 {
		t.Errorf("the task is %+v", task)
	}
	dear := newWorker(t, pluginsdk.NewTask{CostCapUSD: 0.1})
	dear.host.FinishRun(must(dear.iterate(1)).Accepted.RunID, pluginsdk.InvokeResult{CostUSD: 0.4})
	_, err = dear.iterate(2)
	dear.refused(pluginsdk.CodeExhausted, err)
}

// What is made below a task costs it, and a person's word can raise its cap.
func TestAPersonRaisesACostCap(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{CostCapUSD: 1})
	below := w
	below.id = must(w.sdk.Create(t.Context(), &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{ParentTaskID: w.id}})).Task.ID
	must(w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: 1, Own: true}))
	w.host.FinishRun(must(below.iterate(1)).Accepted.RunID, pluginsdk.InvokeResult{CostUSD: 1.5})
	if cost := w.task().CostUSD; cost != 1.5 || below.task().CostUSD != 1.5 {
		t.Errorf("it has cost %v, the one below %v", cost, below.task().CostUSD)
	}
	_, err := below.iterate(2)
	w.refused(pluginsdk.CodeExhausted, err)
	must(w.suspend(1))
	for _, request := range []*pluginsdk.DecideTaskRequest{
		{ID: w.id, CostCapUSD: -1}, {ID: w.id, CostCapUSD: 1.5}, {ID: w.id, CostCapUSD: math.Inf(1)}, {ID: w.id, CostCapUSD: math.NaN()},
	} {
		_, err := w.sdk.Decide(t.Context(), request)
		w.refused(pluginsdk.CodeInvalid, err)
	}
	if task := must(w.sdk.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: w.id, CostCapUSD: 2})).Task; task.CostCapUSD != 2 || task.Status != pluginsdk.TaskRunning {
		t.Errorf("decided %+v", task)
	}
	must(below.iterate(2))
	must(w.sdk.Iterate(t.Context(), &pluginsdk.IterateTaskRequest{ID: w.id, Iteration: 2, Own: true}))
	must(w.sdk.Suspend(t.Context(), &pluginsdk.SuspendTaskRequest{ID: w.id, Iteration: 2, Result: "done"}))
	_, err = w.sdk.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: w.id, Verdict: pluginsdk.VerdictAccept, CostCapUSD: 3})
	w.refused(pluginsdk.CodeInvalid, err)
}

// What a plugin is told of a run's end must be what it then reads.
func TestARunIsFinishedAsTheCoreDoes(t *testing.T) {
	w := newWorker(t, pluginsdk.NewTask{})
	run := must(w.iterate(1)).Accepted.RunID
	event := w.host.FinishRun(run, pluginsdk.InvokeResult{Text: "DONE: all"})
	rows := w.host.Messages(w.task().ThreadID)
	if event.Type != pluginsdk.EventPipelineComplete || event.ThreadID != w.task().ThreadID || len(rows) != 2 || rows[1].Content != "DONE: all" {
		t.Errorf("%+v, %+v", event, rows)
	}
	run = must(w.iterate(2)).Accepted.RunID
	if event := w.host.FinishRun(run, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Message: "no"}}); event.Type != pluginsdk.EventPipelineError {
		t.Errorf("%+v", event)
	}
}
