package store_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func setBusyMode(t *testing.T, s *store.Store, threadID string, mode pluginsdk.BusyMode) {
	t.Helper()
	check(t, second(s.UpdateThread(context.Background(), threadID, pluginsdk.ThreadPatch{BusyMode: &mode})))
}

// Collected messages are answered by one run, also after a crash, and each says
// by which.
func TestClaimCollectsWhatWaits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		setBusyMode(t, s, thread, pluginsdk.BusyCollect)
		accept(t, s, thread, "1")
		two, three := accept(t, s, thread, "2"), accept(t, s, thread, "3")
		c := claim(t, s, thread)
		if got := contents(c.Absorbed); c.Message.Content != "1" || !slices.Equal(got, []string{"2", "3"}) {
			t.Errorf("claimed %q with %q", c.Message.Content, got)
		}
		for _, merged := range []string{two.RunID, three.RunID} {
			run := must[pluginsdk.Run](t)(s.Run(ctx, merged))
			if run.State != pluginsdk.RunMerged || run.MergedInto != c.Run.ID || run.FinishedAt.IsZero() {
				t.Errorf("merged run %+v", run)
			}
		}
		late := accept(t, s, thread, "4")
		check(t, second(s.Recover(ctx, "boot 2")))
		again := claim(t, s, thread)
		if got := contents(again.Absorbed); again.Run.ID != c.Run.ID || !slices.Equal(got, []string{"2", "3", "4"}) {
			t.Errorf("claimed again %s with %q", again.Run.ID, got)
		}
		finish(t, s, again, "all of it")
		if run := must[pluginsdk.Run](t)(s.Run(ctx, late.RunID)); run.MergedInto != c.Run.ID {
			t.Errorf("late run %+v", run)
		}
	})
}

// A daemon that merges messages all day keeps no statement for each: what it keeps is
// bounded, and once that is full of them, all else is parsed again each time.
func TestAbsorbPreparesNothingAnew(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var before int
		for i := range 4 {
			thread := newThread(t, s, "general "+strconv.Itoa(i)).ID
			accept(t, s, thread, "1")
			c := claim(t, s, thread)
			for _, late := range []string{"2", "3"} {
				accept(t, s, thread, late)
				if got := contents(absorb(t, s, c)); !slices.Equal(got, []string{late}) {
					t.Errorf("absorbed %q", got)
				}
			}
			finish(t, s, c, "done")
			now := s.Prepared()
			if i > 1 && now != before {
				t.Errorf("%d statements are kept after round %d, %d before it", now, i, before)
			}
			before = now
		}
	})
}

// A command, and a run that was begun before, keep their own place.
func TestAbsorbStopsAtWhatHasItsOwnPlace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		accept(t, s, thread, "2")
		command := acceptance(thread, "key of 3", "/buy")
		command.Kind = pluginsdk.RunCommand
		check(t, second(s.Accept(ctx, command)))
		accept(t, s, thread, "4")
		absorbed := absorb(t, s, c)
		if got := contents(absorbed); !slices.Equal(got, []string{"2"}) {
			t.Errorf("absorbed %q", got)
		}
		if again := absorb(t, s, c); len(again) != 0 {
			t.Errorf("absorbed again %q", contents(again))
		}
		finish(t, s, c, "done")
		wantCode(t, second(s.Absorbable(ctx, c.Fence, c.Run.ID)), pluginsdk.CodeStale)
		wantCode(t, second(s.Absorb(ctx, c.Fence, c.Run.ID, []pluginsdk.Message{{ID: 1}})), pluginsdk.CodeStale)
	})
}

// What a run has caused is not put into a person's turn either, while it is paused.
func TestAbsorbWhileItIsPaused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		accept(t, s, thread, "2")
		caused := acceptance(thread, "key of 3", "3")
		caused.Submission.CauseRunID = c.Run.ID
		check(t, second(s.Accept(ctx, caused)))
		check(t, s.SetLever(ctx, ledger.LeverPause, true, "ann"))
		if got := contents(absorb(t, s, c)); !slices.Equal(got, []string{"2"}) {
			t.Errorf("while it is paused %q is absorbed", got)
		}
		check(t, s.SetLever(ctx, ledger.LeverPause, false, "ann"))
		if got := contents(absorb(t, s, c)); !slices.Equal(got, []string{"3"}) {
			t.Errorf("when it is resumed %q is absorbed", got)
		}
	})
}

// What the agent was not told is answered by itself, in its turn.
func TestResultGivesBackWhatWasNotTold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		accept(t, s, thread, "2")
		accept(t, s, thread, "3")
		absorbed := absorb(t, s, c)
		commit := result(c)
		commit.Absorbed = []int64{absorbed[0].ID}
		check(t, s.SaveResult(ctx, c.Fence, commit))
		finish(t, s, c, "one and two")
		if run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); !slices.Equal(run.Absorbed, []int64{absorbed[0].ID}) {
			t.Errorf("absorbed %v", run.Absorbed)
		}
		if next := claim(t, s, thread); next.Message.Content != "3" || next.Run.MergedInto != "" {
			t.Errorf("next is %q, %+v", next.Message.Content, next.Run)
		}
	})
}

// A result whose COMMIT nobody answered is sent again: it must not be paid for
// twice. The next claim's result is another one, although the attempt's number
// may be the same.
func TestRepeatedResultCountsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		commit := result(c)
		commit.Key, commit.Step = c.Run.ID+":1", pluginsdk.StepAccepted
		for range 2 {
			check(t, s.SaveResult(ctx, c.Fence, commit))
		}
		check(t, s.Release(ctx, c.Fence, c.Run.ID))
		c = claim(t, s, thread)
		commit = result(c)
		commit.Key = c.Run.ID + ":2"
		check(t, s.SaveResult(ctx, c.Fence, commit))
		runs := must[[]ledger.AgentRun](t)(s.AgentRuns(ctx, thread))
		run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID))
		if len(runs) != 2 || run.CostUSD != 2*commit.Result.CostUSD || run.Step != commit.Step {
			t.Errorf("%d agent runs, run %+v", len(runs), run)
		}
	})
}

// Each attempt that failed stays visible.
func TestRetryRemembersFailures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		var c ledger.Claim
		for _, reason := range []string{"first", "second"} {
			c = claim(t, s, thread)
			check(t, s.EndAttempt(ctx, c.Fence, ledger.AttemptEnd{RunID: c.Run.ID, At: c.Run.QueuedAt, Reason: reason}))
		}
		run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID))
		if len(run.Failures) != 2 || run.Failures[0].Error != "first" || run.Failures[1].Attempt != 2 || run.Failures[1].At.IsZero() {
			t.Errorf("failures %+v", run.Failures)
		}
	})
}

// The owner's own runs are not put back: it is at work on them.
func TestRecoverLeavesTheOwnersRuns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		check(t, second(s.Recover(ctx, c.Run.Owner)))
		finish(t, s, c, "done")
	})
}

// A message that a gate denies waits for a run of its own, and so does what comes
// after it: what is merged is what was looked at, in order, and nothing else.
func TestAbsorbMergesWhatWasLookedAt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		var runs []string
		for _, content := range []string{"2", "3", "4", "5"} {
			runs = append(runs, accept(t, s, thread, content).RunID)
		}
		waiting := must[[]pluginsdk.Message](t)(s.Absorbable(ctx, c.Fence, c.Run.ID))
		if got := contents(waiting); !slices.Equal(got, []string{"2", "3", "4", "5"}) {
			t.Fatalf("waiting %q", got)
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, runs[0])); run.State != pluginsdk.RunQueued {
			t.Errorf("it was merged by being looked at: %+v", run)
		}
		check(t, third(s.CancelQueued(ctx, runs[0], "stopped")))
		merged := must[[]pluginsdk.Message](t)(s.Absorb(ctx, c.Fence, c.Run.ID, []pluginsdk.Message{waiting[0], waiting[1], waiting[3]}))
		if got := contents(merged); !slices.Equal(got, []string{"3"}) {
			t.Errorf("merged %q", got)
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); !slices.Equal(run.Absorbed, []int64{waiting[1].ID}) {
			t.Errorf("absorbed %v", run.Absorbed)
		}
		if none := must[[]pluginsdk.Message](t)(s.Absorb(ctx, c.Fence, c.Run.ID, waiting[3:])); len(none) != 0 {
			t.Errorf("one was passed over: merged %q", contents(none))
		}
		stale := c.Fence
		stale.Epoch--
		wantCode(t, second(s.Absorbable(ctx, stale, c.Run.ID)), pluginsdk.CodeStale)
		finish(t, s, c, "done")
		if next := claim(t, s, thread); next.Message.Content != "4" {
			t.Errorf("next is %q", next.Message.Content)
		}
	})
}
