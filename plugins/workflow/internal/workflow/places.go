package workflow

import (
	"slices"
	"sync"
)

// places are for the workflows that work at the same time. The oldest that waits gets the next one.
type places struct {
	mu      sync.Mutex
	most    int
	taken   []string
	waiting map[string]chan struct{} // closed when the workflow has a place
}

// ask asks for a place of a workflow: has is closed when there is one, and leave gives it back, or
// asks no more. Ids of tasks grow with time.
func (p *places) ask(id string) (has <-chan struct{}, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[string]chan struct{})
	}
	given := make(chan struct{})
	p.waiting[id] = given
	p.give()
	return given, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
		p.taken = slices.DeleteFunc(p.taken, func(other string) bool { return other == id })
		p.give()
	}
}

func (p *places) resize(most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = most
	p.give()
}

// queued reports whether a workflow waits for a place.
func (p *places) queued(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting[id] != nil
}

// give gives places to the oldest that wait. The caller holds the lock.
func (p *places) give() {
	for len(p.taken) < p.most && len(p.waiting) > 0 {
		oldest := ""
		for id := range p.waiting {
			if oldest == "" || id < oldest {
				oldest = id
			}
		}
		close(p.waiting[oldest])
		delete(p.waiting, oldest)
		p.taken = append(p.taken, oldest)
	}
}
