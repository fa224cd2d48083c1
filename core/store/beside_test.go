package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// typedBeside is a command that concerns no conversation, as a person types it.
func typedBeside(threadID, name, words string) ledger.Acceptance {
	a := acceptance(threadID, uuid.NewString(), "/"+name+" "+words)
	a.Kind, a.BesideAs = pluginsdk.RunCommand, name
	return a
}

func claimBeside(t testing.TB, s *store.Store, threadID, name, owner string) ledger.Claim {
	t.Helper()
	return must[ledger.Claim](t)(s.ClaimBeside(context.Background(), ledger.Queue{ThreadID: threadID, Command: name}, owner))
}

// A command beside its thread neither waits for the thread's runs nor holds them up, is not taken
// into an answer, and its own answer is carried to where the thread's go. Those of one name keep
// their order.
func TestACommandBesideItsThread(t *testing.T) {
	for _, mode := range []pluginsdk.BusyMode{pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt} {
		t.Run(string(mode), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) { besideItsThread(t, s, mode) })
		})
	}
}

func besideItsThread(t *testing.T, s *store.Store, mode pluginsdk.BusyMode) {
	ctx := context.Background()
	thread := newThread(t, s, "general")
	must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{BusyMode: &mode}))
	accept(t, s, thread.ID, "one")
	working := claim(t, s, thread.ID)
	saveIntent(t, s, working)
	first := must[ledger.Accepted](t)(s.Accept(ctx, typedBeside(thread.ID, "budget", "set")))
	later := must[ledger.Accepted](t)(s.Accept(ctx, typedBeside(thread.ID, "budget", "list")))
	other := must[ledger.Accepted](t)(s.Accept(ctx, typedBeside(thread.ID, "cron", "list")))
	if n := must[int](t)(s.Waiting(ctx, thread.ID)); n != 0 {
		t.Errorf("%d runs wait in the thread's queue", n)
	}
	accept(t, s, thread.ID, "two") // what comes behind them
	if taken := absorb(t, s, working); !slices.Equal(contents(taken), []string{"two"}) {
		t.Errorf("the answer under way takes %q", contents(taken))
	}
	budget := claimBeside(t, s, thread.ID, "budget", "boot 1")
	if !budget.Found || budget.Run.ID != first.RunID || !budget.Run.Beside || budget.Message.Content != "/budget set" || budget.Thread.ID != thread.ID {
		t.Fatalf("claim %+v", budget)
	}
	if c := claimBeside(t, s, thread.ID, "budget", "boot 1"); c.Found {
		t.Errorf("%s goes before %s", c.Message.Content, "/budget set")
	}
	cron := claimBeside(t, s, thread.ID, "cron", "boot 1")
	if cron.Run.ID != other.RunID {
		t.Errorf("the command of another name is not claimed beside it: %+v", cron)
	}
	if problems := must[[]string](t)(s.Integrity(ctx)); len(problems) > 0 {
		t.Errorf("doctor says %q", problems)
	}
	for _, c := range []ledger.Claim{cron, budget} {
		done := must[ledger.Finished](t)(s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true, Rows: []ledger.Row{
			{Key: c.Run.ID + ":command:0", Message: text(pluginsdk.RoleSystem, "answer to "+c.Message.Content)},
		}}))
		if !slices.Equal(done.Lanes, []ledger.Lane{{Plugin: "discord", Target: "general"}}) {
			t.Errorf("the answer goes to %+v", done.Lanes)
		}
	}
	if c := claimBeside(t, s, thread.ID, "budget", "boot 1"); c.Run.ID != later.RunID {
		t.Errorf("then comes %+v", c.Run)
	}
	if kept := must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)); kept.Epoch != working.Fence.Epoch {
		t.Errorf("the thread has been taken: its epoch is %d, and was %d", kept.Epoch, working.Fence.Epoch)
	}
	saveResult(t, s, working) // its fence still holds; what it took goes back
	finish(t, s, working, "answer")
	if next := claim(t, s, thread.ID); next.Message.Content != "two" || len(next.Absorbed) > 0 {
		t.Errorf("the thread goes on with %q and %q", next.Message.Content, contents(next.Absorbed))
	}
}

// A daemon that dies over such a command leaves it to the next one, with what is known of it, and
// what it still writes itself is refused.
func TestACommandBesideItsThreadIsFoundAfterACrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		done := must[ledger.Accepted](t)(s.Accept(ctx, typedBeside(thread.ID, "budget", "set")))
		must[ledger.Accepted](t)(s.Accept(ctx, typedBeside(thread.ID, "budget", "list")))
		died := claimBeside(t, s, thread.ID, "budget", "boot 1")
		check(t, s.SaveOutcome(ctx, died.Fence, ledger.OutcomeCommit{RunID: died.Run.ID, Outcome: pluginsdk.Outcome{Name: "budget", Handled: true, Reply: "set"}}))
		queue := ledger.Queue{ThreadID: thread.ID, Command: "budget"}
		if open := must[[]ledger.Queue](t)(s.Recover(ctx, "boot 2")); !slices.Equal(open, []ledger.Queue{queue}) {
			t.Fatalf("open are %+v", open)
		}
		again := claimBeside(t, s, thread.ID, "budget", "boot 2")
		if again.Run.ID != done.RunID || again.Run.Attempt != 2 || len(again.Run.Outcomes) != 1 {
			t.Fatalf("claimed again: %+v", again.Run)
		}
		over := ledger.Finish{RunID: died.Run.ID, State: pluginsdk.RunSucceeded}
		wantCode(t, second(s.Finish(ctx, died.Fence, over)), pluginsdk.CodeStale)
		wantCode(t, s.SaveOutcome(ctx, died.Fence, ledger.OutcomeCommit{RunID: died.Run.ID}), pluginsdk.CodeStale)

		check(t, s.UnclaimBeside(ctx, queue, "boot 2")) // the answer to the claim was lost
		again = claimBeside(t, s, thread.ID, "budget", "boot 2")
		if again.Run.ID != done.RunID || again.Run.Attempt != 2 {
			t.Fatalf("claimed after an answer that was lost: %+v", again.Run)
		}
		must[ledger.Finished](t)(s.Finish(ctx, again.Fence, over))
	})
}

// However many such commands wait, a thread's messages have their places, and the other way round.
func TestCommandsBesideAThreadAreLimitedByThemselves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		limited := func(a ledger.Acceptance) error {
			a.MaxWaiting = 2
			return second(s.Accept(ctx, a))
		}
		for range 2 {
			check(t, limited(typedBeside(thread.ID, "budget", "list")))
		}
		wantCode(t, limited(typedBeside(thread.ID, "cron", "list")), pluginsdk.CodeExhausted)
		for range 2 {
			check(t, limited(acceptance(thread.ID, uuid.NewString(), "hello")))
		}
		wantCode(t, limited(acceptance(thread.ID, uuid.NewString(), "hello")), pluginsdk.CodeExhausted)
		backlog := must[[]ledger.Backlog](t)(s.Backlog(ctx))
		if !slices.ContainsFunc(backlog, func(b ledger.Backlog) bool { return b.Beside && b.Command && b.Runs == 2 }) {
			t.Errorf("the backlog is %+v", backlog)
		}
	})
}
