package lanes

import (
	"context"
	"slices"
	"sync"
)

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
