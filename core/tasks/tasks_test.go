package tasks

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var _ Store = (*store.Store)(nil)

func wantCode(t *testing.T, err error, code pluginsdk.Code) {
	t.Helper()
	if pluginsdk.CodeOf(err) != code {
		t.Errorf("error %v (%s), want %s", err, pluginsdk.CodeOf(err), code)
	}
}

// The whole way: a context for the worker, a rejection, an acceptance with its evidence,
// the handover, and a parent that is told once.
func TestATaskIsTakenToItsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		verdicts := []pluginsdk.Verdict{pluginsdk.VerdictReject, pluginsdk.VerdictAccept}
		var evidence []pluginsdk.Evidence
		var looked []pluginsdk.OnTaskCompleteRequest
		cwd, words := "/worktree", "Mind the tests."
		p := &reviewer{
			create: func(_ context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
				if r.Context.Labels["a"] != "b" || r.Task.Status != pluginsdk.TaskPending {
					t.Errorf("asked about %+v", r)
				}
				return &pluginsdk.OnTaskCreateResponse{Cwd: &cwd, Context: &words, SetLabels: map[string]string{"branch": "x"}}, nil
			},
			complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
				looked = append(looked, *r)
				verdict := verdicts[0]
				verdicts = verdicts[1:]
				return says(verdict)(ctx, r)
			},
			validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
				evidence = r.Evidence
				return nil, nil //nolint:nilnil // nothing to say
			},
		}
		w := newWorld(t, s, p)
		id := w.create(pluginsdk.NewTask{OriginalMessage: "Build the shed\nwith a door", Wake: true, Labels: map[string]string{"a": "b"}})
		if task := w.settled(id); task.Status != pluginsdk.TaskRunning || task.Cwd != cwd || task.Labels["branch"] != "x" {
			t.Fatalf("begun as %+v", task)
		}
		w.iterate(id)
		if run, err := s.Run(t.Context(), w.state(id).RunID); err != nil || run.Result.Text != "DONE" {
			t.Fatal(err)
		}
		first, err := s.Message(t.Context(), 1)
		if err != nil || first.Content != "Mind the tests.\n\ngo 1" || first.Source != "task" || first.ThreadID != w.state(id).ThreadID {
			t.Errorf("the worker was told %+v, %v", first, err)
		}
		w.evaluate(id)
		if task := w.settled(id); task.Status != pluginsdk.TaskRunning || task.Feedback != "because" || task.ValidationIterations != 1 || task.Result != "built" {
			t.Fatalf("rejected as %+v", task)
		}
		w.iterate(id)
		w.evaluate(id)
		task := w.settled(id)
		if task.Status != pluginsdk.TaskCompleted || task.CompletedAt.IsZero() || task.CostUSD != 0.5 || len(task.Marks) != 0 {
			t.Errorf("completed as %+v", task)
		}
		for _, sample := range w.boot.room.Figures()[0].Samples {
			if want := map[string]float64{"completed": 1}[sample.Labels["status"]]; sample.Value != want {
				t.Errorf("of the tasks that ended %v are told as %s, want %v", sample.Value, sample.Labels["status"], want)
			}
		}
		if len(looked) != 2 || looked[1].Result.Text != "DONE" || looked[0].Call.ID == looked[1].Call.ID || looked[1].Task.Result != "built" {
			t.Errorf("reviewed %+v", looked)
		}
		if len(evidence) != 1 || evidence[0].Tree != "tree 2" {
			t.Errorf("handed over with %+v", evidence)
		}
		notices, wakes := w.said()
		if len(notices) != 1 || notices[0] != "Task “Build the shed” is completed.\n\nbuilt" || len(wakes) != 1 || !strings.Contains(wakes[0], id) {
			t.Errorf("the parent was told %q, woken with %q", notices, wakes)
		}
		if deliveries, err := s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{}); err != nil || len(deliveries) != 1 || deliveries[0].Plugin != "chat" {
			t.Errorf("delivered %+v, %v", deliveries, err)
		}
		want := []string{
			"task:created pending", "task:progress running", "task:progress running", "task:progress evaluating", "task:evaluated running",
			"task:progress running", "task:progress evaluating", "task:evaluated evaluating", "task:validated completed",
		}
		if got := w.heard(); !slices.Equal(got, want) {
			t.Errorf("heard\n%q, want\n%q", got, want)
		}
		if lanes, stored := w.boot.told(); len(lanes) != 1 || len(stored) != 1 {
			t.Errorf("nobody was told to look: %q, %q", lanes, stored)
		}
	})
}

// A worker that may not use a tool in one iteration may use it in the next one.
func TestAnIterationForbidsTools(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		id := w.create(pluginsdk.NewTask{AllowedTools: []string{"Bash(make)"}})
		w.settled(id)
		for n, rules := range [][]string{{"Edit", "Bash(git push *)"}, nil} {
			request := pluginsdk.IterateTaskRequest{ID: id, Iteration: n + 1, Content: "go", DisallowedTools: rules}
			w.must(func(ctx context.Context, room *Room) error {
				_, _, err := room.Iterate(ctx, request)
				return err
			})
			run, err := s.Run(t.Context(), w.state(id).RunID)
			if err != nil {
				t.Fatal(err)
			}
			options, err := s.RunOptions(t.Context(), run)
			if err != nil || (options == nil) != (rules == nil) || options != nil && !slices.Equal(options.DisallowedTools, rules) {
				t.Errorf("iteration %d is run with %+v, %v", n+1, options, err)
			}
			w.answer(id, "DONE")
		}
		_, _, err := w.boot.room.Iterate(t.Context(), pluginsdk.IterateTaskRequest{ID: id, Iteration: 3, Own: true, DisallowedTools: []string{"Edit"}})
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

// Who repeats a request after a crash must not have it done twice, and who asks for
// what cannot be must be told why.
func TestRequestsAreRepeatable(t *testing.T) {
	w := newWorld(t, storetest.Open(t), &reviewer{complete: says(pluginsdk.VerdictReject)})
	ctx, room := t.Context(), w.boot.room
	id := w.create(pluginsdk.NewTask{MaxIterations: 2, CostCapUSD: 0.3})
	w.settled(id)
	iterate := func(n int, content string) (pluginsdk.Accepted, error) {
		_, accepted, err := room.Iterate(ctx, pluginsdk.IterateTaskRequest{ID: id, Iteration: n, Content: content})
		return accepted, err
	}
	second := func(_ any, err error) error { return err }
	evaluate := func(n int) error {
		return second(room.Evaluate(ctx, pluginsdk.EvaluateTaskRequest{ID: id, Iteration: n}))
	}
	wantCode(t, second(iterate(2, "x")), pluginsdk.CodeInvalid)
	wantCode(t, second(iterate(0, "x")), pluginsdk.CodeInvalid)
	wantCode(t, evaluate(0), pluginsdk.CodeInvalid)
	wantCode(t, evaluate(1), pluginsdk.CodeInvalid)
	wantCode(t, second(room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: id})), pluginsdk.CodeStale)
	wantCode(t, second(room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: id, Verdict: "maybe"})), pluginsdk.CodeInvalid)
	made, err := iterate(1, "/go") // never a command
	wantCode(t, err, "")
	again, err := iterate(1, "said otherwise after a crash")
	if err != nil || !again.Existed || again.RunID != made.RunID || again.MessageID != made.MessageID || again.ThreadID != made.ThreadID {
		t.Errorf("%+v, then %+v, %v", made, again, err)
	}
	w.answer(id, "hm")
	w.evaluate(id)
	w.settled(id)
	wantCode(t, evaluate(1), "")
	if task := w.state(id); task.Status != pluginsdk.TaskRunning || task.ValidationIterations != 1 {
		t.Errorf("evaluated again: %+v", task)
	}
	wantCode(t, second(iterate(2, "x")), "") // it has cost 0.25 of 0.30
	w.answer(id, "hm")
	wantCode(t, second(iterate(3, "x")), pluginsdk.CodeExhausted)
	wantCode(t, second(room.Suspend(ctx, pluginsdk.SuspendTaskRequest{ID: id, Iteration: 1})), "") // it is behind
	if task := w.state(id); task.Status != pluginsdk.TaskRunning {
		t.Errorf("an iteration that was handed in waits: %+v", task)
	}
	wantCode(t, second(room.Fail(ctx, id, "no")), "")
	w.settled(id)
	wantCode(t, second(room.Fail(ctx, id, "again")), "")
	wantCode(t, second(room.Cancel(ctx, id, "late", ledger.By{})), "")
	if task := w.state(id); task.Status != pluginsdk.TaskFailed || task.Error != "no" {
		t.Errorf("it ended as %+v", task)
	}
	wantCode(t, second(iterate(3, "x")), pluginsdk.CodeStale)
	wantCode(t, second(room.Fail(ctx, "none", "")), pluginsdk.CodeNotFound)

	dear := w.create(pluginsdk.NewTask{CostCapUSD: 0.2})
	w.settled(dear)
	w.iterate(dear)
	id = dear
	wantCode(t, second(iterate(2, "x")), pluginsdk.CodeExhausted)
}

// behalves are those that hooks were called with.
type behalves []ledger.Behalf

func (o *behalves) Open(_ context.Context, _ string, behalf ledger.Behalf, _ time.Time) string {
	*o = append(*o, behalf)
	return "token"
}

func (*behalves) Close(string) {}

// What a plugin does in a task's hook is known to come from the task: without a cause it
// would go on in a pause, and without end.
func TestTheHooksOfATaskHaveItsRunsAsTheirCause(t *testing.T) {
	s := storetest.Open(t)
	p := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	p.create = func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		return nil, nil
	} //nolint:nilnil // nothing to say
	w := newWorld(t, s, p)
	w.kill()
	asked := &behalves{}
	w.tokens = asked
	w.begin()
	first := w.worked(pluginsdk.NewTask{})
	next, _, err := w.boot.room.Create(t.Context(), ledger.NewTask{Plugin: "maker", CauseRunID: first.RunID, NewTask: pluginsdk.NewTask{Prompt: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	w.settled(next.ID)
	w.kill() // what the hooks were called with may be read
	var causes []string
	for _, behalf := range *asked {
		if behalf.RunID != "" {
			t.Errorf("a task's hook is no run's: %+v", behalf)
		}
		causes = append(causes, behalf.CauseRunID)
	}
	if want := []string{"", first.RunID, first.RunID}; !slices.Equal(causes, want) {
		t.Errorf("caused by %q, want %q", causes, want)
	}
}

// When the right to the database is lost, nobody is asked and nothing is taken: what
// was asked for meanwhile would be done twice, here and by who has it.
func TestNothingIsBegunWhileTheLockIsLost(t *testing.T) {
	p := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	w := newWorld(t, storetest.Open(t), p)
	id := w.create(pluginsdk.NewTask{})
	w.settled(id)
	w.iterate(id)
	room := w.boot.room
	room.Pause()
	_, err := room.Evaluate(t.Context(), pluginsdk.EvaluateTaskRequest{ID: id, Iteration: 1})
	wantCode(t, err, pluginsdk.CodeUnavailable)
	_, _, err = room.Create(t.Context(), ledger.NewTask{NewTask: pluginsdk.NewTask{Prompt: "x"}})
	wantCode(t, err, pluginsdk.CodeUnavailable)
	// Another daemon, which has the lock, has gone on.
	task := w.state(id)
	move, err := moveBy(task, hand, func(to *ledger.Task) { to.Settled, to.Round = 1, 1 })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.MoveTask(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	room.Wake(id)
	if len(p.called()) != 0 {
		t.Errorf("asked %q", p.called())
	}
	if err := room.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if task := w.settled(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s", task.Status)
	}
}

// A stop ends the calls that are under way, and the next daemon makes them again under
// the same ids: no attempt is counted.
func TestAStopIsNoFailure(t *testing.T) {
	begun := make(chan struct{}, 10)
	hang := hangs(begun)
	p := &reviewer{complete: func(ctx context.Context, _ *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return nil, hang(ctx)
	}}
	w := newWorld(t, storetest.Open(t), p)
	id := w.create(pluginsdk.NewTask{})
	w.settled(id)
	w.iterate(id)
	w.evaluate(id)
	<-begun
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.boot.room.Stop(hurry); err != nil {
		t.Fatal(err)
	}
	_, err := w.boot.room.Fail(t.Context(), id, "x")
	wantCode(t, err, pluginsdk.CodeUnavailable)
	if task := w.state(id); task.Failures != 0 || task.Phase != ledger.PhaseReviewing {
		t.Errorf("it is %+v", task)
	}
	w.begin()
	<-begun
	if calls := p.called(); len(calls) != 2 || calls[0] != calls[1] {
		t.Errorf("called %q", calls)
	}
}

// Tasks that are made below one another would otherwise cost many times what the topmost
// may.
func TestATaskPaysOutOfWhatThoseAboveItMayCost(t *testing.T) {
	w := newWorld(t, storetest.Open(t))
	top := w.create(pluginsdk.NewTask{CostCapUSD: 0.4})
	middle := w.create(pluginsdk.NewTask{ParentTaskID: top})
	first, second := w.create(pluginsdk.NewTask{ParentTaskID: middle}), w.create(pluginsdk.NewTask{ParentTaskID: top})
	for _, id := range []string{top, middle, first, second} {
		w.settled(id)
	}
	w.iterate(first)  // it costs 0.25
	w.iterate(second) // as well
	_, _, err := w.boot.room.Iterate(t.Context(), pluginsdk.IterateTaskRequest{ID: first, Iteration: 2, Content: "go on"})
	wantCode(t, err, pluginsdk.CodeExhausted)
	if err != nil && !strings.Contains(err.Error(), top) {
		t.Errorf("it does not say whose the cap is: %v", err)
	}
}
