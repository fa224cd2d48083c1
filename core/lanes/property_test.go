package lanes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// act is one thing that somebody does to a set.
type act struct {
	what string
	key  int
}

// fate is how a step ends that has found work.
type fate int

const (
	works  fate = iota
	waits       // it does nothing yet, and is made again later
	panics      // before it has done anything
	says        // that there is nothing to do, although there may be: others have to wake it
)

// house is a room with lanes whose work is counted.
type house struct {
	set    *Set[int, firsts]
	places *Places
	gate   Gate[int]
	away   atomic.Bool // what the gate stands for does not serve
	fates  []fate
	step   atomic.Int64

	keys  [3]work
	twice atomic.Bool // two steps of a key were made at a time
	late  atomic.Bool // a step was made after Stop had returned
	over  atomic.Bool
	given atomic.Int64 // firsts that Reserve has let in
	taken atomic.Int64 // and that a step was made for
}

type work struct {
	stored, done atomic.Int64
	busy         atomic.Bool
}

// firsts is what a lane was reserved with.
type firsts struct{ n int }

func newHouse(fates []fate) *house {
	h := &house{places: NewPlaces(2, 1, 1), fates: fates}
	h.set = New(Config[int, firsts]{Step: h.make, What: "a step", Log: func(int) *slog.Logger { return slog.New(slog.DiscardHandler) }})
	return h
}

// make is the step of the house. It looks what is stored after it has begun.
func (h *house) make(key int, own *firsts) Next {
	w := &h.keys[key]
	if !w.busy.CompareAndSwap(false, true) {
		h.twice.Store(true)
	}
	defer w.busy.Store(false)
	if h.over.Load() {
		h.late.Store(true)
	}
	if own.n > 0 {
		h.taken.Add(int64(own.n))
		own.n = 0
		return Again
	}
	if h.places.Take(h.set.Intake, key%2) != nil {
		return Idle
	}
	defer h.places.Free(key % 2)
	if !h.set.Ready(key) {
		return Idle
	}
	seen, open := h.gate.Pass(key)
	if !open {
		return Idle
	}
	if h.away.Load() {
		runtime.Gosched()
		h.gate.Shut(seen)
		return Again
	}
	if w.done.Load() == w.stored.Load() {
		runtime.Gosched()
		return Idle
	}
	switch h.fate() {
	case waits:
		return After(time.Second)
	case panics:
		panic("a bug")
	case says:
		defer func() { go h.set.Wake(key) }()
		return Idle
	case works:
	}
	w.done.Add(1)
	return Again
}

func (h *house) fate() fate {
	if n := int(h.step.Add(1)) - 1; n < len(h.fates) {
		return h.fates[n]
	}
	return works
}

func (h *house) do(a act) {
	switch a.what {
	case "wake":
		h.keys[a.key].stored.Add(1)
		h.set.Wake(a.key)
	case "reserve":
		lane := h.set.Reserve(a.key, func() bool { return a.key != 2 })
		if lane == nil {
			h.keys[a.key].stored.Add(1)
			h.set.Wake(a.key)
			return
		}
		h.given.Add(1)
		runtime.Gosched()
		lane.Own.n = 1
		lane.Begin()
	case "pause":
		h.set.Pause()
	case "open":
		h.set.Open(a.key)
	case "go away":
		h.away.Store(true)
	case "come back":
		h.away.Store(false)
		h.gate.Open(h.set.Wake)
	case "hurry":
		h.set.Hurry()
	case "stop":
		h.stop()
	}
}

func (h *house) stop() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	h.set.Stop(ended, time.Hour, errors.New("stopped"))
	h.over.Store(true)
}

// Whatever happens at the same time: a key that was woken gets its step, so that nothing
// that a room has stored lies about until a sweep; no key has two steps at a time, so
// that nothing is done twice; and nothing goes on after a stop.
func TestWhatWasWokenIsDone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		what := rapid.SampledFrom([]string{"wake", "wake", "wake", "wake", "reserve", "pause", "open", "open", "go away", "come back", "hurry"})
		acts := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) act {
			return act{what.Draw(r, "what"), rapid.IntRange(0, 2).Draw(r, "key")}
		}), 0, 40)
		actors := [][]act{acts.Draw(r, "one"), acts.Draw(r, "another"), acts.Draw(r, "a third")}
		stops := rapid.Bool().Draw(r, "one stops")
		if stops {
			actors[0] = append(actors[0], act{what: "stop"})
		}
		house := newHouse(rapid.SliceOfN(rapid.SampledFrom([]fate{works, waits, panics, says}), 0, 30).Draw(r, "fates"))
		var err error
		synctest.Test(t, func(t *testing.T) { err = house.live(actors, stops) })
		if err != nil {
			r.Fatal(err)
		}
	})
}

// live has everybody act at the same time, then opens what is shut, and says what is
// wrong with the end.
func (h *house) live(actors [][]act, stops bool) error {
	h.set.Open()
	var all sync.WaitGroup
	for _, acts := range actors {
		all.Go(func() {
			for _, a := range acts {
				h.do(a)
			}
		})
	}
	all.Wait()
	if !stops {
		h.do(act{what: "come back"})
		h.set.Open()
		<-time.After(time.Hour) // of the bubble
	}
	synctest.Wait()
	if n := h.set.Len(); n != 0 {
		return fmt.Errorf("%d lanes are left", n)
	}
	if !stops {
		for key := range h.keys {
			if stored, done := h.keys[key].stored.Load(), h.keys[key].done.Load(); stored != done {
				return fmt.Errorf("key %d: %d of %d were done", key, done, stored)
			}
		}
		h.stop()
	}
	switch {
	case h.twice.Load():
		return errors.New("two steps of a key at a time")
	case h.late.Load():
		return errors.New("a step after the stop")
	case h.given.Load() != h.taken.Load():
		return fmt.Errorf("of %d lanes that were reserved %d had their first step", h.given.Load(), h.taken.Load())
	}
	for class := range h.places.taken {
		if h.places.taken[class] != 0 || len(h.places.waiting[class]) != 0 {
			return errors.New("places are left over")
		}
	}
	return nil
}
