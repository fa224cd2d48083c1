package invoker

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fresh is a request of a run in a session of its own.
func fresh(run, thread, prompt string) ledger.AgentRequest {
	r := request(thread, "", prompt)
	r.RunID, r.Fresh = run, true
	return r
}

// Reviews of one thread neither wait for each other nor for the conversation, whose
// process they leave alone; what is said to one of them, no other hears; and nothing
// is left of them.
func TestFreshTurnsOfOneThreadRunSideBySide(t *testing.T) {
	tools := &fakeTools{}
	a := startAgent(t, "plain", func(c *Config) { c.Tools, c.Private = tools, t.TempDir() })
	first := a.Invoke(t.Context(), talk("thread", "", "say one"), nil)
	wantText(t, first, "one")
	const turns = 4
	results, said := make([]pluginsdk.InvokeResult, turns), make(chan struct{}, turns)
	done := make(chan int, turns)
	for n := range turns {
		go func() {
			results[n] = a.Invoke(t.Context(), fresh(fmt.Sprint("R", n), "thread", "taken I heard"), func(event pluginsdk.StreamEvent) {
				if event.Text == "working" {
					said <- struct{}{}
				}
			})
			done <- n
		}()
	}
	for range turns {
		<-said // all of them run, of which each waits to be told something
	}
	for n := range turns {
		if !a.Steer(fmt.Sprint("R", n), fmt.Sprint("word ", n)) {
			t.Errorf("turn %d is not reached by its run", n)
		}
	}
	for range turns {
		n := <-done
		wantText(t, results[n], fmt.Sprint("I heard word ", n))
	}
	if left := a.pool.sessions(); len(left) != 1 || !a.Holds("thread", first.SessionID) {
		t.Errorf("%d processes are left, or the conversation's is not among them", len(left))
	}
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a session that nothing is left of: %v", closed)
	}
	for _, result := range results {
		if a.Holds("thread", result.SessionID) {
			t.Error("a fresh session is held")
		}
	}
	kept := 0
	for _, args := range a.starts() {
		if !slices.Contains(args, "--no-session-persistence") {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d sessions were kept, want the conversation's", kept)
	}
	tools.mu.Lock()
	defer tools.mu.Unlock()
	for n := range turns {
		if !slices.Contains(tools.lines, fmt.Sprint("begin R", n)) {
			t.Errorf("the tools were not told that the turn of R%d begins: %q", n, tools.lines)
		}
	}
}

func TestAFreshTurnResumesNothing(t *testing.T) {
	r := fresh("R", "thread", "say one")
	r.SessionID, r.Resume = "00000000-0000-4000-8000-000000000000", true
	a := startAgent(t, "plain", nil)
	for name, agent := range map[string]interface {
		Invoke(ctx context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	}{"claude": a.Claude, "demo": NewDemo(DemoConfig{})} {
		if result := agent.Invoke(t.Context(), r, nil); result.Failure == nil || result.Failure.Retryable {
			t.Errorf("%s: %+v", name, result)
		}
	}
	if n := len(a.starts()); n != 0 {
		t.Errorf("%d processes", n)
	}
}
