package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A gate that sleeps holds up its own run alone: the run has no place meanwhile, its thread is
// told of the plugin, and it goes on when it has an answer and a place. Before this, as many
// runs as there are places stopped all threads.
func TestAGateThatSleepsHoldsUpItsRunAlone(t *testing.T) {
	for name, row := range map[string]struct {
		takes   time.Duration
		kind    pluginsdk.RunKind
		beside  bool
		rests   bool
		told    int
		content string
	}{
		"answers at once":                {takes: 0, kind: pluginsdk.RunMessage},
		"takes three seconds":            {takes: 3 * time.Second, kind: pluginsdk.RunMessage, rests: true},
		"takes a minute":                 {takes: time.Minute, kind: pluginsdk.RunMessage, rests: true, told: 1, content: "waits for the plugin budget, which has not answered OnBeforeRun since"},
		"of a turn, takes a minute":      {takes: time.Minute, kind: pluginsdk.RunTurn, beside: true, rests: true, told: 1},
		"of a command, takes a minute":   {takes: time.Minute, kind: pluginsdk.RunCommand, rests: true, told: 1, content: "budget"},
		"of a command beside its thread": {takes: time.Minute, kind: pluginsdk.RunCommand, beside: true, rests: true, told: 1, content: "The command /anything waits for the plugin budget, which has"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench("budget")
			b.claim.Run.Kind = row.kind
			switch {
			case row.beside && row.kind == pluginsdk.RunCommand:
				b.claim.Run.Beside, b.claim.Run.BesideAs, b.claim.Fence = true, "anything", ledger.Fence{ThreadID: "T", RunID: "R", Attempt: 1}
				b.claim.Message.Content = "/anything"
			case row.beside:
				b.claim.Run.Beside, b.claim.Run.Turn, b.claim.Fence = true, &pluginsdk.StartTurnRequest{Prompt: "p"}, ledger.Fence{RunID: "R", Epoch: 1}
			case row.kind == pluginsdk.RunCommand:
				b.claim.Message.Content = "/anything"
			}
			b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				<-time.After(row.takes)
				b.journal.add("it answers")
				return &pluginsdk.OnBeforeRunResponse{}, nil
			}
			if err := b.handle(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines := strings.Join(b.journal.lines, "; ")
			if rested := strings.Contains(lines, "R has no place; it answers; R has a place"); rested != row.rests || strings.Count(lines, "no place") > 1 {
				t.Errorf("%s: %s", name, lines)
			}
			if len(b.store.held) != row.told {
				t.Fatalf("%s: told %d times", name, len(b.store.held))
			}
			if row.told == 0 {
				return
			}
			held := b.store.held[0]
			if last := held.Hooks[len(held.Hooks)-1]; last.Plugin != "budget" || last.State != pluginsdk.CallWaiting || last.Hook != pluginsdk.HookBeforeRun {
				t.Errorf("%s: it waits for %+v", name, last)
			}
			if (held.Row == nil) != (row.kind == pluginsdk.RunTurn) || held.Row != nil && !strings.Contains(held.Row.Message.Content, row.content) {
				t.Errorf("%s: the thread is told %+v", name, held.Row)
			}
			finish := b.store.finishes[0]
			if slices.ContainsFunc(finish.Hooks, func(call pluginsdk.HookCall) bool { return call.State == pluginsdk.CallWaiting }) {
				t.Errorf("%s: a call that was answered is said to go on: %+v", name, finish.Hooks)
			}
		})
	}
}

// Who stops a run that waits for its gate is not kept waiting, and once the agent was asked a
// slow hook costs the run no place.
func TestAHeldRunIsStoppedAndAnAnsweredOneKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("budget")
		ctx, cancel := context.WithCancelCause(t.Context())
		b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
			<-time.After(time.Minute)
			cancel(pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by Ann"))
			return nil, context.Canceled
		}
		if _, err := b.line.Handle(t.Context(), ctx, b.claim); err != nil || b.store.finishes[0].State != pluginsdk.RunCancelled {
			t.Errorf("a stop: %v, %+v", err, b.store.finishes)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench("slow")
		closed := make(map[pluginsdk.Hook]pluginsdk.OnFailure)
		for _, hook := range pluginsdk.AllHooks() {
			closed[hook] = pluginsdk.FailClosed
		}
		b.plugins[0].info.OnFailure = closed
		b.plugins[0].notify = func(hook pluginsdk.Hook) error {
			if hook == pluginsdk.HookAfterInvoke || hook == pluginsdk.HookPipelineComplete {
				<-time.After(3 * time.Second)
			}
			return nil
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Join(b.journal.lines, "; "); strings.Contains(lines, "no place") {
			t.Errorf("after its turn: %s", lines)
		}
	})
}

// A plugin that lacks the grant for a closed hook is enabled and does not serve: work waits,
// without a place, at whichever step it is, and its thread says which command grants it. Only
// an answer that is there already cannot be stopped. Before this the run failed.
func TestARunWaitsForTheGrantOfAClosedHook(t *testing.T) {
	for hook, row := range map[pluginsdk.Hook]struct {
		lacks    pluginsdk.Capability
		answered bool
	}{
		pluginsdk.HookBeforeRun:        {pluginsdk.CapTurnsDecide, false},
		pluginsdk.HookMessage:          {pluginsdk.CapTurnsRead, false},
		pluginsdk.HookBeforeInvoke:     {pluginsdk.CapTurnsChange, false},
		pluginsdk.HookAfterInvoke:      {pluginsdk.CapTurnsRead, true},
		pluginsdk.HookBeforeReply:      {pluginsdk.CapTurnsChange, true},
		pluginsdk.HookPipelineComplete: {pluginsdk.CapTurnsRead, true},
	} {
		for _, stopped := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := newBench("budget")
				info := &b.plugins[0].info
				info.Manifest.Hooks = []pluginsdk.Hook{hook}
				info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{hook: pluginsdk.FailClosed}
				info.Granted = nil
				ctx, stop := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Hour, func() {
					if stopped {
						stop(pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by Ann"))
					}
				})
				time.AfterFunc(2*time.Hour+time.Millisecond, func() {
					given := *info
					given.Granted = []pluginsdk.Capability{row.lacks}
					b.plugins[0].changed.Store(&given)
				})
				began := time.Now()
				left, err := b.line.Handle(t.Context(), ctx, b.claim)
				took, want, state := time.Since(began), 2*time.Hour, pluginsdk.RunSucceeded
				if stopped && !row.answered {
					want, state = time.Hour, pluginsdk.RunCancelled
				}
				if err != nil || took.Truncate(time.Minute) != want || len(b.store.finishes) != 1 || b.store.finishes[0].State != state {
					t.Fatalf("%s: stopped %v: %v, %+v, after %s: %+v", hook, stopped, err, left, took, b.store.finishes)
				}
				if lines := strings.Join(b.journal.lines, "; "); strings.Count(lines, "no place") != 1 || strings.Count(lines, "invoke;") > 1 {
					t.Errorf("%s: %s", hook, lines)
				}
				if len(b.store.held) != 1 {
					t.Fatalf("%s: told %d times", hook, len(b.store.held))
				}
				text := b.store.held[0].Row.Message.Content
				if !strings.Contains(text, "`harness plugin grant budget "+string(row.lacks)+"`") || strings.Contains(text, "/stop") == row.answered {
					t.Errorf("%s: %s", hook, text)
				}
			})
		}
	}
}

// A run that is stopped while it waits for a grant does not wait for that of
// OnPipelineComplete, which is told of its end.
func TestTheEndOfAFailedAttemptWaitsForNoGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("budget")
		info := &b.plugins[0].info
		info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeInvoke: pluginsdk.FailClosed, pluginsdk.HookPipelineComplete: pluginsdk.FailClosed}
		info.Granted = []pluginsdk.Capability{pluginsdk.CapTurnsDecide}
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { stop(pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by Ann")) })
		if _, err := b.line.Handle(t.Context(), ctx, b.claim); err != nil || b.store.finishes[0].State != pluginsdk.RunCancelled {
			t.Errorf("%v, %+v", err, b.store.finishes)
		}
	})
}
