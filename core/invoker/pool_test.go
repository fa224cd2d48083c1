package invoker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// blockedTurn runs a turn that lasts until the returned function is called,
// and returns once it is running.
func blockedTurn(t *testing.T, a *testAgent, thread, session string) (end func() pluginsdk.InvokeResult) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan pluginsdk.InvokeResult, 1)
	before := len(a.starts())
	go func() { results <- a.Invoke(ctx, request(thread, session, "wait"), nil) }()
	eventually(t, "the turn to run", func() bool { return session != "" || len(a.starts()) > before })
	return func() pluginsdk.InvokeResult {
		cancel()
		return <-results
	}
}

func (a *testAgent) waiting() int {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	return len(a.pool.queue)
}

func TestAWarmProcessIsUsedAgain(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("thread", "", "say one")
	if !a.Holds("thread", first.SessionID) || a.Holds("other", first.SessionID) || a.Holds("thread", "") {
		t.Error("Holds does not tell what is held")
	}
	wantText(t, a.ask("thread", first.SessionID, "say two"), "two")
	if n := len(a.starts()); n != 1 {
		t.Fatalf("%d processes were started for one conversation", n)
	}
}

// An operator sees whether memory is used by turns or by processes that are kept warm.
func TestFiguresTellOfTheProcesses(t *testing.T) {
	a := startAgent(t, "plain", nil)
	told := func() map[string]float64 {
		states := make(map[string]float64)
		for _, sample := range a.Figures()[0].Samples {
			states[sample.Labels["state"]] = sample.Value
		}
		return states
	}
	if got := told(); got["working"] != 0 || got["idle"] != 0 || len(got) != 2 {
		t.Errorf("before the first turn %v", got)
	}
	a.ask("one", "", "say x")
	end := blockedTurn(t, a, "two", "")
	if got := told(); got["working"] != 1 || got["idle"] != 1 {
		t.Errorf("one at work and one warm: %v", got)
	}
	end()
}

func TestOtherOptionsTakeAnotherProcessAfterTheFirstHasEnded(t *testing.T) {
	a := startAgent(t, "plain", nil)
	r := request("thread", "", "say one")
	first := a.Invoke(t.Context(), r, nil)
	r.SessionID, r.Resume, r.Model = first.SessionID, true, "another"
	second := a.Invoke(t.Context(), r, nil)
	wantText(t, second, "one")
	if n := len(a.starts()); n != 2 {
		t.Fatalf("%d processes, want 2", n)
	}
	// The session goes on at once: its transcript is not complete.
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a session that goes on: %v", closed)
	}
}

func TestANewSessionOfAThreadEndsTheOldOneCleanly(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("thread", "", "say one")
	second := a.ask("thread", "", "say two")
	if second.SessionID == first.SessionID {
		t.Fatal("a new session has the old one's id")
	}
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "thread/"+first.SessionID {
		t.Errorf("closed %v", closed)
	}
}

func TestASessionMovesToAnotherThreadWithoutASecondProcess(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("one", "", "say one")
	wantText(t, a.ask("two", first.SessionID, "say two"), "two")
	if !a.Holds("two", first.SessionID) || a.Holds("one", first.SessionID) {
		t.Error("the session is held for the wrong thread")
	}
}

func TestATurnOfNoThreadLeavesNoProcess(t *testing.T) {
	a := startAgent(t, "plain", nil)
	wantText(t, a.ask("", "", "say one"), "one")
	a.noProcesses()
}

func TestTheLeastRecentlyUsedIdleProcessMakesRoom(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 2 })
	one := a.ask("one", "", "say x")
	two := a.ask("two", "", "say x")
	a.ask("one", one.SessionID, "say x")
	three := a.ask("three", "", "say x")
	if !a.Holds("one", one.SessionID) || a.Holds("two", two.SessionID) || !a.Holds("three", three.SessionID) {
		t.Error("the wrong process made room")
	}
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "two/"+two.SessionID {
		t.Errorf("closed %v", closed)
	}
}

func TestABusyProcessIsNeverEvicted(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	end := blockedTurn(t, a, "busy", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.Invoke(ctx, request("waiter", "", "say x"), nil) }()
	eventually(t, "the second turn to wait", func() bool { return a.waiting() == 1 })
	cancel(errors.New("gave up"))
	failure := wantFailure(t, <-results, pluginsdk.FailureInterrupted, false)
	if failure.Message != "gave up" {
		t.Errorf("message %q", failure.Message)
	}
	interrupted := end()
	if !a.Holds("busy", interrupted.SessionID) {
		t.Error("the busy process was ended for one that waited")
	}
}

func TestWhoWaitsIsServedInOrder(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	end := blockedTurn(t, a, "busy", "")
	var mu sync.Mutex
	var order []string
	var turns sync.WaitGroup
	for i, thread := range []string{"a", "b", "c", "d"} {
		turns.Go(func() {
			a.Invoke(context.Background(), request(thread, "", "say x"), func(event pluginsdk.StreamEvent) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, thread)
			})
		})
		eventually(t, "the turn to wait", func() bool { return a.waiting() == i+1 })
	}
	end()
	turns.Wait()
	if got := order[0] + order[1] + order[2] + order[3]; got != "abcd" {
		t.Errorf("served in the order %s", got)
	}
}

func TestWhoWaitsForAThreadDoesNotHoldUpOthers(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 2 })
	end := blockedTurn(t, a, "busy", "")
	next := make(chan pluginsdk.InvokeResult, 1)
	go func() { next <- a.ask("busy", "", "say x") }()
	eventually(t, "the thread's next turn to wait", func() bool { return a.waiting() == 1 })
	// The newcomer is behind it in the queue, and there is room.
	wantText(t, a.ask("newcomer", "", "say y"), "y")
	end()
	wantText(t, <-next, "x")
}

func TestTurnsOfOneSessionFollowEachOther(t *testing.T) {
	// noOverlap, at the end of the test, is what would fail.
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 3 })
	id := uuid.NewString()
	var turns sync.WaitGroup
	for i := range 12 {
		turns.Go(func() {
			r := ledger.AgentRequest{ThreadID: "thread", SessionID: id, Prompt: "say x"}
			if i%3 == 0 {
				r.Model = "another"
			}
			if result := a.Invoke(context.Background(), r, nil); result.Failure != nil {
				t.Errorf("turn %d: %s", i, result.Failure.Message)
			}
		})
	}
	turns.Wait()
}

func TestManyThreadsShareFewPlaces(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 3 })
	var turns sync.WaitGroup
	for range 15 {
		turns.Go(func() {
			thread := uuid.NewString()
			session := ""
			for range 3 {
				result := a.ask(thread, session, "say x")
				if result.Failure != nil {
					t.Errorf("%s: %s", result.Failure.Kind, result.Failure.Message)
					return
				}
				session = result.SessionID
				if n := len(a.pool.sessions()); n > 3 {
					t.Errorf("%d processes", n)
				}
			}
		})
	}
	turns.Wait()
}

func TestIdleProcessesAreEnded(t *testing.T) {
	a := startAgent(t, "plain", nil)
	idle := a.ask("idle", "", "say x")
	end := blockedTurn(t, a, "busy", "")
	a.reapOnce(time.Now().Add(a.config.IdleTimeout / 2))
	if !a.Holds("idle", idle.SessionID) {
		t.Error("a process was ended before its time")
	}
	a.reapOnce(time.Now().Add(2 * a.config.IdleTimeout))
	if a.Holds("idle", idle.SessionID) {
		t.Error("an idle process is kept")
	}
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "idle/"+idle.SessionID {
		t.Errorf("closed %v", closed)
	}
	if busy := end(); !a.Holds("busy", busy.SessionID) {
		t.Error("a busy process was ended as idle")
	}
}
