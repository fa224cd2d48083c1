package store_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two agents must never work in one thread at a time.
func TestClaimIsExclusive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		const runs = 5
		for range runs {
			accept(t, s, thread.ID, "hello")
		}
		for range runs {
			var found atomic.Int64
			var holder atomic.Pointer[ledger.Claim]
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					c, err := s.Claim(context.Background(), thread.ID, "test")
					check(t, err)
					if c.Found {
						found.Add(1)
						holder.Store(&c)
					}
				})
			}
			group.Wait()
			if n := found.Load(); n != 1 {
				t.Fatalf("%d claims at a time, want 1", n)
			}
			finish(t, s, *holder.Load(), "ok")
		}
	})
}

func TestClaimHandsOutWhatARunNeeds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accepted := accept(t, s, thread.ID, "hello")
		c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "boot 1"))
		if !c.Found || c.Run.ID != accepted.RunID || c.Message.ID != accepted.MessageID || c.Thread.ID != thread.ID {
			t.Fatalf("claim %+v", c)
		}
		if c.Run.State != pluginsdk.RunRunning || c.Run.Attempt != 1 || c.Run.Owner != "boot 1" ||
			c.Run.StartedAt.IsZero() || !c.Run.LeaseUntil.After(c.Run.StartedAt) {
			t.Errorf("run %+v", c.Run)
		}
		if c.Fence != (ledger.Fence{ThreadID: thread.ID, Epoch: 1}) || c.Thread.Epoch != c.Fence.Epoch {
			t.Errorf("fence %+v, thread's epoch %d", c.Fence, c.Thread.Epoch)
		}
		same(t, c.Run, must[ledger.Run](t)(s.KeptRun(ctx, accepted.RunID)))
		_, err := s.Claim(ctx, "no such thread", "test")
		wantCode(t, err, pluginsdk.CodeNotFound)
	})
}

// A run whose attempt failed waits; those behind it wait too, and its thread
// says until when.
func TestRetryWaits(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		var clock atomic.Pointer[time.Time]
		set := func(to time.Time) { clock.Store(&to) }
		set(time.Now())
		config.Now = func() time.Time { return *clock.Load() }
		s := storetest.OpenConfig(t, config)
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "first")
		accept(t, s, thread.ID, "second")
		c := claim(t, s, thread.ID)
		at := config.Now().Add(time.Minute).UTC().Truncate(time.Microsecond)
		check(t, s.EndAttempt(ctx, c.Fence, ledger.AttemptEnd{RunID: c.Run.ID, At: at, Reason: "the API is overloaded"}))
		early := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test"))
		if early.Found || !early.NotBefore.Equal(at) {
			t.Errorf("before its time: %+v", early)
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); run.Error != "the API is overloaded" || !run.NextAttemptAt.Equal(at) {
			t.Errorf("run %+v", run)
		}
		set(at)
		again := claim(t, s, thread.ID)
		if again.Run.ID != c.Run.ID || again.Run.Attempt != 2 || !again.Run.StartedAt.Equal(c.Run.StartedAt) {
			t.Errorf("second attempt %+v", again.Run)
		}
	})
}

// A clean stop must not use up the attempts of the runs that it interrupts.
func TestReleaseIsNoAttempt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		check(t, s.Release(ctx, c.Fence, c.Run.ID))
		wantCode(t, s.Release(ctx, c.Fence, c.Run.ID), pluginsdk.CodeStale)
		if again := claim(t, s, thread.ID); again.Run.Attempt != 1 {
			t.Errorf("attempt %d, want 1", again.Run.Attempt)
		}
	})
}

func TestCancelQueued(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		working := accept(t, s, thread.ID, "one").RunID
		claim(t, s, thread.ID)
		queued := accept(t, s, thread.ID, "two").RunID
		rest := []string{accept(t, s, thread.ID, "three").RunID, accept(t, s, thread.ID, "four").RunID}

		run, cancelled, err := s.CancelQueued(ctx, working, "stopped")
		if err != nil || cancelled || run.State != pluginsdk.RunRunning {
			t.Errorf("a run at work: %v %v %s", err, cancelled, run.State)
		}
		run, cancelled, err = s.CancelQueued(ctx, queued, "stopped")
		if err != nil || !cancelled || run.State != pluginsdk.RunCancelled || run.FinishedAt.IsZero() {
			t.Errorf("a queued run: %v %v %+v", err, cancelled, run)
		}
		_, cancelled, err = s.CancelQueued(ctx, queued, "stopped")
		if err != nil || cancelled {
			t.Errorf("twice: %v %v", err, cancelled)
		}
		_, _, err = s.CancelQueued(ctx, "nope", "stopped")
		wantCode(t, err, pluginsdk.CodeNotFound)

		ids := must[[]string](t)(s.CancelAllQueued(ctx, thread.ID, "stopped"))
		slices.Sort(ids)
		slices.Sort(rest)
		if !slices.Equal(ids, rest) {
			t.Errorf("cancelled %v, want %v", ids, rest)
		}
		if n := must[int](t)(s.Waiting(ctx, thread.ID)); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}

// An answer that waits to be shown is not thrown away by who empties the queue.
func TestAnAnsweredRunIsNotCancelled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		answered := accept(t, s, thread.ID, "one").RunID
		working := claim(t, s, thread.ID)
		commit := result(working)
		commit.Step = pluginsdk.StepInvoked
		check(t, s.SaveResult(ctx, working.Fence, commit))
		check(t, s.EndAttempt(ctx, working.Fence, ledger.AttemptEnd{RunID: answered, At: time.Now(), Reason: "a plugin is away"}))
		behind := accept(t, s, thread.ID, "two").RunID

		run, cancelled, err := s.CancelQueued(ctx, answered, "stopped")
		if err != nil || cancelled || run.State != pluginsdk.RunQueued {
			t.Errorf("%v %v %s", err, cancelled, run.State)
		}
		if ids := must[[]string](t)(s.CancelAllQueued(ctx, thread.ID, "stopped")); !slices.Equal(ids, []string{behind}) {
			t.Errorf("cancelled %v, want %s alone", ids, behind)
		}
	})
}

// Whatever instant the daemon dies at, the run goes on from the step it is
// known to have reached.
func TestRecoverAtEachStep(t *testing.T) {
	steps := []struct {
		name  string
		until func(t *testing.T, s *store.Store, c ledger.Claim)
		check func(t *testing.T, c ledger.Claim)
	}{
		{"claimed", func(*testing.T, *store.Store, ledger.Claim) {}, func(t *testing.T, c ledger.Claim) {
			if c.Run.Step != pluginsdk.StepAccepted || c.Run.Result != nil {
				t.Errorf("run %+v", c.Run)
			}
		}},
		{"invoking", saveIntent, func(t *testing.T, c ledger.Claim) {
			if c.Run.Step != pluginsdk.StepInvoking || c.Run.SessionID != "session" || !c.Thread.SessionOpen || c.Run.PromptHash != "hash" {
				t.Errorf("run %+v, thread %+v", c.Run, c.Thread)
			}
		}},
		{"invoked", func(t *testing.T, s *store.Store, c ledger.Claim) {
			saveIntent(t, s, c)
			saveResult(t, s, c)
		}, func(t *testing.T, c ledger.Claim) {
			if c.Run.Step != pluginsdk.StepInvoked || c.Run.Result == nil || c.Run.Result.Text != "answer" || len(c.Run.Events) != 1 {
				t.Errorf("run %+v", c.Run)
			}
		}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			storetest.EachConfig(t, func(t *testing.T, config store.Config) {
				ctx := context.Background()
				s, err := store.Open(ctx, config)
				if err != nil {
					t.Fatal(err)
				}
				thread := newThread(t, s, "general")
				accept(t, s, thread.ID, "hello")
				c := claim(t, s, thread.ID)
				step.until(t, s, c)
				check(t, s.Close())

				s = storetest.OpenConfig(t, config)
				if threads := must[[]ledger.Queue](t)(s.Recover(ctx, "boot 2")); !slices.Equal(threads, []ledger.Queue{{ThreadID: thread.ID}}) {
					t.Fatalf("threads with work: %v", threads)
				}
				again := claim(t, s, thread.ID)
				if again.Run.ID != c.Run.ID || again.Run.Attempt != 2 {
					t.Errorf("run %+v", again.Run)
				}
				step.check(t, again)
			})
		})
	}
}

// What waits longest is answered first after a restart.
func TestRecoverListsThreadsOldestFirst(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		a, b, c := newThread(t, s, "a").ID, newThread(t, s, "b").ID, newThread(t, s, "c").ID
		accept(t, s, c, "1")
		accept(t, s, a, "2")
		accept(t, s, c, "3")
		finish(t, s, claim(t, s, a), "done")
		accept(t, s, b, "4")
		accept(t, s, a, "5")
		claim(t, s, b)
		if got := must[[]ledger.Queue](t)(s.Recover(ctx, "boot 2")); !slices.Equal(got, []ledger.Queue{{ThreadID: c}, {ThreadID: b}, {ThreadID: a}}) {
			t.Errorf("got %v, want %v", got, []string{c, b, a})
		}
	})
}

func saveIntent(t *testing.T, s *store.Store, c ledger.Claim) {
	t.Helper()
	check(t, s.SaveIntent(context.Background(), c.Fence, ledger.Intent{
		RunID: c.Run.ID, SessionID: "session", PromptHash: "hash",
		Steps: []pluginsdk.PipelineStep{{Step: "onMessage", Timestamp: time.Now()}},
	}))
}

func saveResult(t *testing.T, s *store.Store, c ledger.Claim) {
	t.Helper()
	check(t, s.SaveResult(context.Background(), c.Fence, result(c)))
}

func result(c ledger.Claim) ledger.ResultCommit {
	return ledger.ResultCommit{
		RunID: c.Run.ID, Step: pluginsdk.StepInvoked, SessionID: "session", SeenMessageID: c.Message.ID,
		Result: pluginsdk.InvokeResult{
			Text: "answer", SessionID: "session", CostUSD: 0.5,
			Usage: pluginsdk.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4},
		},
		Events: []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamTextDelta, Text: "ans"},
			{Type: pluginsdk.StreamText, Text: "answer", Timestamp: time.Now()},
		},
		AgentRun: ledger.AgentRun{Purpose: "pipeline", Model: "sonnet", Success: true, CostUSD: 0.5},
		Rows: []ledger.Row{{Key: c.Run.ID + ":denied", Message: pluginsdk.NewMessage{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "a tool was denied",
		}}},
	}
}

// Cancelling the head of a queue while it is being claimed must not leave the
// next run lying there with nobody told.
func TestClaimWhileTheHeadIsCancelled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		for range 20 {
			head := accept(t, s, thread.ID, "head").RunID
			accept(t, s, thread.ID, "next")
			var group sync.WaitGroup
			group.Go(func() {
				_, _, err := s.CancelQueued(ctx, head, "stopped")
				check(t, err)
			})
			c := claim(t, s, thread.ID)
			group.Wait()
			finish(t, s, c, "ok")
			for c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")); c.Found; c = must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")) {
				finish(t, s, c, "ok")
			}
		}
	})
}
