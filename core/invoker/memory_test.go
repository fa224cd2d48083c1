package invoker

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// sizes says how large each process is: 100, until a test says otherwise.
type sizes struct {
	mu  sync.Mutex
	all int64
}

func (s *sizes) measure(pids []int) map[int]footprint {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int]footprint{}
	for _, pid := range pids {
		found[pid] = footprint{own: s.all, tree: s.all}
	}
	return found
}

func (s *sizes) set(all int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = all
}

// startBudget starts an agent whose processes have 100 bytes each.
func startBudget(t *testing.T, budget int64) (*testAgent, *sizes) {
	t.Helper()
	s := &sizes{all: 100}
	return startAgent(t, "plain", func(c *Config) { c.MemoryBudget, c.measure = budget, s.measure }), s
}

func (a *testAgent) awaitClosed(n int) []string {
	a.t.Helper()
	eventually(a.t, "sessions to be closed", func() bool { return len(a.closedSessions()) >= n })
	return a.closedSessions()
}

func TestMemoryBudgetEndsTheLeastRecentlyUsedIdleSessionBeforeAnotherStarts(t *testing.T) {
	a, _ := startBudget(t, 250)
	one := a.ask("one", "", "say x")
	two := a.ask("two", "", "say x")
	a.ask("one", one.SessionID, "say x")
	three := a.ask("three", "", "say x")
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "two/"+two.SessionID {
		t.Errorf("closed %v", closed)
	}
	if !a.Holds("one", one.SessionID) || !a.Holds("three", three.SessionID) {
		t.Error("a session that fits was ended")
	}
	wantText(t, a.ask("two", two.SessionID, "say back"), "back")
}

func TestMemoryBudgetEndsIdleSessionsWhenATurnHasMadeThemTooMuch(t *testing.T) {
	a, s := startBudget(t, 250)
	one := a.ask("one", "", "say x")
	two := a.ask("two", "", "say x")
	s.set(200)
	wantText(t, a.ask("two", two.SessionID, "say y"), "y")
	if closed := a.awaitClosed(1); closed[0] != "one/"+one.SessionID {
		t.Errorf("closed %v", closed)
	}
	if !a.Holds("two", two.SessionID) {
		t.Error("what fits was ended")
	}
	wantText(t, a.ask("one", one.SessionID, "say back"), "back")
}

func TestMemoryBudgetLeavesBusySessionsAlone(t *testing.T) {
	a, s := startBudget(t, 250)
	idle := a.ask("idle", "", "say x")
	end := blockedTurn(t, a, "busy", "")
	s.set(1000)
	a.trim()
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "idle/"+idle.SessionID {
		t.Errorf("closed %v", closed)
	}
	_ = wantFailure(t, end(), pluginsdk.FailureInterrupted, false)
	if n := len(a.starts()); n != 2 {
		t.Errorf("%d processes", n)
	}
}

func TestMemoryBudgetMakesATurnWaitForBusySessions(t *testing.T) {
	a, _ := startBudget(t, 150)
	first := a.ask("busy", "", "say x")
	end := blockedTurn(t, a, "busy", first.SessionID)
	eventually(t, "the turn to run", func() bool {
		a.pool.mu.Lock()
		defer a.pool.mu.Unlock()
		return a.pool.oldestFree() == nil
	})
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.ask("waits", "", "say x") }()
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan pluginsdk.InvokeResult, 1)
	go func() { gaveUp <- a.Invoke(ctx, request("gives up", "", "say x"), nil) }()
	cancel()
	_ = wantFailure(t, <-gaveUp, pluginsdk.FailureInterrupted, false)
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes were started although the second does not fit", n)
	}
	end()
	wantText(t, <-results, "x")
	a.awaitClosed(1)
}

func TestMemoryBudgetSmallerThanOneProcessStillRunsOneAtATime(t *testing.T) {
	a, _ := startBudget(t, 10)
	var turns sync.WaitGroup
	for range 4 {
		turns.Go(func() {
			if result := a.ask(uuid.NewString(), "", "say x"); result.Text != "x" {
				t.Errorf("result %+v", result)
			}
		})
	}
	turns.Wait()
	a.awaitClosed(4)
	wantText(t, a.ask("again", "", "say y"), "y")
}

func TestMemoryBudgetIsIgnoredWithAWordWhereMemoryCannotBeMeasured(t *testing.T) {
	var log bytes.Buffer
	a := startAgent(t, "plain", func(c *Config) {
		c.MemoryBudget = 1
		c.measure = func([]int) map[int]footprint { return nil }
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	first := a.ask("one", "", "say x")
	a.ask("two", "", "say x")
	if !a.Holds("one", first.SessionID) {
		t.Error("a session was ended")
	}
	if n := strings.Count(log.String(), "memory budget is ignored"); n != 1 {
		t.Errorf("%d lines say so:\n%s", n, log.String())
	}
}

func TestMemoryOfAProcessCountsItsDescendants(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is measured through /proc, on Linux only")
	}
	a := startAgent(t, "plain", nil)
	a.ask("thread", "", "say x")
	pid := a.pool.sessions()[0].process.cmd.Process.Pid
	sizes := footprints([]int{pid, os.Getpid()})
	own, cli := sizes[os.Getpid()], sizes[pid]
	if cli.own < 1<<20 || cli.tree != cli.own {
		t.Errorf("the CLI: %+v", cli)
	}
	if own.own < 1<<20 || own.tree < own.own+cli.own/2 {
		t.Errorf("this process %+v does not count the CLI %+v", own, cli)
	}
}

func TestRealMemoryBudgetHoldsOneProcess(t *testing.T) {
	a := startReal(t, func(c *Config) { c.MemoryBudget = 64 << 20 })
	first := a.Invoke(t.Context(), talk("thread", "", "say:one"), nil)
	wantText(t, first, "one")
	a.awaitClosed(1)
	second := a.Invoke(t.Context(), talk("thread", first.SessionID, "say:two"), nil)
	wantText(t, second, "two")
	if !strings.Contains(a.remembers(), "say:one") {
		t.Error("the session has forgotten its first turn")
	}
}
