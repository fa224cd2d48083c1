package delegation

import "sync"

// running is whether a task of the plugin's may be running. While none is, the end of a run
// concerns no task, and the host need not be asked about it: most runs are people's. The zero
// value says that one may be.
type running struct {
	mu    sync.Mutex
	moves uint64 // how often a task was seen to move
	none  bool
}

// moved notes that a task has moved: it may be running now.
func (r *running) moved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moves, r.none = r.moves+1, false
}

// look begins a look at the tasks that are running: events may have been lost since the last one.
// found is called when none was: it counts, unless a task has moved meanwhile.
func (r *running) look() (found func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.none = false
	moves := r.moves
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.none = r.moves == moves
	}
}

func (r *running) maybe() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.none
}
