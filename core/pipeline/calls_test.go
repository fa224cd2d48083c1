package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// told is the record of calls, one a line.
func told(calls []pluginsdk.HookCall) string {
	lines := make([]string, len(calls))
	for i, c := range calls {
		lines[i] = strings.TrimSpace(fmt.Sprintf("%d %s %s %s %s %s", c.Attempt, c.Hook, c.Plugin, c.State, c.Duration, c.Error))
	}
	return strings.Join(lines, "\n")
}

// Who looks at a run that was slow or odd must see which plugin it was, as soon as the
// run's next commit.
func TestARunTellsItsHookCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("slow", "broken", "down")
		for _, plugin := range b.plugins {
			plugin.info.Manifest.Hooks = []pluginsdk.Hook{pluginsdk.HookMessage, pluginsdk.HookAfterInvoke}
		}
		b.plugins[0].notify = func(pluginsdk.Hook) error {
			<-time.After(2 * time.Second)
			return nil
		}
		b.plugins[1].notify = func(pluginsdk.Hook) error { return errHook }
		b.plugins[2].down = true
		began := time.Now().UTC()
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		before := "1 OnMessage slow answered 2s\n1 OnMessage broken failed 0s broken\n" +
			"1 OnMessage down passed_over 0s the plugin down is backoff"
		after := before + strings.ReplaceAll("\n"+before, "OnMessage", "OnAfterInvoke")
		for commit, row := range map[string]struct {
			calls []pluginsdk.HookCall
			want  string
		}{
			"5a": {b.store.intents[0].Hooks, before}, "5b": {b.store.results[0].Hooks, before}, "11": {b.store.finishes[0].Hooks, after},
		} {
			if got := told(row.calls); got != row.want {
				t.Errorf("%s stores\n%s\nwant\n%s", commit, got, row.want)
			}
		}
		calls := b.store.finishes[0].Hooks
		if !calls[0].StartedAt.Equal(began) || !calls[1].StartedAt.Equal(began.Add(2*time.Second)) {
			t.Errorf("begun at %s and %s, the run at %s", calls[0].StartedAt, calls[1].StartedAt, began)
		}
	})
}

// What a gate says is not a failure of its plugin's, and what must not be passed over is
// not said to have been.
func TestHowACallIsSaidToHaveEnded(t *testing.T) {
	for name, row := range map[string]struct {
		breakIt func(*fakePlugin)
		want    string
	}{
		"denies": {func(p *fakePlugin) {
			p.gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				return &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "over budget"}, nil
			}
		}, "1 OnBeforeRun a denied 0s over budget"},
		"cannot decide": {func(p *fakePlugin) {
			p.gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return nil, errHook }
		}, "1 OnBeforeRun a failed 0s broken"},
		"down, closed": {func(p *fakePlugin) { p.down = true }, "1 OnBeforeRun a failed 0s the plugin a is backoff"},
		"down, open": {func(p *fakePlugin) {
			p.down, p.info.OnFailure = true, map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeRun: pluginsdk.FailOpen}
		}, "1 OnBeforeRun a passed_over 0s the plugin a is backoff"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench("a")
			b.answers(pluginsdk.HookBeforeRun)
			row.breakIt(b.plugins[0])
			left, _ := b.line.Handle(t.Context(), t.Context(), b.claim)
			if len(b.store.finishes) > 0 {
				left.Hooks = b.store.finishes[0].Hooks
			}
			if got := told(left.Hooks); got != row.want {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

// An attempt that fails leaves its calls to the commit of its end, and those of the next
// one follow them: also when the run is given up instead.
func TestCallsOfEarlierAttemptsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("a")
		b.answers(pluginsdk.HookMessage, pluginsdk.HookCommand)
		b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "go"}}
		b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "overloaded", Retryable: true})
		left, err := b.line.Handle(t.Context(), t.Context(), b.claim)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || told(left.Hooks) != "1 OnMessage a answered 0s" {
			t.Errorf("left %q, %v", told(left.Hooks), err)
		}
		if err := b.line.Fail(t.Context(), b.claim, err, left); err != nil {
			t.Fatal(err)
		}
		if got := told(b.store.finishes[0].Hooks); got != "1 OnMessage a answered 0s" {
			t.Errorf("given up: %q", got)
		}
		b.claim.Run.Attempt, b.claim.Run.Hooks = 2, left.Hooks
		b.agent.answer = says("/go")
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		want := "1 OnMessage a answered 0s\n2 OnMessage a answered 0s\n2 OnCommand a answered 0s"
		if got := told(b.store.commits[0].Hooks); got != want {
			t.Errorf("8 stores\n%s", got)
		}
		if got := told(b.store.finishes[1].Hooks); got != want {
			t.Errorf("11 stores\n%s", got)
		}
	})
}

// A message that is put into the running turn is told to plugins beside it: those calls
// are the run's, too.
func TestCallsBesideTheTurnAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("a")
		b.answers(pluginsdk.HookMessage)
		b.duringTurn(func() {
			b.store.waiting = waiting(11)
			b.line.Steer(context.Background(), "R")
		})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if got := told(b.store.finishes[0].Hooks); got != "1 OnMessage a answered 0s\n1 OnMessage a answered 0s" {
			t.Errorf("%s", got)
		}
	})
}

func TestARunWithoutPluginsStoresNoCalls(t *testing.T) {
	b := newBench()
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if b.store.intents[0].Hooks != nil || b.store.results[0].Hooks != nil || b.store.finishes[0].Hooks != nil {
		t.Error("a commit has calls")
	}
}

// Calls go on beside each other; a timeline begins with what began first.
func TestCallsAreInTheOrderInWhichTheyBegan(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c calls
	for _, call := range []pluginsdk.HookCall{
		{Plugin: "d", Attempt: 1, StartedAt: at.Add(9 * time.Second)}, // by a clock that was set back since
		{Plugin: "b", Attempt: 2, StartedAt: at.Add(time.Second)},
		{Plugin: "c", Attempt: 2, StartedAt: at.Add(2 * time.Second)},
		{Plugin: "a", Attempt: 2, StartedAt: at},
	} {
		c.add(call)
	}
	var got string
	for _, call := range c.all() {
		got += call.Plugin
	}
	if got != "dabc" {
		t.Errorf("%s", got)
	}
}

// However much a run asks, and however long plugins talk, its row stays small; what is
// left out is counted over all attempts.
func TestCallsOfARunAreBounded(t *testing.T) {
	for name, row := range map[string]struct {
		words string
		kept  int
	}{
		"many":     {"", maxCalls},
		"long":     {strings.Repeat("x", 100), maxCallBytes / (callBytes + len("activity") + 100)},
		"repeated": {strings.Repeat("x", 20), maxCalls},
	} {
		var stored []pluginsdk.HookCall
		for attempt := 1; attempt <= 3; attempt++ {
			var c calls
			c.takeUp(stored)
			for range 100 {
				c.add(pluginsdk.HookCall{
					Hook: pluginsdk.HookPipelineComplete, Plugin: "activity", Attempt: attempt, StartedAt: time.Now().UTC().Truncate(time.Microsecond),
					Duration: time.Second, State: pluginsdk.CallPassedOver, Error: row.words,
				})
			}
			stored = c.all()
		}
		last := len(stored) - 1
		if last != row.kept || stored[last] != (pluginsdk.HookCall{Omitted: 300 - row.kept}) {
			t.Errorf("%s: %d are kept, the last %+v", name, last, stored[last])
		}
		column, err := json.Marshal(stored)
		if err != nil || len(column) > maxCallBytes*5/4 {
			t.Errorf("%s: %d bytes, %v", name, len(column), err)
		}
	}
}

// A gate is asked about a run, and not about what that has come to: it is large.
func TestAGateGetsTheRunWithoutItsCalls(t *testing.T) {
	run := bare(pluginsdk.Run{ID: "R", Hooks: []pluginsdk.HookCall{{Plugin: "a"}}})
	if run.Hooks != nil {
		t.Errorf("%+v", run)
	}
}
