package tasks

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// owns has the next iteration begun whose work the plugin does itself.
func (w *world) owns(id string) {
	w.t.Helper()
	next := w.state(id).CurrentIteration + 1
	w.must(func(ctx context.Context, room *Room) error {
		_, accepted, err := room.Iterate(ctx, pluginsdk.IterateTaskRequest{ID: id, Iteration: next, Own: true})
		if accepted != (pluginsdk.Accepted{}) {
			w.t.Errorf("iteration %d has the run %+v", next, accepted)
		}
		return err
	})
}

// history is a task's iterations, and the runs of its thread.
func (w *world) history(id string) (iterations []pluginsdk.TaskIteration, runs []pluginsdk.Run) {
	w.t.Helper()
	iterations, _, err := w.boot.room.History(context.Background(), id, 0, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	if runs, err = w.store.Runs(context.Background(), pluginsdk.RunQuery{ThreadID: w.state(id).ThreadID}); err != nil {
		w.t.Fatal(err)
	}
	return iterations, runs
}

// A plugin whose task is worked on by other tasks begins, hands in and suspends iterations as
// any other does, without a message that an agent would answer.
func TestAnOwnIterationHasNoRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var looked []pluginsdk.OnTaskCompleteRequest
		words := "Mind the tests."
		w := newWorld(t, s, &reviewer{
			create: func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
				return &pluginsdk.OnTaskCreateResponse{Context: &words}, nil
			},
			complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
				looked = append(looked, *r)
				return says(pluginsdk.VerdictReject)(ctx, r)
			},
		})
		id := w.create(pluginsdk.NewTask{MaxIterations: 4})
		w.settled(id)
		iterate := func(n int, own bool, content string) (pluginsdk.Task, pluginsdk.Accepted, error) {
			return w.boot.room.Iterate(t.Context(), pluginsdk.IterateTaskRequest{ID: id, Iteration: n, Own: own, Content: content})
		}
		_, _, err := iterate(1, true, "go")
		wantCode(t, err, pluginsdk.CodeInvalid)
		_, _, err = iterate(2, true, "")
		wantCode(t, err, pluginsdk.CodeInvalid)
		w.owns(id)
		for _, own := range []bool{true, false} { // who repeats it is told of the first one
			if task, accepted, err := iterate(1, own, ""); err != nil || task.CurrentIteration != 1 || task.RunID != "" || accepted != (pluginsdk.Accepted{}) {
				t.Errorf("repeated: %+v, %+v, %v", task, accepted, err)
			}
		}
		iterations, runs := w.history(id)
		if len(runs) != 0 || len(iterations) != 1 || iterations[0].State != pluginsdk.RunRunning || !iterations[0].FinishedAt.IsZero() {
			t.Errorf("at work it has the iterations %+v and the runs %+v", iterations, runs)
		}
		if heard := w.heard(); heard[len(heard)-1] != "task:progress running" || len(heard) != 3 {
			t.Errorf("heard %q", heard)
		}
		w.evaluate(id)
		if task := w.settled(id); task.Status != pluginsdk.TaskRunning || len(looked) != 1 || looked[0].Result.Text != "built" {
			t.Errorf("it is %s, looked at %+v", task.Status, looked)
		}
		if _, accepted, err := iterate(2, false, "go"); err != nil || accepted.RunID == "" {
			t.Errorf("iteration 2: %+v, %v", accepted, err)
		}
		if said, err := s.Message(t.Context(), 1); err != nil || said.Content != "Mind the tests.\n\ngo" {
			t.Errorf("the worker is told %q, %v", said.Content, err)
		}
		w.answer(id, "DONE")
		if _, accepted, err := iterate(2, true, ""); err != nil || accepted.RunID != w.state(id).RunID || !accepted.Existed {
			t.Errorf("iteration 2 repeated as an own one: %+v, %v", accepted, err)
		}
		w.owns(id)
		if run := w.state(id).RunID; run != "" {
			t.Errorf("iteration 3 has the run %s of the one before", run)
		}
		w.must(func(ctx context.Context, room *Room) error {
			_, err := room.Suspend(ctx, pluginsdk.SuspendTaskRequest{ID: id, Iteration: 3, Reason: "which port?", Result: "half of it"})
			return err
		})
		w.decide(id, pluginsdk.DecideTaskRequest{})
		w.owns(id)
		_, _, err = iterate(5, true, "")
		wantCode(t, err, pluginsdk.CodeExhausted)
		iterations, runs = w.history(id)
		var states []pluginsdk.RunState
		for n, one := range iterations {
			states = append(states, one.State)
			if own := n != 1; one.Iteration != n+1 || one.Own != own || one.RunID == "" != own || one.QueuedAt.IsZero() || one.FinishedAt.IsZero() != (n == 3) {
				t.Errorf("iteration %d is %+v", n+1, one)
			}
		}
		if want := []pluginsdk.RunState{"succeeded", "succeeded", "succeeded", "running"}; !slices.Equal(states, want) || len(runs) != 1 {
			t.Errorf("the iterations are %q, of %d runs", states, len(runs))
		}
	})
}

// The end of a task in an own iteration ends that one, and no run that an older iteration has
// left: that is no run of the task's any more.
func TestATaskEndsInAnOwnIteration(t *testing.T) {
	s := storetest.Open(t)
	for want, end := range map[pluginsdk.RunState]func(ctx context.Context, room *Room, id string) error{
		pluginsdk.RunFailed: func(ctx context.Context, room *Room, id string) error {
			_, err := room.Fail(ctx, id, "no use")
			return err
		},
		pluginsdk.RunCancelled: func(ctx context.Context, room *Room, id string) error {
			_, err := room.Cancel(ctx, id, "enough", ledger.By{Author: "Ann"})
			return err
		},
	} {
		w := newWorld(t, s)
		id := w.create(pluginsdk.NewTask{})
		w.settled(id)
		w.iterated(id)
		w.owns(id)
		w.must(func(ctx context.Context, room *Room) error { return end(ctx, room, id) })
		if task := w.settled(id); task.CompletedAt.IsZero() {
			t.Errorf("it is %+v", task)
		}
		iterations, runs := w.history(id)
		if len(iterations) != 2 || iterations[1].State != want || iterations[1].FinishedAt.IsZero() {
			t.Errorf("%s: the iterations are %+v", want, iterations)
		}
		left := pluginsdk.RunQueued
		if want == pluginsdk.RunCancelled { // all that the thread still works on ends with the task
			left = pluginsdk.RunCancelled
		}
		if len(runs) != 1 || runs[0].State != left {
			t.Errorf("%s: the run of iteration 1 is %+v", want, runs)
		}
	}
}

// A task that iterates without end must not fill its row.
func TestOwnIterationsAreBounded(t *testing.T) {
	task := ledger.Task{}
	for n := 1; n <= maxOwn+10; n++ {
		task.CurrentIteration = n
		leaveOwn(&task, iterate)
		beginOwn(&task)
	}
	if own := task.OwnIterations; len(own) != maxOwn || own[0].Iteration != 11 || own[0].State != pluginsdk.RunSucceeded || own[maxOwn-1].State != pluginsdk.RunRunning {
		t.Errorf("%d, from %+v to %+v", len(own), own[0], own[len(own)-1])
	}
	moved := task
	if leaveOwn(&moved, hand); task.OwnIterations[maxOwn-1].State != pluginsdk.RunRunning {
		t.Error("a move has changed the task that it is made from")
	}
}

// A task that has cost what it may is not lost: its plugin can begin an iteration of its own and leave the
// task to a person, who raises the cap or ends it.
func TestAnOwnIterationIsBegunAtTheCostCap(t *testing.T) {
	w := newWorld(t, storetest.Open(t), &reviewer{complete: says(pluginsdk.VerdictReject)})
	id := w.create(pluginsdk.NewTask{CostCapUSD: 0.1, MaxIterations: 3})
	w.settled(id)
	w.iterate(id) // it costs 0.25
	w.evaluate(id)
	if task := w.settled(id); task.Status != pluginsdk.TaskRunning || task.CostUSD < task.CostCapUSD {
		t.Fatalf("it is %s, and has cost %.2f", task.Status, task.CostUSD)
	}
	_, _, err := w.boot.room.Iterate(t.Context(), pluginsdk.IterateTaskRequest{ID: id, Iteration: 2, Content: "go"})
	wantCode(t, err, pluginsdk.CodeExhausted)
	w.owns(id)
	if task, err := w.boot.room.Suspend(t.Context(), pluginsdk.SuspendTaskRequest{ID: id, Iteration: 2, Reason: "it has come to its cap"}); err != nil || task.Status != pluginsdk.TaskWaiting {
		t.Errorf("it is %s: %v", task.Status, err)
	}
}
