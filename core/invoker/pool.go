package invoker

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pool is the places for sessions: at most max, each taken by one turn at a
// time. Who finds none waits, in order.
//
// A place is handed over with the session that is in it: a taker whose session
// that is not ends it and starts its own in the place. Until the process has
// ended, the place counts as that of both sessions. So there are never more
// processes than places, and none is started for a session before the one that
// held it has ended.
type pool struct {
	max int

	mu     sync.Mutex
	places []*place
	queue  []*waiter
	closed bool
}

// place is a place for one session. Its fields are written under the pool's
// lock only; who has taken the place may read session without.
type place struct {
	key      string
	threadID string
	reserved string // id of the session that is, or will be, in it
	holding  string // id of the session that a process has open, until it has ended
	leaving  bool   // session is not the one that goes on: it is to be ended
	taken    bool
	freed    time.Time
	session  *session
}

type waiter struct {
	want  want
	place chan *place // buffered; closed without a value when the pool closes
}

// acquire takes the place for a turn: that of the session it continues, else
// that of its key (neither for a fresh one), else a new one, else that of the session that has been idle
// longest. It waits its turn while all are taken, and for the one it must have.
func (p *pool) acquire(ctx context.Context, w want) (*place, error) {
	me := &waiter{want: w, place: make(chan *place, 1)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errStopping
	}
	p.queue = append(p.queue, me)
	p.dispatch()
	p.mu.Unlock()

	select {
	case got, ok := <-me.place:
		if !ok {
			return nil, errStopping
		}
		return got, nil
	case <-ctx.Done():
		p.abandon(me)
		return nil, context.Cause(ctx)
	}
}

// abandon takes a waiter out of the queue, and gives back what it may have got
// in the meantime.
func (p *pool) abandon(me *waiter) {
	p.mu.Lock()
	p.queue = slices.DeleteFunc(p.queue, func(w *waiter) bool { return w == me })
	p.dispatch()
	p.mu.Unlock()
	select {
	case got, ok := <-me.place:
		if ok {
			p.release(got)
		}
	default:
	}
}

// dispatch gives free places to those who wait. Called with the lock held.
func (p *pool) dispatch() {
	full := false
	p.queue = slices.DeleteFunc(p.queue, func(w *waiter) bool {
		found, wait := p.own(w.want)
		if wait {
			return false
		}
		if found == nil && !full {
			found = p.room()
			full = found == nil
		}
		if found == nil {
			return false
		}
		found.taken = true
		found.key, found.threadID, found.reserved = w.want.key, w.want.threadID, w.want.session
		found.leaving = !found.session.fits(w.want)
		w.place <- found
		return true
	})
}

// own returns the place that a request must have, or that it is to wait for it.
// A place that was taken for another session is its until what it wants has
// left: the CLI completes the transcript as it ends. A fresh session is nobody's
// before it begins.
func (p *pool) own(w want) (found *place, wait bool) {
	if w.fresh {
		return nil, false
	}
	for _, candidate := range p.places {
		if w.session != "" && (candidate.reserved == w.session || candidate.holding == w.session) {
			found = candidate
			break
		}
		if w.key != "" && candidate.key == w.key {
			found = candidate
		}
	}
	if found != nil && found.taken {
		return nil, true
	}
	return found, false
}

// room returns a new place, or the one that has been idle longest, or nil.
func (p *pool) room() *place {
	if len(p.places) < p.max {
		fresh := &place{}
		p.places = append(p.places, fresh)
		return fresh
	}
	return p.oldestFree()
}

// release gives a place back. One without a living session ceases to be.
func (p *pool) release(given *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given.taken = false
	given.freed = time.Now()
	given.leaving = false
	if given.session.alive() {
		// The taker may have given up before it did anything.
		given.key, given.threadID = given.session.key, given.session.threadID
		given.reserved, given.holding = given.session.id, given.session.id
	} else {
		p.remove(given)
	}
	p.dispatch()
}

// seat puts a session into a place that the caller has taken.
func (p *pool) seat(taken *place, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.session, taken.leaving = s, false
	taken.reserved, taken.holding = s.id, s.id
}

// dismiss says that the session in a place that the caller has taken is being
// ended.
func (p *pool) dismiss(taken *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.leaving = true
}

// clear empties a place that the caller has taken, now that the process in it
// has ended. Who waits for its session need wait no longer.
func (p *pool) clear(taken *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.session, taken.holding = nil, ""
	p.dispatch()
}

// remove takes a place out. Called with the lock held.
func (p *pool) remove(gone *place) {
	gone.session = nil
	p.places = slices.DeleteFunc(p.places, func(one *place) bool { return one == gone })
}

// drop removes the place of a session whose process has ended between turns.
func (p *pool) drop(ended *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.places {
		if one.session == ended && !one.taken {
			p.remove(one)
			p.dispatch()
			return
		}
	}
}

// takeIdle takes the free places that have been so since before, to end the
// sessions in them.
func (p *pool) takeIdle(before time.Time) []*place {
	p.mu.Lock()
	defer p.mu.Unlock()
	var idle []*place
	for _, one := range p.places {
		if !one.taken && !one.freed.After(before) {
			one.taken, one.leaving = true, true
			idle = append(idle, one)
		}
	}
	return idle
}

// takeOldest takes the free place that has been so longest, to end the session in
// it; nil when there is none.
func (p *pool) takeOldest() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := p.oldestFree()
	if oldest != nil {
		oldest.taken, oldest.leaving = true, true
	}
	return oldest
}

// oldestFree returns the place that has been free longest, or nil. Called with
// the lock held.
func (p *pool) oldestFree() *place {
	var oldest *place
	for _, candidate := range p.places {
		if !candidate.taken && (oldest == nil || candidate.freed.Before(oldest.freed)) {
			oldest = candidate
		}
	}
	return oldest
}

// close turns everybody away who waits or comes.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.queue {
		close(w.place)
	}
	p.queue = nil
}

// sessions returns the sessions there are, in places taken or not, also those
// that are being ended.
func (p *pool) sessions() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*session
	for _, one := range p.places {
		if one.session != nil {
			all = append(all, one.session)
		}
	}
	return all
}

// wanted reports whether somebody waits for that session.
func (p *pool) wanted(sessionID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.queue, func(w *waiter) bool { return w.want.session == sessionID })
}

// holds reports whether a living process of the thread has that session open
// and has not been chosen to be ended.
func (p *pool) holds(threadID, sessionID string) bool {
	if sessionID == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.places, func(one *place) bool {
		return one.threadID == threadID && one.holding == sessionID && !one.leaving && one.session.alive()
	})
}
