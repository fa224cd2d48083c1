package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const worldBackoff = time.Second

// world is the hands of a supervisor without a system: its processes are notes.
type world struct {
	story  story
	plugin *Instance
	doors  sync.Map // by version: what closes its gone

	mu       sync.Mutex
	err      error // the first thing that was wrong
	row      ledger.Plugin
	reading  int64
	away     bool
	trip     bool                // the next thing that the supervisor does meets a bug
	alive    map[*version]string // what it is: begun, serving, retired, left
	active   map[*version]bool
	begun    int
	confined string         // why it must not be started, as the supervisor knows
	last     *ledger.Plugin // what was started last
	over     time.Time      // when that was over
	freed    bool           // since then

	rejected   *ledger.Plugin // what could not take over last
	rejectedAt time.Time
}

func newWorld(s story) *world {
	w := &world{story: s, alive: make(map[*version]string), active: make(map[*version]bool)}
	h := New(Config{BackoffBase: worldBackoff, Failures: 3}, newRegistry(), &bus{}, nobody{})
	w.row.Name, w.row.SHA256, w.row.Enabled = "model", "0", true
	w.row.Manifest = pluginsdk.Manifest{Name: "model"}
	w.plugin = newInstance(h, w.row, true)
	w.plugin.supervisor.hands = w
	h.held.Store("R", true)
	w.plugin.start(context.Background(), nil)
	return w
}

// wrong notes what must not be. The lock is held.
func (w *world) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// happens does one step.
func (w *world) happens(step step, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch step {
	case upgrades:
		w.row.SHA256, w.row.Generation = fmt.Sprint(n+1), w.row.Generation+1
	case waits:
		w.mu.Unlock()
		<-time.After(time.Duration(n) * time.Second / 4)
		w.mu.Lock()
	case crashes:
		if v := w.serving(); v != nil {
			w.dies(v)
		}
	case errs:
		if v := w.serving(); v != nil {
			v.blame("it eats the machine")
		}
	case trips:
		w.trip = true
	case confines:
		w.row.Quarantine = "an operator says so"
	case frees:
		w.row.Quarantine, w.row.Generation = "", w.row.Generation+1
		w.confined, w.freed = "", true
	case losesDB, hasDB:
		w.away = step == losesDB
	case lags:
		w.mu.Unlock()
		w.read(5 * time.Second)
		synctest.Wait() // before it is read anew
		w.mu.Lock()
	case calls:
		w.mu.Unlock()
		w.ask("R")
		w.mu.Lock()
	}
}

// read is a reading of the registry, which may take a while: then the row is old.
func (w *world) read(takes time.Duration) {
	w.mu.Lock()
	if w.away {
		w.mu.Unlock()
		return
	}
	w.reading++
	w.plugin.host.readings.Store(w.reading)
	row, reading := w.row, w.reading
	w.mu.Unlock()
	<-time.After(takes)
	w.plugin.update(row, reading)()
}

// hasLooked says that the supervisor has looked at the row: in quarantine, it starts
// nothing from now on.
func (w *world) hasLooked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.away && w.row.Quarantine != "" {
		w.confined = w.row.Quarantine
	}
}

// ask makes a call of a run: it must go to what serves, or served when the run began.
func (w *world) ask(run string) {
	c, _, err := w.plugin.router.take(question{run: run, hook: pluginsdk.HookCommand}, "call")
	if err != nil {
		return
	}
	w.mu.Lock()
	state := w.alive[c.version]
	if state != "serving" && state != "retired" && !c.version.ended() {
		w.wrong("a call of %s went to version %s, which is %q", run, c.version.row.SHA256, state)
	}
	w.mu.Unlock()
	w.plugin.router.give(c, nil)
}

// serving is the version that serves. The lock is held.
func (w *world) serving() *version {
	for v, state := range w.alive {
		if state == "serving" {
			return v
		}
	}
	return nil
}

// dies ends a process. The lock is held.
func (w *world) dies(v *version) {
	if _, there := w.alive[v]; !there {
		return
	}
	delete(w.alive, v)
	delete(w.active, v)
	close(w.done(v))
}

func (w *world) done(v *version) chan struct{} {
	door, _ := w.doors.LoadAndDelete(v)
	return door.(chan struct{})
}

// stumbles panics when the next thing is to meet a bug.
func (w *world) stumbles() {
	w.mu.Lock()
	trip := w.trip
	w.trip = false
	w.mu.Unlock()
	if trip {
		panic("a bug")
	}
}

func (w *world) bring(ctx context.Context, row *ledger.Plugin, old *version, ready func()) (*version, error) {
	v, fate := w.begins(row, old)
	switch fate {
	case isSlow:
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, w.given(v, old, ctx.Err())
		}
	case hangs:
		select {
		case <-time.After(10 * time.Second):
			return nil, w.given(v, old, errors.New("it did not answer"))
		case <-ctx.Done():
			return nil, w.given(v, old, ctx.Err())
		}
	case isRefused:
		return nil, w.given(v, old, refusal{errors.New("not what was pinned")})
	case panics:
		_ = w.given(v, old, nil)
		panic("a bug")
	case comesUp, fails:
	}
	if w.story.exclusive && old != nil {
		ready()
		w.mu.Lock()
		delete(w.active, old)
		w.mu.Unlock()
		<-time.After(time.Second)
	}
	if fate != fails {
		w.activates(v)
		return v, nil
	}
	err := w.given(v, old, errors.New("no port to be had"))
	if w.story.exclusive && old != nil && ctx.Err() == nil {
		w.activates(old)
	}
	return nil, err
}

// begins begins a process, for a reason.
func (w *world) begins(row *ledger.Plugin, old *version) (*version, fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old == nil {
		reason := w.last == nil || w.freed || essence(row) != essence(w.last) || time.Since(w.over) >= worldBackoff*3/4
		if !reason {
			w.wrong("it is started %s after it failed, for nothing", time.Since(w.over))
		}
		if w.confined != "" {
			w.wrong("it is started in quarantine: %s", w.confined)
		}
		w.last, w.freed = row, false
	} else {
		if renewal(&old.row, row) == "" {
			w.wrong("it is replaced by what it is")
		}
		if w.rejected != nil && essence(row) == essence(w.rejected) && time.Since(w.rejectedAt) < worldBackoff*3/4 {
			w.wrong("it is replaced %s after that failed, for nothing", time.Since(w.rejectedAt))
		}
	}
	v := newVersion(*row)
	gone := make(chan struct{})
	w.doors.Store(v, gone)
	v.gone, v.manifest = gone, pluginsdk.Manifest{Name: "model", Exclusive: w.story.exclusive}
	w.alive[v] = "begun"
	working := 0
	for _, state := range w.alive {
		if state != "retired" {
			working++
		}
	}
	if working > 2 {
		w.wrong("%d processes are begun", working)
	}
	w.begun++
	if w.begun <= len(w.story.fates) {
		return v, w.story.fates[w.begun-1]
	}
	return v, comesUp
}

// given ends a process that was begun for nothing, and returns why.
func (w *world) given(v, old *version, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dies(v)
	if old == nil {
		w.over = time.Now()
	} else {
		w.rejected, w.rejectedAt = &v.row, time.Now()
	}
	return err
}

func (w *world) activates(v *version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.alive[v]; !there {
		return
	}
	w.active[v] = true
	if w.story.exclusive && len(w.active) > 1 {
		w.wrong("%d versions of an exclusive plugin are active", len(w.active))
	}
}

func (w *world) enter(v *version) {
	w.stumbles()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive[v] != "" {
		w.alive[v] = "serving"
	}
}

func (w *world) takeOver(_, old *version) {
	w.stumbles()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive[old] != "" {
		w.alive[old] = "retired"
	}
}

func (w *world) leave(v *version) {
	w.plugin.router.forget(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive[v] != "" {
		w.alive[v] = "left"
	}
}

func (w *world) tell(*version, *ledger.Plugin) { w.stumbles() }

func (w *world) close(v *version) {
	<-time.After(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dies(v)
}

func (w *world) retire(ctx context.Context, v *version, _ bool) {
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
	case <-v.gone:
	}
	w.plugin.router.forget(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dies(v)
}

func (w *world) bury(v *version, why string) error {
	<-time.After(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dies(v)
	w.over = time.Now()
	return errors.New("it ended: " + why)
}

func (w *world) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for v := range w.alive {
		w.mu.Unlock()
		w.plugin.router.forget(v)
		w.mu.Lock()
		w.dies(v)
	}
	w.over = time.Now()
}

func (w *world) serves(*version) { w.stumbles() }

func (w *world) goesOn(*version) { w.stumbles() }

func (w *world) confine(_ context.Context, reason string) (int64, error) {
	w.stumbles()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.confined = reason
	if w.away {
		return 0, errors.New("the database is away")
	}
	w.row.Quarantine = reason
	return w.reading, nil
}
