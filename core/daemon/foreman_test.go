package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const foremanName = "foreman"

// foreman is a plugin that has work done and looks at it itself: the first iteration
// of a task it rejects. It keeps nothing.
type foreman struct{ host pluginsdk.Host }

func runForeman() { serve.Main(&foreman{}) }

func (*foreman) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: foremanName, Version: "1.0.0",
		Commands: []pluginsdk.CommandSpec{
			{Name: "delegate", Description: "have work done"}, {Name: "settle", Description: "have a task go on, for more", Scope: pluginsdk.ScopeApprove},
		},
		Events: []string{"pipeline:complete", "task:*"},
	}
}

func (f *foreman) Start(_ context.Context, host pluginsdk.Host) error {
	f.host = host
	return nil
}

func (f *foreman) Activate(ctx context.Context) error { return f.resume(ctx) }

func (*foreman) Deactivate(context.Context) error { return nil }

func (f *foreman) OnCommand(ctx context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if command.Name == "settle" {
		settled, err := f.host.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{
			ID: command.Body, Iteration: 1, Verdict: pluginsdk.VerdictReject, Feedback: "once more", Author: "nobody", CostCapUSD: 9,
		})
		if err != nil {
			return nil, err
		}
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: fmt.Sprintf("it may cost %.0f USD", settled.Task.CostCapUSD)}, nil
	}
	made, err := f.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: command.Call.ID, Task: pluginsdk.NewTask{
		ParentThreadID: command.Thread.ID, Prompt: command.Body, Wake: true,
	}})
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: made.Task.ID}, nil
}

func (f *foreman) OnBroadcast(ctx context.Context, _ *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return nil, f.resume(ctx)
}

func (f *foreman) resume(ctx context.Context) (err error) {
	open, err := f.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: foremanName, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskRunning}}})
	if err != nil {
		return err
	}
	for _, task := range open.Tasks {
		err = errors.Join(err, f.advance(ctx, task))
	}
	return err
}

func (f *foreman) advance(ctx context.Context, task pluginsdk.Task) error {
	if task.CurrentIteration > 0 {
		run, err := f.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: task.RunID})
		if err != nil || !run.Run.State.Final() {
			return err
		}
		evaluated, err := f.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Result: run.Run.Result.Text})
		if err != nil || evaluated.Task.Status != pluginsdk.TaskRunning {
			return err
		}
	}
	_, err := f.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration + 1, Content: task.Prompt})
	return err
}

// forAPerson is a task that the foreman has no opinion on, in a directory: it waits for a
// person.
const forAPerson = "leave it to a person"

func (*foreman) OnTaskCreate(_ context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	changes := &pluginsdk.OnTaskCreateResponse{SetLabels: map[string]string{"by": foremanName}}
	if r.Task.Prompt == forAPerson {
		directory := os.TempDir()
		changes.Cwd = &directory
	}
	return changes, nil
}

func (*foreman) OnTaskComplete(_ context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	appendLine(beside("reviews.log"), r.Call.ID)
	if r.Task.Prompt == forAPerson {
		return nil, nil //nolint:nilnil // no opinion
	}
	if r.Task.CurrentIteration == 1 {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: "once more"}, nil
	}
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept}, nil
}

func (*foreman) OnTaskValidated(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	appendLine(beside("handovers.log"), r.Call.ID)
	return nil, nil //nolint:nilnil // done
}

// kill -9 when a task comes to one of these steps for the first time, with a plugin in a process of
// its own that takes it on: after the restart it is done as it would have been, with as many turns
// of the agent, and its parent is told and woken once.
func TestKillAtStepsOfATask(t *testing.T) {
	t.Parallel()
	in := leanInstallation(t, "", foremanName)
	rows := in.database()
	in.spawn()
	in.sql(`UPDATE plugins SET granted = '["tasks.read","tasks.write","runs.read","events.read","turns.read","turns.change","turns.decide","tasks.prepare","tasks.judge"]', enabled = TRUE WHERE name = 'foreman'`)
	in.until("the plugin's serving", func() bool { return plugin(t, rows, foremanName).State == pluginsdk.PluginServing })
	in.eachDeath([]string{"created", "answered", "iterated", "moved", "finish"}, func(t *testing.T, point string) { killTaskAt(t, in, rows, point) })
}

func killTaskAt(t *testing.T, in *installation, database *store.Store, point string) {
	for _, file := range []string{"reviews.log", "handovers.log"} {
		_ = os.Remove(filepath.Join(in.config.Plugins, file))
	}
	earlier, err := database.Tasks(t.Context(), pluginsdk.TaskQuery{})
	if err != nil {
		t.Fatal(err)
	}
	parent := in.thread("parent")
	in.killedAt(point, func() { in.chat(parent, "/delegate build it") }, func(held []string) bool {
		return countOf(held, func(id string) bool {
			return !slices.ContainsFunc(earlier, func(t pluginsdk.Task) bool { return t.ID == id })
		}) > 0
	})
	var task pluginsdk.Task
	in.until("the end of the task", func() bool {
		tasks, err := database.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent})
		if err != nil || len(tasks) == 0 {
			return false
		}
		if len(tasks) > 1 {
			t.Fatalf("there are %d tasks", len(tasks))
		}
		task = tasks[0]
		return !task.CompletedAt.IsZero()
	})
	if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 2 || task.ValidationIterations != 1 || task.Labels["by"] != foremanName {
		t.Errorf("it ended as %+v", task)
	}
	if runs, err := database.Runs(t.Context(), pluginsdk.RunQuery{ThreadID: task.ThreadID}); err != nil || len(runs) != 2 {
		t.Errorf("%d turns, %v", len(runs), err)
	}
	notices, wakes := 0, 0
	for _, row := range in.messages(parent) {
		if row.Kind == pluginsdk.MessageNotification {
			notices++
		}
		if row.Role == pluginsdk.RoleUser && row.Source == "task" {
			wakes++
		}
	}
	if notices != 1 || wakes != 1 {
		t.Errorf("the parent was told %d times, woken %d times", notices, wakes)
	}
	for file, want := range map[string]int{"reviews.log": 2, "handovers.log": 1} {
		calls := lines(t, filepath.Join(in.config.Plugins, file))
		slices.Sort(calls)
		if got := slices.Compact(slices.Clone(calls)); len(got) != want || len(calls) > want+1 {
			t.Errorf("%s: %s", file, fmt.Sprint(calls))
		}
	}
}
