package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

const (
	// orphanPatience is how long a process may be without a daemon while there
	// is a healthy one.
	orphanPatience = 4 * time.Second
	orphanPause    = 300 * time.Millisecond
)

// warden looks for processes of the installation that its daemon does not have.
type warden struct {
	world *world

	mu        sync.Mutex
	sightings int                   // of marked plugins that their daemon has
	strays    map[process]time.Time // when first seen under the present daemon
	known     []check.Stray
}

// run looks until ctx ends, and once more then.
func (w *warden) run(ctx context.Context) {
	w.strays = map[process]time.Time{}
	daemon := 0
	for ended := false; !ended; {
		ended = pause(ctx, orphanPause) != nil
		pid, healthy := w.world.daemon.now()
		if pid != daemon || healthy.IsZero() {
			clear(w.strays)
			daemon = pid
		}
		if !healthy.IsZero() {
			w.look(pid)
		}
	}
}

// look keeps what is astray now, with the time since when it is.
func (w *warden) look(daemon int) {
	now, still := time.Now(), map[process]time.Time{}
	for _, p := range w.world.processes() {
		if descends(p.pid, daemon) {
			if p.marked && slices.Contains(w.world.plugins, p.name) {
				w.sightings++
			}
			continue
		}
		since, seen := w.strays[p]
		if !seen {
			since = now
		}
		still[p] = since
		if now.Sub(since) >= orphanPatience {
			w.add(p)
		}
	}
	w.strays = still
}

// add records a stray, once.
func (w *warden) add(p process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stray := range w.known {
		if stray.PID == p.pid {
			return
		}
	}
	w.known = append(w.known, check.Stray{PID: p.pid, What: p.command})
}

// last looks once more when there is no daemon any more: then nothing may be
// left.
func (w *warden) last(ctx context.Context) []check.Stray {
	_, _ = until(ctx, orphanPatience, func() bool { return len(w.world.processes()) == 0 }) // what is left is looked at
	for _, p := range w.world.processes() {
		w.add(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known
}
