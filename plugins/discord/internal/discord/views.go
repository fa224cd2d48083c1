package discord

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// views shows the runs that are at work.
type views struct {
	p *Plugin

	mu      sync.Mutex
	running map[string]*view
}

// begin shows a run, if it was asked for on Discord. One that is shown already begins anew.
func (vs *views) begin(run string) {
	if vs.p.connected() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostTime)
	defer cancel()
	of, ok, err := vs.p.runs.get(ctx, run)
	if err != nil || !ok || of.Answer != nil { // an interaction shows by itself that it waits
		return
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.running[run]; v != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.anew()
		return
	}
	if now, ok := vs.p.runs.cached(run); !ok || now.ends {
		return // it is over by now
	}
	over := make(chan struct{})
	v := &view{
		run: run, of: of, p: vs.p, id: of.Live,
		news: make(chan struct{}, 1), stop: sync.OnceFunc(func() { close(over) }), over: over, ended: make(chan struct{}),
	}
	vs.running[run] = v
	if of.Parked != 0 { // what says that it waits does not hold any more
		v.doing = "goes on"
		v.news <- struct{}{}
	}
	vs.p.runs.note(run, func(r *record) { r.begun, r.Parked = true, 0 })
	vs.p.reactions.set(of, running)
	go v.follow()
}

// of is the view of a run, or nil.
func (vs *views) of(run string) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.running[run]
}

// show changes what a run's view shows, if it has one.
func (vs *views) show(run string, by func(*view) bool) {
	v := vs.of(run)
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !by(v) {
		return
	}
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// end is stop for a run that is over: no view of it begins any more.
func (vs *views) end(run string) {
	vs.p.runs.note(run, func(r *record) { r.ends = true })
	vs.stop(run)
}

// stop takes a run's view away. It returns when nothing more is posted by it.
func (vs *views) stop(run string) {
	v := vs.of(run)
	if v == nil {
		return
	}
	v.stop()
	<-v.ended
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.running[run] == v {
		delete(vs.running, run)
	}
}

// stopAll stops all views.
func (vs *views) stopAll() {
	vs.mu.Lock()
	all := slices.Collect(maps.Keys(vs.running))
	for _, v := range vs.running {
		v.stop()
	}
	vs.mu.Unlock()
	for _, run := range all {
		vs.stop(run)
	}
}
