package tasks

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who has read one iteration must not have another one accepted, because somebody else
// was faster to say go on.
func TestAPersonDecidesOnWhatTheyHaveSeen(t *testing.T) {
	p := &reviewer{complete: says("")}
	w := newWorld(t, storetest.Open(t), p)
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	decide := func(iteration int, verdict pluginsdk.Verdict) error {
		_, err := w.boot.room.Decide(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Iteration: iteration, Verdict: verdict})
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

// A task that has come to its cap must not be lost: a person pays for more, and it is known who.
func TestAPersonRaisesACostCap(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		made := ledger.NewTask{NewTask: pluginsdk.NewTask{Prompt: "build it", ParentThreadID: w.parent.ID, CostCapUSD: 0.2}, Plugin: "maker", Key: uuid.NewString()}
		create := func() pluginsdk.Task {
			task, _, err := w.boot.room.Create(t.Context(), made)
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		id := create().ID
		w.settled(id)
		w.iterate(id) // it costs 0.25
		suspend := func(n int) {
			if _, err := w.boot.room.Suspend(t.Context(), pluginsdk.SuspendTaskRequest{ID: id, Iteration: n, Reason: "it has come to its cap", Result: "half of it"}); err != nil {
				t.Fatal(err)
			}
		}
		by := ledger.By{Plugin: "web", Author: "Ann", Origin: pluginsdk.Origin{Token: "T"}}
		decide := func(usd float64, verdict pluginsdk.Verdict) error {
			_, err := w.boot.room.Decide(t.Context(), by, pluginsdk.DecideTaskRequest{ID: id, Verdict: verdict, CostCapUSD: usd})
			return err
		}
		wantCode(t, decide(1, ""), pluginsdk.CodeStale)
		suspend(1)
		for _, usd := range []float64{-1, 0.2, 0.25, math.Inf(1), math.NaN()} {
			wantCode(t, decide(usd, ""), pluginsdk.CodeInvalid)
		}
		wantCode(t, decide(1, pluginsdk.VerdictAccept), pluginsdk.CodeInvalid)
		if entries, err := s.AuditPage(t.Context(), pluginsdk.AuditQuery{Limit: 10}); err != nil || len(entries) != 0 || w.state(id).Status != pluginsdk.TaskWaiting {
			t.Errorf("refused, and yet it is %s, and the log has %+v, %v", w.state(id).Status, entries, err)
		}
		wantCode(t, decide(0.3, pluginsdk.VerdictReject), "")
		if task := w.state(id); task.CostCapUSD != 0.3 || task.Status != pluginsdk.TaskRunning {
			t.Errorf("decided %+v", task)
		}
		w.iterate(id)
		suspend(2)
		wantCode(t, decide(0, ""), "")
		_, _, err := w.boot.room.Iterate(t.Context(), pluginsdk.IterateTaskRequest{ID: id, Iteration: 3, Content: "go on"})
		wantCode(t, err, pluginsdk.CodeExhausted) // it has cost 0.5 of 0.3
		entries, err := s.AuditPage(t.Context(), pluginsdk.AuditQuery{Limit: 10})
		if err != nil || len(entries) != 1 || entries[0].Who != "plugin:web (Ann, token T)" || entries[0].Target != id || entries[0].Detail != "costCapUsd from 0.20 to 0.30" {
			t.Errorf("the audit log has %+v, %v", entries, err)
		}
		if again := create(); again.ID != id { // who repeats what made it is told of it
			t.Errorf("made again: %+v", again)
		}
	})
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
		_, err := w.boot.room.Decide(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: verdict})
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
