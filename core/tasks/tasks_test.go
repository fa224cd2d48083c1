package tasks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

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
	wantCode(t, second(room.Decide(ctx, "web", pluginsdk.DecideTaskRequest{ID: id})), pluginsdk.CodeStale)
	wantCode(t, second(room.Decide(ctx, "web", pluginsdk.DecideTaskRequest{ID: id, Verdict: "maybe"})), pluginsdk.CodeInvalid)
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

// origins are those that hooks were called with.
type origins []ledger.Origin

func (o *origins) Open(_ string, origin ledger.Origin, _ time.Time) string {
	*o = append(*o, origin)
	return "token"
}

func (*origins) Close(string) {}

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
	asked := &origins{}
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
	for _, origin := range *asked {
		if origin.RunID != "" {
			t.Errorf("a task's hook is no run's: %+v", origin)
		}
		causes = append(causes, origin.CauseRunID)
	}
	if want := []string{"", first.RunID, first.RunID}; !slices.Equal(causes, want) {
		t.Errorf("caused by %q, want %q", causes, want)
	}
}

// Who has read one iteration must not have another one accepted, because somebody else
// was faster to say go on.
func TestAPersonDecidesOnWhatTheyHaveSeen(t *testing.T) {
	p := &reviewer{complete: says("")}
	w := newWorld(t, storetest.Open(t), p)
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	decide := func(iteration int, verdict pluginsdk.Verdict) error {
		_, err := w.boot.room.Decide(t.Context(), "web", pluginsdk.DecideTaskRequest{ID: task.ID, Iteration: iteration, Verdict: verdict})
		return err
	}
	wantCode(t, decide(2, pluginsdk.VerdictAccept), pluginsdk.CodeStale) // there is none yet
	wantCode(t, decide(1, ""), "")
	w.iterate(task.ID)
	for _, where := range []string{"while the next one is at work", "when the next one waits"} {
		err := decide(1, pluginsdk.VerdictAccept)
		wantCode(t, err, pluginsdk.CodeStale)
		if err == nil || !strings.Contains(err.Error(), "at its iteration 2") {
			t.Errorf("%s: the person is told %v", where, err)
		}
		if w.state(task.ID).Status == pluginsdk.TaskRunning {
			w.evaluate(task.ID)
			w.settled(task.ID)
		}
	}
	wantCode(t, decide(2, pluginsdk.VerdictAccept), "")
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s", task.Status)
	}
}

// A worker is stuck: who then says that it is good enough must not have an older
// iteration's work handed over, which was rejected.
func TestWhatAPersonAcceptsOfAWorkerThatIsStuck(t *testing.T) {
	var handed []string
	p := &reviewer{complete: says(pluginsdk.VerdictReject)}
	p.validated = func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
		handed = append(handed, r.Task.Result)
		return nil, nil //nolint:nilnil // nothing to say
	}
	w := newWorld(t, storetest.Open(t), p)
	task := w.worked(pluginsdk.NewTask{})
	decide := func(verdict pluginsdk.Verdict) error {
		_, err := w.boot.room.Decide(t.Context(), "web", pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: verdict})
		return err
	}
	suspend := func(iteration int, result string) {
		t.Helper()
		w.iterate(task.ID)
		now, err := w.boot.room.Suspend(t.Context(), pluginsdk.SuspendTaskRequest{ID: task.ID, Iteration: iteration, Reason: "which port?", Result: result})
		if err != nil || now.Status != pluginsdk.TaskWaiting || now.Result != result {
			t.Fatalf("suspended as %+v, %v", now, err)
		}
	}
	suspend(2, "")
	err := decide(pluginsdk.VerdictAccept)
	wantCode(t, err, pluginsdk.CodeStale)
	if err == nil || !strings.Contains(err.Error(), "nothing to accept") {
		t.Errorf("the person is told %v", err)
	}
	wantCode(t, decide(""), "")
	suspend(3, "all but the port")
	wantCode(t, decide(pluginsdk.VerdictAccept), "")
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || !slices.Equal(handed, []string{"all but the port"}) {
		t.Errorf("it is %s, handed over %q", task.Status, handed)
	}
}

// What is no verdict must never accept or reject: an error is asked about again, and
// then a person has to look.
func TestOnlyAVerdictIsOne(t *testing.T) {
	answers := map[string]struct {
		say  func() (*pluginsdk.OnTaskCompleteResponse, error)
		want pluginsdk.TaskStatus
		mark string
		asks int
	}{
		"accept": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("accept")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskCompleted, "", 1},
		"reject": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("reject")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskRunning, "", 1},
		"none": {func() (*pluginsdk.OnTaskCompleteResponse, error) { return nil, nil }, pluginsdk.TaskCompleted, MarkUnvalidated, 1}, //nolint:nilnil // no opinion
		"unknown": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("maybe")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskWaiting, "", 3},
		"error": {func() (*pluginsdk.OnTaskCompleteResponse, error) { return nil, errors.New("boom") }, pluginsdk.TaskWaiting, "", 3},
		"not there": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the reviewer is out")
		}, pluginsdk.TaskWaiting, "", 3},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			p := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
				return answer.say()
			}}
			w := newWorld(t, storetest.Open(t), p)
			task := w.worked(pluginsdk.NewTask{})
			marked := answer.mark == "" && len(task.Marks) == 0 || slices.Equal(task.Marks, []string{answer.mark})
			if calls := p.called(); task.Status != answer.want || !marked || len(calls) != answer.asks || len(slices.Compact(calls)) != 1 {
				t.Errorf("it is %s %q after the calls %q", task.Status, task.Marks, p.called())
			}
			if notices, _ := w.said(); task.Status == pluginsdk.TaskWaiting && (len(notices) != 1 || !strings.Contains(notices[0], "plugin-0 has failed in OnTaskComplete")) {
				t.Errorf("people were told %q", notices)
			}
		})
	}
}

// An operator who lets a gate be passed over gets a task that goes on, after as many
// tries.
func TestAGateThatMayBePassedOver(t *testing.T) {
	boom := func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return nil, errors.New("boom")
	}
	open := &reviewer{complete: boom}
	open.info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookTaskComplete: pluginsdk.FailOpen}
	w := newWorld(t, storetest.Open(t), open, &reviewer{complete: says(pluginsdk.VerdictAccept)})
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || len(open.called()) != 3 {
		t.Errorf("it is %s after %q", task.Status, open.called())
	}
}

// Of several reviewers one that rejects decides, and one that has answered is not
// asked again because another one could not.
func TestReviewersAreAskedOnceEach(t *testing.T) {
	tries := 0
	first := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	second := &reviewer{complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		if tries++; tries < 3 {
			return nil, errors.New("boom")
		}
		return says(pluginsdk.VerdictReject)(ctx, r)
	}}
	third := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	w := newWorld(t, storetest.Open(t), first, second, third)
	task := w.worked(pluginsdk.NewTask{})
	if task.Status != pluginsdk.TaskRunning || len(first.called()) != 1 || len(second.called()) != 3 || len(third.called()) != 0 {
		t.Errorf("it is %s after %q, %q, %q", task.Status, first.called(), second.called(), third.called())
	}
	answers, err := w.store.TaskAnswers(t.Context(), task.ID, 1)
	if err != nil || len(answers) != 2 || answers[0].Answer != "accept" || answers[1].Answer != "reject" || answers[1].Evidence[0].Command != "make" {
		t.Errorf("stored %+v, %v", answers, err)
	}
}

// Work that nobody has looked at must not be merged; what is only words is handed over
// and says so.
func TestWorkThatNobodyValidates(t *testing.T) {
	var handed []pluginsdk.Task
	p := &reviewer{validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
		handed = append(handed, r.Task)
		return nil, nil //nolint:nilnil // nothing to say
	}}
	w := newWorld(t, storetest.Open(t), p)
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{"unvalidated"}) {
		t.Errorf("words: %s %q", task.Status, task.Marks)
	}
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	if task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{"unvalidated"}) || len(handed) != 1 {
		t.Fatalf("files: %s %q, handed over %d times", task.Status, task.Marks, len(handed))
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, "web", pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept, Author: "Ann"})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(task.Marks) != 0 || len(handed) != 2 {
		t.Errorf("after a person's word: %s %q, handed over %d times", task.Status, task.Marks, len(handed))
	}
	answers, err := w.store.TaskAnswers(t.Context(), task.ID, 1)
	if err != nil || len(answers) != 2 || answers[0].Author != "Ann" || answers[0].Plugin != "web" || answers[0].Answer != "accept" {
		t.Errorf("stored %+v, %v", answers, err)
	}
}

// What it was made for has moved: the work is looked at again and no iteration is paid
// for; a conflict is a person's; an error is neither.
func TestAHandoverCanFail(t *testing.T) {
	answers := []any{pluginsdk.HandoverAgain, errors.New("boom"), pluginsdk.HandoverWait, pluginsdk.HandoverDone}
	var evidence []pluginsdk.Evidence
	p := &reviewer{
		complete: says(pluginsdk.VerdictAccept),
		validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			answer := answers[0]
			answers, evidence = answers[1:], r.Evidence
			if err, ok := answer.(error); ok {
				return nil, err
			}
			return &pluginsdk.OnTaskValidatedResponse{Handover: answer.(pluginsdk.Handover), Reason: "it has moved", Mark: "conflict"}, nil
		},
	}
	w := newWorld(t, storetest.Open(t), p)
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	if task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{"conflict"}) || task.Error != "it has moved" || task.CurrentIteration != 1 {
		t.Fatalf("it is %+v", task)
	}
	if calls := p.called(); len(calls) != 5 { // reviewed, again, reviewed, an error, wait
		t.Errorf("called %q", calls)
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, "web", pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(p.called()) != 6 || len(evidence) != 1 || evidence[0].Tree != "tree 1" {
		t.Errorf("it is %s %q after %q, handed over with %+v", task.Status, task.Marks, p.called(), evidence)
	}
	if calls := p.called(); calls[4] == calls[5] {
		t.Errorf("two handovers are one call: %q", calls)
	}
	answers = slices.Repeat([]any{pluginsdk.HandoverAgain}, 100)
	w.boot.room.config.MaxAgains = 2
	if task = w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskWaiting || len(answers) != 97 {
		t.Errorf("without end: %s after %d", task.Status, 100-len(answers))
	}
}

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

// A hook that is refused places or money again and again must not leave a task lying about
// of which only the log knows; nor is its parent told at each attempt, or after a restart.
func TestTheParentIsToldOfATaskThatIsRefusedWhatItNeeds(t *testing.T) {
	for _, phase := range []ledger.TaskPhase{ledger.PhaseCreating, ledger.PhaseReviewing} {
		t.Run(string(phase), func(t *testing.T) {
			const attempts = 12 // of which 3 are borne in silence
			asked, refused := 0, make(chan struct{}, 1)
			var w *world
			refuse := func(task pluginsdk.Task) error {
				if asked++; asked == 2 {
					if now := w.state(task.ID); !strings.HasPrefix(now.Error, "waits for the plugin plugin-0, which was refused what it needs: ") {
						t.Errorf("the task says %q", now.Error)
					}
					if notices, _ := w.said(); len(notices) != 0 {
						t.Errorf("the parent is told at once: %q", notices)
					}
				}
				if asked%attempts == 0 {
					refused <- struct{}{}
				}
				if asked <= 2*attempts {
					return pluginsdk.Errorf(pluginsdk.CodeExhausted, "100 turns wait already")
				}
				return nil
			}
			p := &reviewer{complete: says(pluginsdk.VerdictAccept)}
			if phase == ledger.PhaseCreating {
				p.create = func(_ context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
					return nil, refuse(r.Task)
				}
			} else {
				p.complete = func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
					if err := refuse(r.Task); err != nil {
						return nil, err
					}
					return says(pluginsdk.VerdictAccept)(ctx, r)
				}
			}
			w = newWorld(t, storetest.Open(t), p)
			id := w.create(pluginsdk.NewTask{OriginalMessage: "build it"})
			if phase == ledger.PhaseReviewing {
				w.settled(id)
				w.iterate(id)
				w.evaluate(id)
			}
			<-refused
			w.kill()
			w.begin()
			<-refused
			if task := w.settled(id); task.Error != "" || task.Failures != 0 {
				t.Errorf("it goes on as %+v", task)
			}
			notices, _ := w.said()
			if phase == ledger.PhaseReviewing {
				notices = notices[:len(notices)-1] // of its end
			}
			want := "Task “build it” waits for the plugin plugin-0, which is refused what it needs again and again: 100 turns wait already"
			if !slices.Equal(notices, []string{want}) {
				t.Errorf("the parent was told %q", notices)
			}
		})
	}
}

// A plugin that is about to be back is waited for; one that was switched off is not.
func TestAPluginThatDoesNotServeIsWaitedFor(t *testing.T) {
	p := &reviewer{complete: says(pluginsdk.VerdictReject), away: true}
	w := newWorld(t, storetest.Open(t), p)
	id := w.create(pluginsdk.NewTask{})
	w.settled(id)
	w.iterate(id)
	w.boot.room.backoff.Base, w.boot.room.backoff.Max = time.Hour, time.Hour
	w.evaluate(id)
	w.until("a word of who is waited for", func() bool { return slices.Contains(w.heard()[4:], "task:progress evaluating") })
	if task := w.state(id); task.Phase != ledger.PhaseReviewing || task.Failures != 0 || !strings.HasPrefix(task.Error, "waits for the plugin plugin-0: ") {
		t.Errorf("it is %+v", task)
	}
	p.set(func() { p.away = false })
	w.boot.room.PluginChanged()
	if task := w.settled(id); task.Status != pluginsdk.TaskRunning || task.Error != "" {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	p.set(func() { p.away = true })
	w.iterate(id)
	w.evaluate(id)
	w.until("another word", func() bool { return len(w.heard()) >= 9 })
	p.set(func() { p.off = true })
	w.boot.room.PluginChanged()
	if task := w.settled(id); task.Status != pluginsdk.TaskCompleted || len(task.Marks) != 1 || task.Error != "" {
		t.Errorf("it is %s %q: %s", task.Status, task.Marks, task.Error)
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
			turn, err := w.store.AcceptTurn(ctx, ledger.Turn{
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

// A hundred tasks that are handed in at once would have a reviewer ask for more turns than
// a plugin may; that it was refused them is not its failure, and no matter for a person.
func TestHooksAreAskedAFewAtATime(t *testing.T) {
	var refusals, at, most atomic.Int32
	full, open := make(chan struct{}), make(chan struct{})
	p := &reviewer{}
	p.create = func(ctx context.Context, _ *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		now := at.Add(1)
		defer at.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		select {
		case full <- struct{}{}:
		case <-open:
		}
		select {
		case <-open:
			return nil, nil //nolint:nilnil // nothing to say
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.complete = func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		if refusals.Add(1) <= 20 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "100 turns wait already")
		}
		return says(pluginsdk.VerdictAccept)(ctx, r)
	}
	w := newWorld(t, storetest.Open(t), p)
	ids := make([]string, askedAtOnce+4)
	for n := range ids {
		ids[n] = w.create(pluginsdk.NewTask{})
	}
	for range askedAtOnce {
		<-full
	}
	close(open)
	for _, id := range ids {
		if task := w.settled(id); task.Status != pluginsdk.TaskRunning {
			t.Errorf("begun as %s", task.Status)
		}
	}
	if n := most.Load(); n > askedAtOnce {
		t.Errorf("%d were asked at once", n)
	}
	w.iterate(ids[0])
	w.evaluate(ids[0])
	if task := w.settled(ids[0]); task.Status != pluginsdk.TaskCompleted || task.Error != "" {
		t.Errorf("it is %s: %s", task.Status, task.Error)
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

// Too much of a plugin's words would fill the database and every prompt.
func TestWordsAreBounded(t *testing.T) {
	long := strings.Repeat("é", maxWords)
	if got := cut(long); len(got) > maxWords+10 || !strings.HasSuffix(got, "[cut]") {
		t.Errorf("%d bytes", len(got))
	}
	evidence := bounded(slices.Repeat([]pluginsdk.Evidence{{Output: long + "end", Diff: long}}, 2*maxEvidence))
	if len(evidence) != maxEvidence || !strings.HasSuffix(evidence[0].Output, "end") || len(evidence[0].Diff) > maxWords+10 {
		t.Errorf("%d pieces, %d bytes", len(evidence), len(evidence[0].Diff))
	}
	relative := "worktree"
	for _, c := range []pluginsdk.TaskContext{{Cwd: relative}, {Context: strings.Repeat("x", maxContext+1)}, {Labels: map[string]string{"a": strings.Repeat("x", maxLabels)}}} {
		wantCode(t, checkContext(c), pluginsdk.CodeInvalid)
	}
	if got := title(ledger.Task{Task: pluginsdk.Task{Prompt: strings.Repeat("x", 100)}}); len([]rune(got)) != titleMax+2 {
		t.Errorf("%q", got)
	}
	if err := checkContext(pluginsdk.TaskContext{Cwd: "/x"}); err != nil {
		t.Error(err)
	}
}

// A verdict on a task that somebody else has moved meanwhile, here or in another daemon,
// must not undo that.
func TestAnAnswerThatComesTooLateIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var w *world
		p := &reviewer{complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			move, err := w.boot.room.giveUp(w.state(r.Task.ID), cancel, "enough")
			if err == nil {
				_, err = s.MoveTask(ctx, move)
			}
			if err != nil {
				t.Error(err)
			}
			return says(pluginsdk.VerdictReject)(ctx, r)
		}}
		w = newWorld(t, s, p)
		if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCancelled || task.ValidationIterations != 0 {
			t.Errorf("it is %s, rejected %d times", task.Status, task.ValidationIterations)
		}
	})
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
