package pluginhost

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fate is what becomes of bringing up a version.
type fate string

const (
	comesUp   fate = "comes up"
	isSlow    fate = "comes up after a while"
	hangs     fate = "never comes up"
	fails     fate = "fails to be activated"
	isRefused fate = "may not be started"
	panics    fate = "meets a bug"
)

// step is one thing that happens to a plugin.
type step string

const (
	upgrades step = "the row has another version"
	waits    step = "time goes by"
	crashes  step = "what serves ends by itself"
	errs     step = "what serves is at fault"
	trips    step = "the supervisor meets a bug"
	confines step = "somebody puts it in quarantine"
	frees    step = "somebody lets it out of quarantine"
	losesDB  step = "the database goes away"
	hasDB    step = "the database is back"
	calls    step = "a run calls it"
	lags     step = "a reading of the registry takes a while"
)

// story is what happens to a plugin, and how each of its starts ends; after those, they
// succeed.
type story struct {
	exclusive bool
	steps     []step
	fates     []fate
}

// Whatever happens to a plugin, in whatever order: no more than two of its processes are
// begun or serve at a time; of an exclusive one no two are ever active; it is started for
// a reason, and never in quarantine; no call goes to what does not serve; and it ends
// when it is told to, with all that was begun.
func TestAPluginIsKeptWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := story{
			exclusive: rapid.Bool().Draw(rt, "exclusive"),
			steps: rapid.SliceOfN(rapid.SampledFrom([]step{
				upgrades, upgrades, waits, waits, waits, crashes, crashes, errs, trips, confines, frees, losesDB, hasDB, calls, lags, lags,
			}), 1, 40).Draw(rt, "steps"),
			fates: rapid.SliceOfN(rapid.SampledFrom([]fate{comesUp, comesUp, isSlow, hangs, fails, fails, fails, isRefused, panics}), 0, 12).Draw(rt, "fates"),
		}
		var err error
		synctest.Test(t, func(*testing.T) { err = s.tell() })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// tell makes the story happen and says what was wrong.
func (s story) tell() error {
	w := newWorld(s)
	for n, step := range s.steps {
		w.happens(step, n)
		w.read(0)
		if n%2 == 0 {
			synctest.Wait()
			w.hasLooked()
		}
		w.ask(fmt.Sprint(n))
	}
	ended := make(chan struct{})
	go func() {
		w.plugin.end(pluginsdk.PluginDisabled)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Hour):
		return errors.New("it does not end")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.alive) > 0 {
		w.wrong("%d processes are left", len(w.alive))
	}
	if w.plugin.supervisor.phase != atEnded {
		w.wrong("it ended %s", w.plugin.supervisor.phase)
	}
	return w.err
}
