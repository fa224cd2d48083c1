package inbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func (f *fixture) ask(t *testing.T, request pluginsdk.StartTurnRequest, cause string) string {
	t.Helper()
	accepted, err := f.StartTurn(t.Context(), "reviewer", request, cause)
	if err != nil {
		t.Fatal(err)
	}
	return accepted.RunID
}

func (f *fixture) state(runID string) pluginsdk.RunState {
	run, err := f.store.Run(context.Background(), runID)
	if err != nil {
		return ""
	}
	return run.State
}

// Turns and tasks without end leave room for who writes, at once; and turns get on
// although people have all the rest.
func TestWhatPluginsStartKeepsNobodyWaiting(t *testing.T) {
	f := newFixture(t, Config{Slots: 5})
	f.store.threads["TASK"] = pluginsdk.Thread{ID: "TASK", Kind: pluginsdk.ThreadTask}
	for n := range 50 {
		id := fmt.Sprint("TASK", n)
		f.store.threads[id] = pluginsdk.Thread{ID: id, Kind: pluginsdk.ThreadTask}
	}
	release, person := make(chan struct{}), make(chan string, 10)
	f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
		if claim.Thread.ID == "P" {
			person <- claim.Run.ID
			return nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}
	f.begin(t)
	for n := range 10 {
		f.ask(t, pluginsdk.StartTurnRequest{Prompt: "turn"}, "")
		for k := range 5 {
			f.submit(t, fmt.Sprint("TASK", 5*n+k), fmt.Sprint("task", n, k), "task")
		}
	}
	for n := range 3 { // one after the other: nothing has ended
		accepted := f.submit(t, "P", fmt.Sprint("mine", n), "hello")
		if got := <-person; got != accepted.RunID {
			t.Fatalf("%s is at work, want %s", got, accepted.RunID)
		}
	}
	close(release)
	f.store.until(t, "the end of all runs", f.store.allFinal)
}

// A run whose tool waits for a turn has a place itself: when all places are such, the
// turn ends with words, and so nobody waits for good.
func TestATurnThatARunWaitsForIsGivenUp(t *testing.T) {
	f := newFixture(t, Config{Slots: 1, TurnPatience: time.Millisecond})
	turn := make(chan string, 1)
	f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
		if claim.Run.Kind == pluginsdk.RunTurn {
			return nil
		}
		id := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "ask another"}, claim.Run.ID)
		turn <- id
		f.store.until(t, "the end of the turn", func() bool {
			for _, run := range f.store.runs {
				if run.ID == id {
					return run.State.Final()
				}
			}
			return false
		})
		return nil
	}
	f.begin(t)
	mine := f.submit(t, "T", "1", "use the tool")
	f.store.until(t, "the end of all runs", func() bool { return len(f.store.runs) == 2 && f.store.allFinal() })
	run, err := f.store.Run(t.Context(), <-turn)
	if err != nil || run.State != pluginsdk.RunFailed || len(run.Error) < 20 {
		t.Errorf("the turn is %s: %q, %v", run.State, run.Error, err)
	}
	if state := f.state(mine.RunID); state != pluginsdk.RunSucceeded {
		t.Errorf("the run is %s", state)
	}
}

// A turn that comes from a run that is over, as a reviewer's does, holds up nobody's
// place: it waits for its own as long as it takes.
func TestATurnOfARunThatIsOverWaits(t *testing.T) {
	f := newFixture(t, Config{Slots: 1, TurnPatience: time.Millisecond})
	at, goOn := make(chan string, 4), make(chan struct{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		at <- claim.Run.ID
		if claim.Run.ThreadID == "T2" {
			<-goOn
		}
		return nil
	}
	f.begin(t)
	over := f.submit(t, "T", "1", "work")
	f.store.until(t, "the end of the run", f.store.allFinal)
	busy := f.submit(t, "T2", "2", "takes its time")
	<-at
	<-at
	turn := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "review"}, over.RunID)
	for range 2 { // the second is begun when the patience with the first is over
		given := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "another"}, busy.RunID) // of one that is at work
		f.store.until(t, "the end of the turn that is waited for", func() bool {
			return slices.ContainsFunc(f.store.runs, func(r *ledger.Run) bool { return r.ID == given && r.State == pluginsdk.RunFailed })
		})
	}
	close(goOn)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if state := f.state(turn); state != pluginsdk.RunSucceeded {
		t.Errorf("the turn is %s", state)
	}
}

// A turn in the session of the very thread whose run asks for it could never begin.
func TestATurnInTheSessionThatIsAtWorkIsRefused(t *testing.T) {
	f := newFixture(t, Config{})
	refused := make(chan error, 1)
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		_, err := f.StartTurn(t.Context(), "reviewer",
			pluginsdk.StartTurnRequest{ThreadID: "T", Session: pluginsdk.SessionThread, Prompt: "sum up"}, claim.Run.ID)
		refused <- err
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "x")
	if err := <-refused; pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("the turn: %v", err)
	}
}

// Who stops a run, or interrupts it with a newer message, stops what it has asked for:
// nothing goes on that costs money and that nobody waits for.
func TestTheTurnsOfARunEndWithIt(t *testing.T) {
	for how, end := range map[string]func(*testing.T, *fixture) error{
		"stopped": func(t *testing.T, f *fixture) error {
			_, err := f.StopThread(t.Context(), "T", pluginsdk.KeepQueue, ledger.By{})
			return err
		},
		"interrupted": func(t *testing.T, f *fixture) error {
			f.submit(t, "T", "2", "something else")
			return nil
		},
	} {
		t.Run(how, func(t *testing.T) {
			f := newFixture(t, Config{Slots: 5})
			f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: pluginsdk.BusyInterrupt}
			turn := make(chan string, 1)
			f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
				switch {
				case claim.Run.Kind == pluginsdk.RunTurn:
					turn <- claim.Run.ID
				case claim.Message.Content == "something else":
					return nil
				default:
					f.ask(t, pluginsdk.StartTurnRequest{Prompt: "ask another"}, claim.Run.ID)
				}
				<-ctx.Done()
				return pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
			}
			f.begin(t)
			f.submit(t, "T", "1", "use the tool")
			id := <-turn
			if err := end(t, f); err != nil {
				t.Fatal(err)
			}
			f.store.until(t, "the end of all runs", f.store.allFinal)
			if state := f.state(id); state != pluginsdk.RunCancelled {
				t.Errorf("the turn is %s", state)
			}
		})
	}
}

// While it is paused nothing begins that a plugin starts, over a restart too, and people
// are answered; then all of it is done.
func TestPause(t *testing.T) {
	f := newFixture(t, Config{Slots: 5, LeverEvery: time.Millisecond})
	f.store.threads["TASK"] = pluginsdk.Thread{ID: "TASK", Kind: pluginsdk.ThreadTask}
	f.store.lever = ledger.Lever{On: true, Who: "ann"}
	f.begin(t)
	turn := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "turn"}, "")
	task := f.submit(t, "TASK", "1", "task")
	cause := f.submit(t, "T1", "2", "hello")
	caused, err := f.Submit(t.Context(), ledger.By{Plugin: "p"}, pluginsdk.Submission{ThreadID: "T2", Source: "p", Key: "3", Content: "more", CauseRunID: cause.RunID})
	if err != nil {
		t.Fatal(err)
	}
	mine := f.submit(t, "T2", "4", "hello")
	within := f.ask(t, pluginsdk.StartTurnRequest{ThreadID: "T3", Session: pluginsdk.SessionThread, Prompt: "sum up"}, "")
	f.store.until(t, "the answers to people", func() bool {
		done := 0
		for _, run := range f.store.runs {
			if run.State.Final() {
				done++
			}
		}
		return done >= 2
	})
	for id, want := range map[string]pluginsdk.RunState{
		turn: pluginsdk.RunQueued, within: pluginsdk.RunQueued, task.RunID: pluginsdk.RunQueued, caused.RunID: pluginsdk.RunQueued,
		cause.RunID: pluginsdk.RunSucceeded, mine.RunID: pluginsdk.RunSucceeded,
	} {
		if got := f.state(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	f.store.mu.Lock()
	f.store.lever = ledger.Lever{}
	f.store.mu.Unlock()
	f.store.until(t, "the end of all runs", f.store.allFinal)
}

// A message cannot be told from what a plugin asked for by giving it once more.
func TestATurnIsNotRetried(t *testing.T) {
	f := newFixture(t, Config{})
	f.line.handle = func(context.Context, ledger.Claim) error { return fmt.Errorf("401") }
	f.begin(t)
	id := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "turn"}, "")
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if _, err := f.Retry(t.Context(), id, ledger.By{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("retried: %v", err)
	}
}
