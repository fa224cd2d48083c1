package inbox

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func parked() error {
	return &pluginsdk.Failure{Kind: pluginsdk.FailureParked, Message: "it waits for an answer", Retryable: true}
}

// A run that waits for people without a process holds its thread, and is ended as one at
// work is: with what it has asked people, and the turns that it has asked for, which may
// wait for people too. What waits behind it goes on.
func TestAParkedRunIsEnded(t *testing.T) {
	for how, row := range map[string]struct {
		busy   pluginsdk.BusyMode
		end    func(f *fixture, runID string) error
		moment bool // the message comes in the moment in which the run is parked
	}{
		"its thread is stopped": {end: func(f *fixture, _ string) error {
			stopped, err := f.StopThread(context.Background(), "T", pluginsdk.KeepQueue, ledger.By{Author: "Ann"})
			if err == nil && stopped.RunID == "" {
				err = errors.New("nothing was stopped")
			}
			return err
		}},
		"it is cancelled": {end: func(f *fixture, runID string) error {
			_, err := f.Cancel(context.Background(), runID, ledger.By{Author: "Ann"})
			return err
		}},
		"a message takes its place":                         {busy: pluginsdk.BusyInterrupt},
		"a message takes its place as soon as it is parked": {busy: pluginsdk.BusyInterrupt, moment: true},
	} {
		t.Run(how, func(t *testing.T) {
			f := newFixture(t, Config{Slots: 5})
			f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: row.busy}
			f.line.handle = func(_ context.Context, claim ledger.Claim) error {
				switch {
				case claim.Message.Content == "behind":
					return nil
				case claim.Run.Kind == pluginsdk.RunMessage:
					f.ask(t, pluginsdk.StartTurnRequest{ThreadID: "T2", Prompt: "ask people too", Session: pluginsdk.SessionThread}, claim.Run.ID)
				}
				return parked()
			}
			var behind pluginsdk.Accepted
			came, turn := make(chan struct{}), make(chan struct{})
			if row.moment {
				f.store.onPark = func(runID string) {
					if run, err := f.store.Run(context.Background(), runID); err != nil || run.ThreadID != "T" {
						close(turn)
						return
					}
					<-turn
					behind = f.submit(t, "T", "2", "behind")
					close(came)
				}
			}
			f.begin(t)
			asking := f.submit(t, "T", "1", "ask people")
			waiting := func() (ids []string) {
				for _, run := range f.store.runs {
					if run.State == pluginsdk.RunWaiting {
						ids = append(ids, run.ID)
					}
				}
				return ids
			}
			if row.moment {
				<-came
			} else {
				f.store.until(t, "both to wait", func() bool { return len(waiting()) == 2 })
				behind = f.submit(t, "T", "2", "behind")
			}
			if row.end != nil {
				if state := f.state(behind.RunID); state != pluginsdk.RunQueued {
					t.Errorf("what came meanwhile is %s", state)
				}
				if err := row.end(f, asking.RunID); err != nil {
					t.Fatal(err)
				}
			}
			f.store.until(t, "the end of all runs", f.store.allFinal)
			if state := f.state(behind.RunID); state != pluginsdk.RunSucceeded {
				t.Errorf("what came behind it is %s", state)
			}
			f.desk.mu.Lock()
			defer f.desk.mu.Unlock()
			if !slices.Contains(f.desk.over, asking.RunID) || len(f.desk.over) != 2 {
				t.Errorf("taken back is what %q have asked", f.desk.over)
			}
		})
	}
}

// The answer that was there before its run was parked has it go on at once.
func TestAnAnswerComesBeforeTheParking(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.answered.Store(true)
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if len(f.line.order) == 1 {
			return parked()
		}
		return nil
	}
	f.begin(t)
	run := f.submit(t, "T", "1", "ask people")
	f.store.until(t, "its end", f.store.allFinal)
	if state := f.state(run.RunID); state != pluginsdk.RunSucceeded {
		t.Errorf("it is %s", state)
	}
}

// Who waits for people leaves its place to others, and waits for one again.
func TestWhoWaitsForPeopleLeavesItsPlace(t *testing.T) {
	f := newFixture(t, Config{Slots: 1})
	answer, goOn, again := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
		if claim.Thread.ID == "T2" {
			close(answer)
			<-goOn
			return nil
		}
		first, second := f.Rest(claim.Run.ID), f.Rest(claim.Run.ID) // two questions at a time
		<-answer
		short, cancel := context.WithCancel(ctx)
		cancel()
		again <- first(short) // there is no place as yet
		close(goOn)
		again <- errors.Join(first(ctx), second(ctx))
		return nil
	}
	f.begin(t)
	f.submit(t, "T1", "1", "ask people")
	f.submit(t, "T2", "2", "hello")
	if err := <-again; !errors.Is(err, context.Canceled) {
		t.Errorf("it has a place that another one has: %v", err)
	}
	if err := <-again; err != nil {
		t.Error(err)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if err := f.places.Take(t.Context(), int(people)); err != nil {
		t.Fatal(err)
	}
	if f.places.TryTake(int(people)) {
		t.Error("there are more places than before")
	}
	f.places.Free(int(people))
}
