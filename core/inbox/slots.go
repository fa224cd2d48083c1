package inbox

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// class is as what a run waits for a slot. The first of them are served first.
type class int

const (
	people  class = iota // what people have said
	tasks                // tasks and scheduled jobs
	turns                // what plugins ask of the agent
	classes              // how many there are
)

func classOf(kind pluginsdk.ThreadKind) class {
	if kind == pluginsdk.ThreadTask || kind == pluginsdk.ThreadCron {
		return tasks
	}
	return people
}

// slots are the places for runs that execute. From 3 on, each class has some that are
// kept for it: of 5, people 2, tasks and turns 1 each. So what plugins start keeps
// nobody waiting who types, and a run whose tool waits for a turn is never all that is
// at work. Who finds none waits, in the order of its class.
type slots struct {
	mu      sync.Mutex
	all     int
	kept    [classes]int
	taken   [classes]int
	waiting [classes][]chan struct{} // closed when the slot is theirs
}

func newSlots(all int) *slots {
	s := &slots{all: all}
	if all >= 3 {
		s.kept = [classes]int{people: max(1, all*2/5), tasks: max(1, all/5), turns: max(1, all/5)}
	}
	return s
}

// free reports whether the class can have another slot: there is one that is kept for
// no other. The lock is held.
func (s *slots) free(of class) bool {
	left := s.all
	for c := range classes {
		if left -= s.taken[c]; c != of {
			left -= max(0, s.kept[c]-s.taken[c])
		}
	}
	return left > 0
}

// tryAcquire takes a slot if there is one and nobody of the class waits for it.
func (s *slots) tryAcquire(of class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting[of]) > 0 || !s.free(of) {
		return false
	}
	s.taken[of]++
	return true
}

// acquire waits for a slot. It takes none when ctx ends first.
func (s *slots) acquire(ctx context.Context, of class) error {
	if s.tryAcquire(of) {
		return nil
	}
	s.mu.Lock()
	mine := make(chan struct{})
	s.waiting[of] = append(s.waiting[of], mine)
	s.grant()
	s.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.waiting[of], mine); at >= 0 {
		s.waiting[of] = slices.Delete(s.waiting[of], at, at+1)
	} else { // it came in this very instant
		s.taken[of]--
		s.grant()
	}
	return context.Cause(ctx)
}

// release gives a slot back.
func (s *slots) release(of class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[of]--
	s.grant()
}

// grant gives what is free to who waits. The lock is held.
func (s *slots) grant() {
	for c := range classes {
		for len(s.waiting[c]) > 0 && s.free(c) {
			s.taken[c]++
			close(s.waiting[c][0])
			s.waiting[c] = s.waiting[c][1:]
		}
	}
}
