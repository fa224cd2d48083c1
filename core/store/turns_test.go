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

func turn(request pluginsdk.StartTurnRequest) ledger.NewTurn {
	return ledger.NewTurn{RunID: uuid.Must(uuid.NewV7()).String(), Plugin: "reviewer", Request: request}
}

func acceptTurn(t testing.TB, s *store.Store, request pluginsdk.StartTurnRequest) ledger.AcceptedTurn {
	t.Helper()
	return must[ledger.AcceptedTurn](t)(s.AcceptTurn(context.Background(), turn(request)))
}

func claimTurn(t testing.TB, s *store.Store, runID, owner string) ledger.Claim {
	t.Helper()
	c := must[ledger.Claim](t)(s.ClaimBeside(context.Background(), ledger.Queue{TurnID: runID}, owner))
	if !c.Found {
		t.Fatalf("turn %s was not claimed", runID)
	}
	return c
}

// A plugin that asks again, because it does not know whether it has asked, gets the
// first turn; another plugin's key is another's.
func TestATurnIsAcceptedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := pluginsdk.StartTurnRequest{Key: "k", Prompt: "review"}
		first := acceptTurn(t, s, asked)
		if again := acceptTurn(t, s, asked); !again.Existed || again.RunID != first.RunID || first.Existed {
			t.Errorf("first %+v, then %+v", first, again)
		}
		other := asked
		other.Prompt = "something else"
		wantCode(t, second(s.AcceptTurn(ctx, turn(other))), pluginsdk.CodeConflict)
		foreign := turn(asked)
		foreign.Plugin = "summaries"
		if got := must[ledger.AcceptedTurn](t)(s.AcceptTurn(ctx, foreign)); got.Existed {
			t.Errorf("the key of another plugin: %+v", got)
		}
		if a, b := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "x"}), acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "x"}); a.RunID == b.RunID {
			t.Error("two turns without a key are one")
		}
		wantCode(t, second(s.AcceptTurn(ctx, turn(pluginsdk.StartTurnRequest{ThreadID: "nope", Prompt: "x"}))), pluginsdk.CodeNotFound)
		many := turn(pluginsdk.StartTurnRequest{Prompt: "x"})
		many.MaxWaiting = 3
		wantCode(t, second(s.AcceptTurn(ctx, many)), pluginsdk.CodeExhausted)
		asked.Key = "k"
		full := turn(asked)
		full.MaxWaiting = 3
		if again := must[ledger.AcceptedTurn](t)(s.AcceptTurn(ctx, full)); !again.Existed {
			t.Error("a repetition is refused for those that wait")
		}
	})
}

// A turn beside its thread neither waits for the thread's runs nor keeps them waiting,
// and leaves the thread as it is.
func TestATurnBesideItsThreadTakesNothingOfIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "one")
		working := claim(t, s, thread.ID)
		saveIntent(t, s, working)
		asked := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Prompt: "review", Purpose: "validation", TaskID: "task"})
		if n := must[int](t)(s.Waiting(ctx, thread.ID)); n != 0 {
			t.Errorf("%d runs wait in the thread's queue", n)
		}
		c := claimTurn(t, s, asked.RunID, "boot 1")
		if c.Message.Content != "review" || c.Thread.ID != thread.ID || c.Run.Turn == nil || c.Run.Turn.Purpose != "validation" || c.Run.TaskID != "task" || c.Run.Turn.JSONSchema != nil {
			t.Errorf("claim %+v", c)
		}
		check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID, SessionID: "own"}))
		check(t, s.SaveResult(ctx, c.Fence, ledger.ResultCommit{
			RunID: c.Run.ID, Key: "k", Step: pluginsdk.StepInvoked, SessionID: "own", SeenMessageID: 99,
			Result: pluginsdk.InvokeResult{Text: "good"},
		}))
		must[ledger.Finished](t)(s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded}))
		saveResult(t, s, working) // its fence still holds
		finish(t, s, working, "answer")
		kept := must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID))
		if kept.SessionID == "own" || kept.SeenMessageID == 99 {
			t.Errorf("the turn has changed the thread: %+v", kept)
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); run.State != pluginsdk.RunSucceeded || run.Result.Text != "good" {
			t.Errorf("the turn %+v", run)
		}
		accept(t, s, thread.ID, "two") // one more run in the thread
		next := claim(t, s, thread.ID)
		runs := must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: thread.ID}))
		want := []string{working.Run.ID, c.Run.ID, next.Run.ID}
		for after := ""; len(want) > 0; after, want = want[0], want[1:] { // page by page
			page := must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: thread.ID, After: after, Limit: 1}))
			if len(page) != 1 || page[0].ID != want[0] {
				t.Fatalf("after %q comes %+v, want %s; all are %d", after, page, want[0], len(runs))
			}
		}
		if problems := must[[]string](t)(s.Integrity(ctx)); len(problems) > 0 {
			t.Errorf("doctor says %q", problems)
		}
	})
}

// A turn for a task that is over would work, at its cost, for nobody; one that was asked
// before has to be found by who ends the task, wherever it is.
func TestTheTurnsOfATaskEndWithIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		of := aTask(t, s, pluginsdk.NewTask{})
		begun := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review", TaskID: of.ID})
		waits := acceptTurn(t, s, pluginsdk.StartTurnRequest{Key: "k", Prompt: "review", TaskID: of.ID, ThreadID: newThread(t, s, "a").ID})
		over := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review", TaskID: of.ID})
		acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "another's"})
		claimTurn(t, s, begun.RunID, "me")
		_, _, err := s.CancelQueued(ctx, over.RunID, "enough")
		check(t, err)
		if got := must[[]string](t)(s.OpenTurnsOf(ctx, of.ID)); !slices.Equal(got, []string{begun.RunID, waits.RunID}) {
			t.Errorf("open are %q", got)
		}
		check(t, second(s.MoveTask(ctx, ended(of))))
		wantCode(t, second(s.AcceptTurn(ctx, turn(pluginsdk.StartTurnRequest{Prompt: "review", TaskID: of.ID}))), pluginsdk.CodeStale)
		again := pluginsdk.StartTurnRequest{Key: "k", Prompt: "review", TaskID: of.ID, ThreadID: waits.ThreadID}
		if got := acceptTurn(t, s, again); got.RunID != waits.RunID {
			t.Errorf("repeated, it is %+v", got)
		}
	})
}

// A turn in its thread's session waits its turn in the thread's queue.
func TestATurnInItsThreadsSessionIsInTheQueue(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		one := accept(t, s, thread.ID, "one").RunID
		within := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Session: pluginsdk.SessionThread, Prompt: "sum up"})
		two := accept(t, s, thread.ID, "two").RunID
		if within.Queue != (ledger.Queue{ThreadID: thread.ID}) {
			t.Errorf("queue %+v", within.Queue)
		}
		var order []string
		for c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")); c.Found; c = must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")) {
			order = append(order, c.Run.ID)
			if c.Run.ID == within.RunID && (c.Message.Content != "sum up" || len(c.Absorbed) > 0 || c.Fence.Beside()) {
				t.Errorf("claim of the turn %+v", c)
			}
			must[ledger.Finished](t)(s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded}))
		}
		if !slices.Equal(order, []string{one, within.RunID, two}) {
			t.Errorf("order %q", order)
		}
	})
}

// Messages that are answered together do not take with them a turn that came between.
func TestATurnIsMergedIntoNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		collect := pluginsdk.BusyCollect
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{BusyMode: &collect}))
		accept(t, s, thread.ID, "one")
		accept(t, s, thread.ID, "two")
		within := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Session: pluginsdk.SessionThread, Prompt: "sum up"})
		beside := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Prompt: "review"})
		accept(t, s, thread.ID, "three")
		if c := claim(t, s, thread.ID); len(c.Absorbed) != 1 {
			t.Errorf("merged %q", contents(c.Absorbed))
		}
		for _, id := range []string{within.RunID, beside.RunID} {
			if run := must[pluginsdk.Run](t)(s.Run(ctx, id)); run.State != pluginsdk.RunQueued {
				t.Errorf("a turn is %s", run.State)
			}
		}
	})
}

// A daemon that died in a turn leaves it to the next one: what the dead one still writes
// is refused, but that the turn has been paid for is not forgotten.
func TestATurnOfADaemonThatDied(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review"})
		dead := claimTurn(t, s, asked.RunID, "boot 1")
		check(t, s.SaveIntent(ctx, dead.Fence, ledger.Intent{RunID: asked.RunID, SessionID: "own"}))
		open := must[[]ledger.Queue](t)(s.Recover(ctx, "boot 2"))
		if !slices.Equal(open, []ledger.Queue{{TurnID: asked.RunID}}) {
			t.Fatalf("open: %+v", open)
		}
		again := claimTurn(t, s, asked.RunID, "boot 2")
		if again.Run.Attempt != 2 {
			t.Errorf("attempt %d", again.Run.Attempt)
		}
		late := ledger.ResultCommit{RunID: asked.RunID, Key: "late", Step: pluginsdk.StepInvoked, Result: pluginsdk.InvokeResult{Text: "late", CostUSD: 1}}
		wantCode(t, s.SaveResult(ctx, dead.Fence, late), pluginsdk.CodeStale)
		wantCode(t, second(s.Finish(ctx, dead.Fence, ledger.Finish{RunID: asked.RunID, State: pluginsdk.RunSucceeded})), pluginsdk.CodeStale)
		wantCode(t, s.EndAttempt(ctx, dead.Fence, ledger.AttemptEnd{RunID: asked.RunID}), pluginsdk.CodeStale)
		wantCode(t, s.SaveProgress(ctx, dead.Fence, asked.RunID, nil), pluginsdk.CodeStale)
		if spent := must[[]ledger.AgentRun](t)(s.AgentRuns(ctx, "")); len(spent) != 1 {
			t.Errorf("recorded %+v", spent)
		}
		must[ledger.Finished](t)(s.Finish(ctx, again.Fence, ledger.Finish{RunID: asked.RunID, State: pluginsdk.RunSucceeded}))
		if c := must[ledger.Claim](t)(s.ClaimBeside(ctx, ledger.Queue{TurnID: asked.RunID}, "boot 2")); c.Found {
			t.Error("a turn that is over is claimed again")
		}
	})
}

// Who opens a run in the middle of a long turn sees what the agent has done so far, and
// what is seen of a turn that is over is its end.
func TestWhatARunningTurnHasComeToCanBeRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accepted := accept(t, s, thread.ID, "one")
		c := claim(t, s, thread.ID)
		blocks := []pluginsdk.StreamEvent{{Type: pluginsdk.StreamText, Text: "so far"}}
		check(t, s.SaveProgress(ctx, c.Fence, c.Run.ID, blocks)) // before 5a there is no turn
		if run := must[pluginsdk.Run](t)(s.Run(ctx, accepted.RunID)); len(run.Events) != 0 {
			t.Errorf("events before the turn: %+v", run.Events)
		}
		saveIntent(t, s, c)
		check(t, s.SaveProgress(ctx, c.Fence, c.Run.ID, blocks))
		if run := must[pluginsdk.Run](t)(s.Run(ctx, accepted.RunID)); len(run.Events) != 1 || run.Events[0].Text != "so far" {
			t.Errorf("events in the turn: %+v", run.Events)
		}
		saveResult(t, s, c)
		check(t, s.SaveProgress(ctx, c.Fence, c.Run.ID, blocks))
		if run := must[pluginsdk.Run](t)(s.Run(ctx, accepted.RunID)); len(run.Events) != 1 || run.Events[0].Text == "so far" {
			t.Errorf("events after the turn: %+v", run.Events)
		}
	})
}

// A turn that waited for too long ends; one that was begun does not.
func TestOnlyATurnThatNobodyHasBegunExpires(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		message := accept(t, s, thread.ID, "one").RunID
		begun, waits := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "a"}).RunID, acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "b"}).RunID
		c := claimTurn(t, s, begun, "boot 1")
		check(t, s.EndAttempt(ctx, c.Fence, ledger.AttemptEnd{RunID: begun, Reason: "529"}))
		for id, want := range map[string]bool{message: false, begun: false, waits: true} {
			if got := must[bool](t)(s.ExpireQueued(ctx, id, "no place")); got != want {
				t.Errorf("%s expired: %v, want %v", id, got, want)
			}
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, waits)); run.State != pluginsdk.RunFailed || run.Error != "no place" || run.FinishedAt.IsZero() {
			t.Errorf("the turn %+v", run)
		}
	})
}

// What runs have caused waits while it is paused; people are answered, also those who
// wrote after it.
func TestClaimUncaused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread, other := newThread(t, s, "general"), newThread(t, s, "other")
		cause := accept(t, s, other.ID, "a person's").RunID
		caused := acceptance(thread.ID, "caused", "what it causes")
		caused.Submission.CauseRunID = cause
		must[ledger.Accepted](t)(s.Accept(ctx, caused))
		if c := must[ledger.Claim](t)(s.ClaimUncaused(ctx, thread.ID, "test")); c.Found || !c.NotBefore.IsZero() {
			t.Errorf("claimed %+v", c)
		}
		collect := pluginsdk.BusyCollect
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{BusyMode: &collect}))
		within := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Session: pluginsdk.SessionThread, Prompt: "sum up"})
		mine := accept(t, s, thread.ID, "mine").RunID
		c := must[ledger.Claim](t)(s.ClaimUncaused(ctx, thread.ID, "test"))
		if !c.Found || c.Run.ID != mine || len(c.Absorbed) > 0 {
			t.Fatalf("claimed %+v with %q", c.Run, contents(c.Absorbed))
		}
		finish(t, s, c, "answer")
		for _, want := range []string{caused.RunID, within.RunID} {
			c := claim(t, s, thread.ID)
			if c.Run.ID != want {
				t.Errorf("claimed %+v", c.Run)
			}
			finish(t, s, c, "answer")
		}
	})
}

func TestLevers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		if got := must[ledger.Lever](t)(s.Lever(ctx, ledger.LeverPause)); got != (ledger.Lever{}) {
			t.Errorf("untouched: %+v", got)
		}
		for range 2 {
			check(t, s.SetLever(ctx, ledger.LeverPause, true, "ann"))
		}
		if got := must[ledger.Lever](t)(s.Lever(ctx, ledger.LeverPause)); !got.On || got.Who != "ann" || got.At.IsZero() {
			t.Errorf("on: %+v", got)
		}
		check(t, s.SetLever(ctx, ledger.LeverPause, false, "bob"))
		if got := must[ledger.Lever](t)(s.Lever(ctx, ledger.LeverPause)); got.On || got.Who != "bob" {
			t.Errorf("off: %+v", got)
		}
		entries := must[[]store.AuditEntry](t)(s.AuditEntries(ctx, ledger.LeverPause, 10))
		if len(entries) != 2 || entries[0].Action != "lever.on" || entries[1].Action != "lever.off" || entries[1].Who != "bob" {
			t.Errorf("audited %+v", entries)
		}
	})
}

// A turn that a stop interrupts is asked again, under the number of the same attempt: its
// answer is stored, and what both have cost.
func TestATurnThatWasReleasedHasItsAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review"})
		for n, session := range []string{"one", "two"} {
			c := claimTurn(t, s, asked.RunID, "boot 1")
			check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: asked.RunID, SessionID: session}))
			commit := ledger.ResultCommit{
				RunID: asked.RunID, Key: asked.RunID + ":" + session, Step: pluginsdk.StepInvoked,
				Result: pluginsdk.InvokeResult{Text: "good", CostUSD: 1},
			}
			if n == 0 {
				commit.Step, commit.Result.Text = pluginsdk.StepInvoking, ""
				commit.Result.Failure = &pluginsdk.Failure{Kind: pluginsdk.FailureInterrupted}
			}
			check(t, s.SaveResult(ctx, c.Fence, commit))
			if n == 0 {
				check(t, s.Release(ctx, c.Fence, asked.RunID))
				continue
			}
			must[ledger.Finished](t)(s.Finish(ctx, c.Fence, ledger.Finish{RunID: asked.RunID, State: pluginsdk.RunSucceeded}))
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, asked.RunID)); run.Attempt != 1 || run.Result.Text != "good" || run.CostUSD != 2 {
			t.Errorf("the turn %+v, %+v", run, run.Result)
		}
	})
}

// What is looked for at the head of a thread's queue is never a turn beside it.
func TestTheHeadOfAQueueIsNoTurnBesideIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		beside := acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: thread.ID, Prompt: "review"})
		mine := accept(t, s, thread.ID, "one").RunID
		for _, state := range []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning} {
			if got := must[pluginsdk.Run](t)(s.FirstQueued(ctx, thread.ID, state)); got.ID != mine {
				t.Errorf("%s: %q, want %q", state, got.ID, mine)
			}
			if state == pluginsdk.RunQueued {
				claimTurn(t, s, beside.RunID, "boot 1")
				claim(t, s, thread.ID)
			}
		}
	})
}
