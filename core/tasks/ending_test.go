package tasks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A task that cannot begin has failed, at once when its plugin says why, and its
// parent knows.
func TestATaskThatCannotBeginHasFailed(t *testing.T) {
	for name, err := range map[string]error{
		"its word":  pluginsdk.Errorf(pluginsdk.CodeInvalid, "no repository"),
		"it passes": pluginsdk.Errorf(pluginsdk.CodeUnavailable, "no repository"),
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			p := &reviewer{
				create: func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
					return nil, err
				},
				failed: func(_ context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
					told = append(told, r.Reason)
					return nil, nil //nolint:nilnil // nothing to say
				},
			}
			w := newWorld(t, storetest.Open(t), p)
			task := w.settled(w.create(pluginsdk.NewTask{}))
			if task.Status != pluginsdk.TaskFailed || !strings.Contains(task.Error, "no repository") || len(told) != 1 {
				t.Errorf("it is %s: %s; told %q", task.Status, task.Error, told)
			}
			if want := map[string]int{"its word": 2, "it passes": 4}[name]; len(p.called()) != want {
				t.Errorf("called %q", p.called())
			}
			if notices, _ := w.said(); len(notices) != 1 || !strings.Contains(notices[0], "no repository") {
				t.Errorf("the parent was told %q", notices)
			}
		})
	}
}

// hangs is a hook that goes on until it is ended.
func hangs(begun chan<- struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}

// A person who cancels wants it over: wherever the task is, its agent, the call that is
// under way and the tasks below it end within two seconds.
func TestCancelFromAnywhere(t *testing.T) {
	begun := make(chan struct{}, 10)
	hang := hangs(begun)
	at := map[string]struct {
		plugin *reviewer
		bring  func(w *world, id string)
	}{
		"pending": {&reviewer{create: func(ctx context.Context, _ *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
			return nil, hang(ctx)
		}}, func(*world, string) { <-begun }},
		"running": {&reviewer{}, func(w *world, id string) { w.settled(id); w.iterated(id) }},
		"reviewing": {&reviewer{complete: func(ctx context.Context, _ *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			return nil, hang(ctx)
		}}, func(w *world, id string) { w.settled(id); w.iterate(id); w.evaluate(id); <-begun }},
		"handing": {&reviewer{validated: func(ctx context.Context, _ *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			return nil, hang(ctx)
		}}, func(w *world, id string) { w.settled(id); w.iterate(id); w.evaluate(id); <-begun }},
		"waiting for another attempt": {&reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			return nil, errors.New("boom")
		}}, func(w *world, id string) {
			w.settled(id)
			w.iterate(id)
			w.boot.room.backoff.Base, w.boot.room.backoff.Max = time.Hour, time.Hour
			w.evaluate(id)
			w.until("a failure", func() bool { return w.state(id).Failures == 1 })
		}},
		"waiting": {&reviewer{}, func(w *world, id string) {
			w.settled(id)
			w.iterate(id)
			w.must(func(ctx context.Context, room *Room) error {
				_, err := room.Suspend(ctx, pluginsdk.SuspendTaskRequest{ID: id, Iteration: 1, Reason: "which port?", Mark: "blocked"})
				return err
			})
		}},
	}
	for name, one := range at {
		t.Run(name, func(t *testing.T) {
			p := &reviewer{create: one.plugin.create, complete: one.plugin.complete, validated: one.plugin.validated}
			var told []pluginsdk.OnTaskFailedRequest
			var w *world
			p.failed = func(ctx context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
				if run, err := w.store.Run(ctx, r.Task.RunID); r.Task.RunID != "" && (err != nil || !run.State.Final()) {
					t.Errorf("the plugin is told while the agent works: %+v, %v", run, err)
				}
				p.set(func() { told = append(told, *r) })
				return nil, nil //nolint:nilnil // nothing to say
			}
			w = newWorld(t, storetest.Open(t), p)
			id := w.create(pluginsdk.NewTask{Wake: true})
			one.bring(w, id)
			child := w.create(pluginsdk.NewTask{ParentTaskID: id, Wake: true})
			before, _ := w.said()
			began := time.Now()
			w.must(func(ctx context.Context, room *Room) error {
				task, err := room.Cancel(ctx, id, "enough", ledger.By{Author: "Ann"})
				if task.Status != pluginsdk.TaskCancelled {
					t.Errorf("answered with %s", task.Status)
				}
				return err
			})
			task := w.settled(id)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it took %s", took)
			}
			if below := w.settled(child); below.Status != pluginsdk.TaskCancelled {
				t.Errorf("the task below is %s", below.Status)
			}
			if task.Status != pluginsdk.TaskCancelled || task.Error != "enough" || task.CompletedAt.IsZero() || len(told) != 2 {
				t.Errorf("it ended as %+v; told %+v", task, told)
			}
			if notices, wakes := w.said(); len(notices) != len(before)+2 || len(wakes) != 1 {
				t.Errorf("the parent was told %q, woken with %q", notices, wakes)
			}
		})
	}
}

// A reviewer's turn that goes on after its task would cost for an hour what nobody reads,
// and one that waits for a place would keep the task from ending.
func TestTurnsEndWithTheirTask(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		w := newWorld(t, storetest.Open(t))
		ctx, id := t.Context(), w.create(pluginsdk.NewTask{})
		w.settled(id)
		w.iterate(id)
		asked := []string{"", w.state(id).ThreadID, w.parent.ID} // where they are
		for n, thread := range asked {
			turn, err := w.store.AcceptTurn(ctx, ledger.NewTurn{
				RunID: uuid.Must(uuid.NewV7()).String(), Plugin: "reviewer",
				Request: pluginsdk.StartTurnRequest{Prompt: "review", TaskID: id, ThreadID: thread},
			})
			if err != nil {
				t.Fatal(err)
			}
			asked[n] = turn.RunID
		}
		w.must(func(ctx context.Context, room *Room) (err error) {
			if cancels {
				_, err = room.Cancel(ctx, id, "enough", ledger.By{})
			} else {
				_, err = room.Fail(ctx, id, "enough")
			}
			return err
		})
		w.settled(id)
		for _, runID := range asked {
			if run, err := w.store.Run(ctx, runID); err != nil || run.State != pluginsdk.RunCancelled {
				t.Errorf("cancelled %v: a turn is %s, %v", cancels, run.State, err)
			}
		}
	}
}

// A plugin that is told of a task's end takes its worktree away, in which what is made
// below the task works.
func TestTheEndIsToldWhenAllBelowIsOver(t *testing.T) {
	var ids []string
	p := &reviewer{}
	w := newWorld(t, storetest.Open(t), p)
	p.failed = func(ctx context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
		for n := range ids {
			below, err := w.store.TaskState(ctx, ids[n])
			if err != nil {
				return nil, err
			}
			if run, err := w.store.Run(ctx, below.RunID); r.Task.ID == ids[0] && (err != nil || !run.State.Final()) {
				t.Errorf("told while the one %d below works: %s, %v", n, run.State, err)
			}
		}
		return nil, nil //nolint:nilnil // nothing to say
	}
	for n := range 3 {
		task := pluginsdk.NewTask{}
		if n > 0 {
			task.ParentTaskID = ids[n-1]
		}
		ids = append(ids, w.create(task))
		w.settled(ids[n])
		w.iterated(ids[n])
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Fail(ctx, ids[0], "enough")
		return err
	})
	for n, id := range ids {
		if task := w.settled(id); !task.Status.Final() || n > 0 && task.Status != pluginsdk.TaskCancelled {
			t.Errorf("%d below: %s", n, task.Status)
		}
	}
}
