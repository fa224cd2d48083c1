package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// trap is a fault of the first n times that something of the name is done.
type trap struct {
	mu      sync.Mutex
	name    string
	n       int
	sprung  int
	instead error // nil: it panics
}

func (p *trap) step(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != p.name || p.sprung == p.n {
		return nil
	}
	p.sprung++
	if p.instead == nil {
		panic("a bug")
	}
	return p.instead
}

func (p *trap) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sprung
}

func (p *trap) set(f *fixture) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.fault = p.step
}

// wait returns once all runs are final, however long they have to wait.
func (f *fixture) wait(t *testing.T) {
	t.Helper()
	f.store.until(t, "the end of all runs", f.store.allFinal)
	synctest.Wait()
}

func (f *fixture) ends() string {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	var ends []string
	for _, run := range f.store.runs {
		ends = append(ends, f.store.contents[run.ID]+" "+string(run.State))
	}
	return strings.Join(ends, ", ")
}

// A bug that a worker meets costs nobody the daemon, and neither its thread nor
// its place: what waits is answered in its turn, the run itself as well. The first
// run is executed where its message was accepted, the others by the worker.
func TestAPanicOfAWorkerHoldsNothingUp(t *testing.T) {
	for _, where := range []string{"claim", "claimed", "retry", "fail", string(pluginsdk.EventPipelineRetry)} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, Config{Slots: 1})
				f.line.handle = func(_ context.Context, claim ledger.Claim) error {
					switch {
					case claim.Message.Content == "flaky" && claim.Run.Attempt == 1:
						return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
					case claim.Message.Content == "hopeless":
						return errors.New("401")
					}
					return nil
				}
				trap := trap{name: where, n: 1}
				trap.set(f)
				f.begin(t)
				for n, content := range []string{"hopeless", "flaky", "hopeless", "fine"} {
					f.submit(t, "T", string(rune('a'+n)), content)
				}
				f.submit(t, "T2", "other", "other")
				f.wait(t)
				if want := "hopeless failed, flaky succeeded, hopeless failed, fine succeeded, other succeeded"; f.ends() != want {
					t.Errorf("%s, want %s", f.ends(), want)
				}
				if trap.times() != 1 || !f.places.TryTake(int(people)) || f.lanes.Len() != 0 {
					t.Errorf("panicked %d times; workers left: %d", trap.times(), f.lanes.Len())
				}
			})
		})
	}
}

// A worker that panics in every round leaves the processor, and the other
// threads, their due.
func TestAWorkerThatAlwaysPanicsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{Slots: 1})
		trap := trap{name: "claim", n: 1 << 30}
		f.submit(t, "T", "1", "x")
		trap.set(f)
		f.begin(t)
		<-time.After(time.Minute)
		if n := trap.times(); n < 30 || n > 70 {
			t.Errorf("%d rounds in a minute", n)
		}
	})
}

// A bug in putting a message into the turn costs that message its place in the
// turn, and no more.
func TestAPanicOfSteering(t *testing.T) {
	f := newFixture(t, Config{})
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	f.line.handle = func(context.Context, ledger.Claim) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	f.store.threads["P"] = pluginsdk.Thread{ID: "P", BusyMode: pluginsdk.BusySteer}
	trap := trap{name: "steer", n: 1}
	trap.set(f)
	f.begin(t)
	f.submit(t, "", "1", "first")
	<-entered
	f.submit(t, "", "2", "second")
	<-f.line.steers
	close(leave)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if want := "first succeeded, second succeeded"; f.ends() != want {
		t.Errorf("%s, want %s", f.ends(), want)
	}
}

// What nobody announced is found also after the search for it has panicked.
func TestAPanicOfTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{Sweep: time.Second})
		f.begin(t)
		trap := trap{name: "recover", n: 1}
		trap.set(f)
		f.store.mu.Lock()
		f.store.contents["R"] = "x"
		f.store.runs = append(f.store.runs, &ledger.Run{Run: pluginsdk.Run{ID: "R", ThreadID: "T", MessageID: 1, State: pluginsdk.RunQueued}})
		f.store.mu.Unlock()
		f.store.until(t, "the end of the run", f.store.allFinal)
		if trap.times() != 1 {
			t.Error("the sweep did not panic")
		}
	})
}

// While the end of a run cannot be stored, other threads have its place.
func TestAnEndThatCannotBeStoredTakesNobodysSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{Slots: 1})
		f.line.handle = func(_ context.Context, claim ledger.Claim) error {
			if claim.Message.Content == "hopeless" {
				return errors.New("401")
			}
			return nil
		}
		trap := trap{name: "fail", n: 3, instead: errors.New("constraint failed")}
		trap.set(f)
		f.begin(t)
		f.submit(t, "T", "1", "hopeless")
		f.submit(t, "T2", "2", "other")
		f.submit(t, "T", "3", "next")
		f.store.until(t, "the end of the other thread's run", func() bool { return f.store.runs[1].State.Final() })
		if state := f.store.runs[0].State; state != pluginsdk.RunRunning {
			t.Errorf("meanwhile the first run is %s", state)
		}
		f.wait(t)
		if want := "hopeless failed, other succeeded, next succeeded"; f.ends() != want {
			t.Errorf("%s, want %s", f.ends(), want)
		}
		if !f.places.TryTake(int(people)) || f.places.TryTake(int(people)) {
			t.Error("there is not one place, as before")
		}
	})
}

// An attempt whose retry the database will not have, however often it is asked,
// is the run's last one: its thread goes on, and the person is told.
func TestARetryThatCannotBeStoredFailsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		f.line.handle = func(_ context.Context, claim ledger.Claim) error {
			if claim.Message.Content == "flaky" {
				return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
			}
			return nil
		}
		trap := trap{name: "retry", n: 1 << 30, instead: errors.New("constraint failed")}
		trap.set(f)
		f.begin(t)
		f.submit(t, "T", "1", "flaky")
		f.submit(t, "T", "2", "fine")
		f.wait(t)
		if want := "flaky failed, fine succeeded"; f.ends() != want {
			t.Errorf("%s, want %s", f.ends(), want)
		}
		if len(f.line.failed) != 1 || f.line.failed[0].Error() != "529" || slices.Contains(f.events.kinds, pluginsdk.EventPipelineRetry) {
			t.Errorf("failed with %v; published %v", f.line.failed, f.events.kinds)
		}
	})
}

// Nobody is told that a run is tried again here which somebody else has taken.
func TestARunThatWasTakenOverIsNotToldToBeRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		f.line.handle = func(context.Context, ledger.Claim) error {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
		}
		trap := trap{name: "retry", n: 1 << 30, instead: pluginsdk.Errorf(pluginsdk.CodeStale, "taken over")}
		trap.set(f)
		f.begin(t)
		f.submit(t, "T", "1", "flaky")
		synctest.Wait()
		if trap.times() != 1 || slices.Contains(f.events.kinds, pluginsdk.EventPipelineRetry) {
			t.Errorf("the retry was refused %d times; published %v", trap.times(), f.events.kinds)
		}
	})
}

// Effects of a hook that cannot be stored cost the run their rows, and not the
// attempts that it has left, nor the record of its calls.
func TestEffectsThatCannotBeStoredDoNotEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{})
		f.line.left.Hooks = []pluginsdk.HookCall{{Plugin: "activity"}}
		f.line.left.Effects = []ledger.Effect{{Plugin: "activity", Key: "complete:1"}}
		f.line.handle = func(_ context.Context, claim ledger.Claim) error {
			if claim.Run.Attempt == 1 {
				return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
			}
			return nil
		}
		trap := trap{name: "retry with effects", n: 1 << 30, instead: errors.New("constraint failed")}
		trap.set(f)
		f.begin(t)
		f.submit(t, "T", "1", "flaky")
		f.wait(t)
		if ends := f.store.ends; len(ends) == 0 || len(ends[len(ends)-1].Hooks) != 1 {
			t.Errorf("ends of attempts: %+v", ends)
		}
		if f.ends() != "flaky succeeded" || !slices.Contains(f.events.kinds, pluginsdk.EventPipelineRetry) {
			t.Errorf("%s; published %v", f.ends(), f.events.kinds)
		}
	})
}
