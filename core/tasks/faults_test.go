package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// drive takes a task on as a plugin does that keeps nothing: it looks at the task, and
// makes the step that is due, until the core has nothing to do and done says so.
func (w *world) drive(id string, done func(ledger.Task) bool) ledger.Task {
	w.t.Helper()
	w.until("an end of the task", func() bool {
		w.revive()
		task := w.state(id)
		if task.Phase != ledger.PhaseIdle || !w.boot.quiet(id) {
			return false
		}
		if done(task) {
			return true
		}
		w.advance(task)
		return false
	})
	return w.state(id)
}

func (w *world) advance(task ledger.Task) {
	w.t.Helper()
	id := task.ID
	if task.Status == pluginsdk.TaskWaiting {
		w.decide(id, pluginsdk.DecideTaskRequest{Feedback: "port 80", Author: "Ann"})
		return
	}
	if task.RunID != "" {
		run, err := w.store.Run(context.Background(), task.RunID)
		if err != nil {
			w.t.Fatal(err)
		}
		if !run.State.Final() {
			w.answer(id, "DONE")
			return
		}
	}
	switch {
	case task.Settled == task.CurrentIteration && task.CurrentIteration == 1:
		w.owns(id)
	case task.Settled == task.CurrentIteration:
		w.iterated(id)
	case task.CurrentIteration == 2:
		w.must(func(ctx context.Context, room *Room) error {
			_, err := room.Suspend(ctx, pluginsdk.SuspendTaskRequest{ID: id, Iteration: 2, Reason: "which port?", Mark: "blocked"})
			return err
		})
	default:
		w.evaluate(id)
	}
}

// decide is a person's word. One that was given and whose answer was lost is found to
// hold.
func (w *world) decide(id string, request pluginsdk.DecideTaskRequest) {
	w.t.Helper()
	request.ID = id
	err := w.ask(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, request)
		return err
	})
	if err != nil && !errors.Is(err, errKilled) && pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		w.t.Fatal(err)
	}
}

func final(task ledger.Task) bool { return task.Status.Final() }

// keeps fails the test when a plugin is asked what it has answered already.
func (p *reviewer) keeps(phase ledger.TaskPhase, task pluginsdk.Task) {
	now, err := p.world.store.TaskState(context.Background(), task.ID)
	if err != nil {
		p.world.t.Error(err)
	}
	answers, err := p.world.store.TaskAnswers(context.Background(), task.ID, now.CurrentIteration)
	if err != nil {
		p.world.t.Error(err)
	}
	if now.Phase == phase && slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool {
		return a.Plugin == p.info.Name && a.Phase == phase && a.Round == now.Round && a.Author == ""
	}) {
		p.world.t.Errorf("the plugin %s is asked again in %s, round %d, in which it has answered", p.info.Name, phase, now.Round)
	}
}

// killed is the story of one task: it is rejected, waits for a person in an iteration of its
// plugin's own, is evaluated twice, and is completed, or given up in the end.
func killed(t *testing.T, s *store.Store, point string, occurrence int, givenUp bool) bool {
	t.Helper()
	reached := false
	var mu sync.Mutex
	verdicts := map[string]pluginsdk.Verdict{}
	agains := map[string]bool{}
	var plugins []*reviewer
	for range 2 {
		p := &reviewer{}
		p.create = func(_ context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
			p.keeps(ledger.PhaseCreating, r.Task)
			return &pluginsdk.OnTaskCreateResponse{SetLabels: map[string]string{p.info.Name: r.Context.Labels[p.info.Name] + "x"}}, nil
		}
		p.complete = func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			p.keeps(ledger.PhaseReviewing, r.Task)
			mu.Lock()
			defer mu.Unlock()
			if verdicts[r.Call.ID] == "" { // what it has decided it says again
				verdicts[r.Call.ID] = pluginsdk.VerdictAccept
				if r.Task.CurrentIteration == 1 {
					verdicts[r.Call.ID] = pluginsdk.VerdictReject
				}
			}
			return says(verdicts[r.Call.ID])(ctx, r)
		}
		p.validated = func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			p.keeps(ledger.PhaseHanding, r.Task)
			mu.Lock()
			defer mu.Unlock()
			if known, ok := agains[r.Call.ID]; ok && known || len(agains) == 0 {
				agains[r.Call.ID] = true
				return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverAgain, Reason: "it has moved"}, nil
			}
			if givenUp {
				return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "no")
			}
			return nil, nil //nolint:nilnil // done
		}
		p.failed = func(_ context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
			p.keeps(ledger.PhaseEnding, r.Task)
			return nil, nil //nolint:nilnil // nothing to say
		}
		plugins = append(plugins, p)
	}
	w := newWorld(t, s, plugins...)
	w.kill()
	w.fault = func(step string) bool {
		mu.Lock()
		defer mu.Unlock()
		if step == point {
			occurrence--
		}
		now := step == point && occurrence == 0
		reached = reached || now
		return now
	}
	w.begin()
	id := w.create(pluginsdk.NewTask{Wake: true})
	if givenUp {
		w.drive(id, func(task ledger.Task) bool { return task.Status == pluginsdk.TaskWaiting && task.CurrentIteration == 3 })
		w.must(func(ctx context.Context, room *Room) error {
			_, err := room.Fail(ctx, id, "no use")
			return err
		})
	}
	task := w.drive(id, final)
	wantStatus, wantNotices := pluginsdk.TaskCompleted, 2
	if givenUp {
		wantStatus, wantNotices = pluginsdk.TaskFailed, 3
	}
	if task.Status != wantStatus || task.CurrentIteration != 3 || task.ValidationIterations != 1 || task.CompletedAt.IsZero() || task.CostUSD != 0.5 {
		t.Errorf("it ended as %+v", task)
	}
	for _, p := range plugins {
		if task.Labels[p.info.Name] != "x" {
			t.Errorf("OnTaskCreate's chain was gone through as %v", task.Labels)
		}
	}
	notices, wakes := w.said()
	if len(notices) != wantNotices || len(wakes) != 1 {
		t.Errorf("the parent was told %q, woken with %q", notices, wakes)
	}
	if deliveries, err := s.Deliveries(context.Background(), pluginsdk.DeliveryQuery{Place: w.parent.SourceID}); err != nil || len(deliveries) != wantNotices {
		t.Errorf("%d deliveries, %v", len(deliveries), err)
	}
	runs, err := s.Runs(context.Background(), pluginsdk.RunQuery{ThreadID: task.ThreadID})
	if err != nil || len(runs) != 2 || len(task.OwnIterations) != 1 || task.OwnIterations[0].State != pluginsdk.RunSucceeded {
		t.Errorf("%d iterations are %d runs and %+v, %v", task.CurrentIteration, len(runs), task.OwnIterations, err)
	}
	mu.Lock() // the room goes on
	defer mu.Unlock()
	return reached
}

// A daemon that is killed at any point, the first or a later time that it comes there:
// the next one ends the task as it would have ended, and nobody is told, woken, asked or
// paid twice.
func TestATaskIsKilledAtEveryFaultPoint(t *testing.T) {
	for database, open := range map[string]func(testing.TB) store.Config{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		for _, point := range FaultPoints {
			t.Run(database+"/"+point, func(t *testing.T) {
				t.Parallel()
				s := storetest.OpenConfig(t, open(t))
				for occurrence, reached := 1, true; reached && !t.Failed(); occurrence++ {
					reached = false
					for _, givenUp := range []bool{false, true} {
						t.Run(fmt.Sprintf("%d/%v", occurrence, givenUp), func(t *testing.T) {
							reached = killed(t, s, point, occurrence, givenUp) || reached
						})
					}
					if occurrence == 1 && !reached {
						t.Error("it is never reached")
					}
				}
			})
		}
	}
}
