package invoker

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Of processes that make way for others. One that has ended its turn completes
// the transcript as it ends: a process that resumes the session earlier has
// forgotten the last turn, and two that write it spoil it.

// stayingSession runs a turn for the thread "one" whose process ends only when
// told to, and one for "two".
func stayingSession(a *testAgent) (id string, own *session) {
	a.t.Helper()
	first := a.ask("one", "", "stay x")
	wantText(a.t, first, "x")
	own = a.pool.sessions()[0]
	wantText(a.t, a.ask("two", "", "say x"), "x")
	return first.SessionID, own
}

// awaitEnding waits until a process has been asked to end.
func awaitEnding(t testing.TB, p *process) {
	t.Helper()
	eventually(t, "the process to be asked to end", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.closing
	})
}

// tellEnd lets a process end that was to stay.
func tellEnd(t testing.TB, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Error(err)
	}
}

// askWaiting runs a turn that is to wait, and returns once it does.
func askWaiting(a *testAgent, thread, session, prompt string) <-chan pluginsdk.InvokeResult {
	a.t.Helper()
	next := make(chan pluginsdk.InvokeResult, 1)
	go func() { next <- a.ask(thread, session, prompt) }()
	eventually(a.t, "the next turn to wait", func() bool { return a.waiting() == 1 || len(next) > 0 })
	if len(next) > 0 {
		a.t.Error("the session went on while its process was ending")
	}
	return next
}

func TestASessionGoesOnOnlyWhenItsProcessHasEnded(t *testing.T) {
	for name, replace := range map[string]func(a *testAgent, id string){
		"evicted for another thread": func(a *testAgent, _ string) {
			wantText(a.t, a.ask("three", "", "say y"), "y")
		},
		"a new session of its thread": func(a *testAgent, _ string) {
			wantText(a.t, a.ask("one", "", "say y"), "y")
		},
		"other options": func(a *testAgent, id string) {
			r := request("one", id, "say y")
			r.Model = "another"
			wantText(a.t, a.Invoke(context.Background(), r, nil), "y")
		},
		"idle": func(a *testAgent, _ string) {
			a.reapOnce(time.Now().Add(2 * a.config.IdleTimeout))
		},
		"a failed turn": func(a *testAgent, id string) {
			ctx, cancel := context.WithCancel(context.Background())
			r := request("one", id, "ignore")
			result := a.Invoke(ctx, r, func(pluginsdk.StreamEvent) { cancel() })
			_ = wantFailure(a.t, result, pluginsdk.FailureInterrupted, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAgent(t, "plain", func(c *Config) {
				c.MaxSessions = 2
				c.InterruptGrace = 20 * time.Millisecond
			})
			id, own := stayingSession(a)
			replaced := make(chan struct{})
			go func() {
				defer close(replaced)
				replace(a, id)
			}()
			awaitEnding(t, own.process)
			if a.Holds("one", id) {
				t.Error("a process that is ending counts as one that goes on")
			}
			next := askWaiting(a, "next", id, "say z")
			tellEnd(t, own.process)
			wantText(t, <-next, "z")
			<-replaced
			// A crash from here on needs its recap.
			if slices.Contains(a.closedSessions(), "one/"+id) {
				t.Error("OnClosed was called for a session that goes on")
			}
		})
	}
}

func TestASessionGoesOnOnlyWhenItsEndIsNoted(t *testing.T) {
	// Noted later, the session would count as closed while a process has it.
	noting, noted := make(chan string, 2), make(chan struct{}) // at the end, "one" is closed again
	a := startAgent(t, "plain", func(c *Config) {
		c.MaxSessions = 2
		c.OnClosed = func(threadID, sessionID string) {
			if threadID == "one" {
				noting <- sessionID
				<-noted
			}
		}
	})
	first := a.ask("one", "", "say x")
	a.ask("two", "", "say x")
	evicting := make(chan pluginsdk.InvokeResult, 1)
	go func() { evicting <- a.ask("three", "", "say y") }()
	if got := <-noting; got != first.SessionID {
		t.Errorf("session %s was closed, want %s", got, first.SessionID)
	}
	next := askWaiting(a, "one", first.SessionID, "say z")
	close(noted)
	wantText(t, <-next, "z")
	wantText(t, <-evicting, "y")
}

func TestAProcessChosenToBeEndedIsNotHeld(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("one", "", "say x")
	other := request("one", first.SessionID, "say y")
	other.Model = "another"
	w, failure := a.config.settle(other)
	if failure != nil {
		t.Fatal(failure.Message)
	}
	taken, err := a.pool.acquire(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if a.Holds("one", first.SessionID) {
		t.Error("a process whose options do not fit counts as one that goes on")
	}
	a.pool.release(taken) // as by a turn that is stopped before it begins
	if !a.Holds("one", first.SessionID) {
		t.Error("the process is still there, and not held")
	}
	idle := a.pool.takeIdle(time.Now())
	if a.Holds("one", first.SessionID) {
		t.Error("an idle process that is to be ended counts as one that goes on")
	}
	a.endPlaces(idle)
}

func TestATurnThatGivesUpLeavesThePlaceAsItWas(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	first := a.ask("one", "", "say x")
	w, failure := a.config.settle(request("two", "", "say y"))
	if failure != nil {
		t.Fatal(failure.Message)
	}
	taken, err := a.pool.acquire(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if a.Holds("one", first.SessionID) || a.Holds("two", first.SessionID) {
		t.Error("an evicted process counts as one that goes on")
	}
	a.pool.release(taken)
	if !a.Holds("one", first.SessionID) {
		t.Error("the thread has lost a process that was not ended")
	}
}

func TestStopKillsWhatIsEndingAlready(t *testing.T) {
	a := startAgent(t, "plain", nil)
	wantText(t, a.ask("one", "", "stay x"), "x")
	own := a.pool.sessions()[0]
	a.reaper.Go(func() { a.reapOnce(time.Now().Add(2 * a.config.IdleTimeout)) })
	awaitEnding(t, own.process)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Stop(ctx); err == nil {
		t.Error("Stop does not say that it killed a process")
	}
	if !own.process.gone() {
		t.Error("a process that was ending outlives Stop")
		tellEnd(t, own.process)
	}
	a.reaper.Wait()
}
