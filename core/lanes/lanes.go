// Package lanes does work by key: what waits for one key is done one step after the
// other, different keys side by side. A lane is the goroutine of one key; it exists only
// while there is something to do. Where the work is stored, what a step does and who may
// begin when is the room's that has the set.
//
// What is promised of a Wake: a step of that key begins after it, unless the set is
// stopped first; when the set is paused, after the next Open. That holds however Wake, the
// end of a step, Pause and Open meet. Several wakes may share one step. At most one step
// of a key is made at a time. A panic of a step makes its lane wait, and ends nothing
// else.
package lanes

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

// FaultPause is how long a lane waits after a panic. Rooms wait as long when the database
// does not answer.
const FaultPause = time.Second

// Next is what a step says of its lane: Again, Idle or After a while.
type Next time.Duration

const (
	// Idle ends the lane, unless it was woken since the step began. A step says so when
	// it has looked and found nothing, or when somebody has been told to wake the key: a
	// Gate, or the set itself by Ready.
	Idle Next = 0
	// Again has the next step made at once: there may be more to do.
	Again Next = -1
)

// After has the next step made when the time is over, or as soon as the key is woken.
func After(wait time.Duration) Next { return Next(max(wait, 1)) }

// Config is what a room gives its set.
type Config[K comparable, S any] struct {
	// Step makes one step for the key. own is what the steps of one lane remember from
	// one to the next: it begins as the zero S, or as Reserve's caller has set it, and
	// nobody else touches it. A step ends soon after the set's Work.
	Step func(key K, own *S) Next
	// What names a step in the log of its panic.
	What string
	// Log returns where that is logged. It is called once a lane.
	Log func(key K) *slog.Logger
	// Panicked, when set, is told of a panic before the lane waits.
	Panicked func(key K, err error)
}

// Set keeps the lanes of one room. Its methods may be called at any time, from a step
// too, but for Stop.
type Set[K comparable, S any] struct {
	// Intake ends when nothing more is to be begun, Work when what is under way must end
	// too. They belong to the room as well.
	Intake, Work context.Context

	config     Config[K, S]
	stopIntake context.CancelFunc
	stopWork   context.CancelCauseFunc
	group      sync.WaitGroup

	mu    sync.Mutex
	stage Stage
	kept  map[K]struct{} // to be woken by Open
	lanes map[K]*Lane[K, S]
}

// Lane is the lane of one key.
type Lane[K comparable, S any] struct {
	// Own is what the lane's steps are given. It may be set between Reserve and Begin.
	Own S

	set   *Set[K, S]
	key   K
	woken chan struct{} // holds a value when it was woken since its last step began
}

// New returns a set in the stage Created: steps are made from Open on.
func New[K comparable, S any](config Config[K, S]) *Set[K, S] {
	s := &Set[K, S]{config: config, kept: make(map[K]struct{}), lanes: make(map[K]*Lane[K, S])}
	s.Intake, s.stopIntake = context.WithCancel(context.Background())
	s.Work, s.stopWork = context.WithCancelCause(context.Background())
	return s
}

// Wake makes sure that a step of the key begins after this call. When the set is stopped
// it does nothing: the room's next start has to find the work.
func (s *Set[K, S]) Wake(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.stage {
	case Created, Paused:
		s.kept[key] = struct{}{}
	case Started:
		s.wake(key)
	case Stopped:
	}
}

// wake is Wake in the stage Started. The lock is held.
func (s *Set[K, S]) wake(key K) {
	if l := s.lanes[key]; l != nil {
		l.wake()
		return
	}
	l := s.add(key)
	s.group.Go(func() { l.serve(false) })
}

// add makes a lane that is not begun. The lock is held.
func (s *Set[K, S]) add(key K) *Lane[K, S] {
	l := &Lane[K, S]{set: s, key: key, woken: make(chan struct{}, 1)}
	s.lanes[key] = l
	return l
}

// Hurry cuts short what the lanes wait for (After).
func (s *Set[K, S]) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		l.wake()
	}
}

// Open begins to make steps, for the first time or after Pause, and wakes the keys, and
// those that were woken meanwhile. When the set is stopped it does nothing.
func (s *Set[K, S]) Open(keys ...K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == Stopped {
		return
	}
	s.stage = Started
	for _, key := range keys {
		s.wake(key)
	}
	for key := range s.kept {
		s.wake(key)
	}
	clear(s.kept)
}

// Pause begins no lanes until Open, and has Ready say no. Steps under way go on; one that
// must not act from here on asks Ready first.
func (s *Set[K, S]) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == Started {
		s.stage = Paused
	}
}

// Ready reports whether a step may begin something. When it may not, Open wakes the key,
// and the step is to return Idle.
func (s *Set[K, S]) Ready(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != Started {
		s.kept[key] = struct{}{}
	}
	return s.stage == Started
}

// Reserve makes the lane of a key that has none, for a caller who gives it its first work
// in Own: nobody else makes a step of the key until Begin. It returns nil when the set
// may not begin anything, or there is a lane, or admit says no. admit is called under the
// set's lock. The caller must call Begin.
func (s *Set[K, S]) Reserve(key K, admit func() bool) *Lane[K, S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != Started || s.lanes[key] != nil || !admit() {
		return nil
	}
	s.group.Add(1)
	return s.add(key)
}

// Begin begins the steps of a lane that was reserved. The first of them is made even when
// the set was stopped meanwhile.
func (l *Lane[K, S]) Begin() {
	go func() {
		defer l.set.group.Done()
		l.serve(true)
	}()
}

func (l *Lane[K, S]) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// serve is the lane's loop; Config.Step is its logic.
func (l *Lane[K, S]) serve(reserved bool) {
	s := l.set
	defer s.remove(l)
	log := s.config.Log(l.key)
	for reserved || s.Intake.Err() == nil {
		reserved = false
		select {
		case <-l.woken: // the step that begins now is after that wake
		default:
		}
		var next Next
		err := guard.Call(log, s.config.What, func() error {
			next = s.config.Step(l.key, &l.Own)
			return nil
		})
		if err != nil {
			next = After(FaultPause)
			if s.config.Panicked != nil {
				s.config.Panicked(l.key, err)
			}
		}
		switch next {
		case Again:
			continue
		case Idle:
			if s.retire(l) {
				return
			}
			continue
		}
		timer := time.NewTimer(time.Duration(next))
		select {
		case <-timer.C:
		case <-l.woken:
		case <-s.Intake.Done():
		}
		timer.Stop()
	}
}

// retire ends the lane unless it was woken since its last step began. Wake takes the same
// lock, so that it finds the lane with that step before it, or none.
func (s *Set[K, S]) retire(l *Lane[K, S]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-l.woken:
		return false
	default:
	}
	delete(s.lanes, l.key)
	return true
}

// remove forgets a lane however it has ended; its key may have another one by now.
func (s *Set[K, S]) remove(l *Lane[K, S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[l.key] == l {
		delete(s.lanes, l.key)
	}
}

// Len returns how many lanes there are.
func (s *Set[K, S]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes)
}

// Has reports whether the key has a lane.
func (s *Set[K, S]) Has(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[key] != nil
}

// Places are room for so many things at a time, of several classes. Each class may have
// some that are kept for it, so that the others never take all. Who finds none waits: in
// the order of the classes, and within a class in that of the arrivals. It is safe for
// concurrent use.
type Places struct {
	mu      sync.Mutex
	all     int
	kept    []int             // for each class
	taken   []int             // by each class
	waiting [][]chan struct{} // of each class; closed when the place is theirs
}

// NewPlaces returns so many places, with those that are kept for each class. Without any
// there is one class, 0. What is kept together must be no more than there are.
func NewPlaces(all int, kept ...int) *Places {
	if len(kept) == 0 {
		kept = []int{0}
	}
	return &Places{all: all, kept: kept, taken: make([]int, len(kept)), waiting: make([][]chan struct{}, len(kept))}
}

// free reports whether the class can have another place: there is one that is kept for
// no other. The lock is held.
func (p *Places) free(class int) bool {
	left := p.all
	for c := range p.kept {
		if left -= p.taken[c]; c != class {
			left -= max(0, p.kept[c]-p.taken[c])
		}
	}
	return left > 0
}

// Taken returns how many places the class has taken.
func (p *Places) Taken(class int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[class]
}

// TryTake takes a place if there is one and nobody of the class waits for it.
func (p *Places) TryTake(class int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting[class]) > 0 || !p.free(class) {
		return false
	}
	p.taken[class]++
	return true
}

// Take waits for a place. It takes none, and returns the context's cause, when ctx ends
// first. Who has a place gives it back with Free.
func (p *Places) Take(ctx context.Context, class int) error {
	if p.TryTake(class) {
		return nil
	}
	p.mu.Lock()
	mine := make(chan struct{})
	p.waiting[class] = append(p.waiting[class], mine)
	p.grant() // one may have come free in between
	p.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting[class], mine); at >= 0 {
		p.waiting[class] = slices.Delete(p.waiting[class], at, at+1)
	} else { // it came in this very instant
		p.taken[class]--
		p.grant()
	}
	return context.Cause(ctx)
}

// Free gives a place of the class back.
func (p *Places) Free(class int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[class]--
	p.grant()
}

// grant gives what is free to who waits. The lock is held.
func (p *Places) grant() {
	for c := range p.kept {
		for len(p.waiting[c]) > 0 && p.free(c) {
			p.taken[c]++
			close(p.waiting[c][0])
			p.waiting[c] = p.waiting[c][1:]
		}
	}
}
