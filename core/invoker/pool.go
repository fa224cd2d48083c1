package invoker

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pool is the places for sessions: at most max, each taken by one turn at a time. A turn
// that finds none waits, in order.
//
// A place is handed over with its session. A turn that needs another session ends that
// one and starts its own in the place. Until the process has ended, the place counts as
// that of both sessions. So there are never more processes than places, and no process
// starts for a session that another process still has open.
type pool struct {
	max int

	mu     sync.Mutex
	places []*place
	queue  []*waiter
	closed bool
}

// place is a place for one session. Its fields are written only under the pool's lock;
// whoever has taken the place may read session without it.
type place struct {
	key      string
	threadID string
	reserved string // id of the session that is, or will be, in it
	holding  string // id of the session that a process has open, until it has ended
	leaving  bool   // the session in it is to be ended
	taken    bool
	freed    time.Time     // when it was last given back
	asking   time.Time     // since when its turn waits for people; zero: it does not
	park     chan struct{} // has that turn parked; of capacity 1
	parking  bool          // it was told so
	session  *session
}

type waiter struct {
	want  want
	place chan *place // buffered; closed without a value when the pool closes
}

// acquire takes the place for a turn: that of the session that it continues, else that of
// its key (a fresh turn has neither), else a new one, else that of the session that has
// been idle longest. It waits for its turn while all are taken, or while the one that it
// must have is.
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

// abandon takes a waiter out of the queue, and gives back the place that it may have got
// meanwhile.
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

// dispatch gives free places to the waiters. The lock is held.
func (p *pool) dispatch() {
	roomless := 0
	p.queue = slices.DeleteFunc(p.queue, func(w *waiter) bool {
		found, wait := p.own(w.want)
		if wait {
			return false
		}
		if found == nil && roomless == 0 {
			found = p.room()
		}
		if found == nil {
			roomless++
			return false
		}
		found.taken = true
		found.key, found.threadID, found.reserved = w.want.key, w.want.threadID, w.want.session
		found.leaving = !found.session.fits(w.want)
		w.place <- found
		return true
	})
	p.parkFor(roomless)
}

// parkFor has turns parked that wait for people, those first that have waited longest, so
// that so many waiters find room. The lock is held.
func (p *pool) parkFor(roomless int) {
	for _, one := range p.places {
		if one.parking {
			roomless-- // its room comes free
		}
	}
	for ; roomless > 0; roomless-- {
		var oldest *place
		for _, one := range p.places {
			if !one.asking.IsZero() && !one.parking && (oldest == nil || one.asking.Before(oldest.asking)) {
				oldest = one
			}
		}
		if oldest == nil {
			return
		}
		oldest.parking = true
		oldest.park <- struct{}{}
	}
}

// parkOne has the turn parked that has waited for people longest, unless one is being
// parked.
func (p *pool) parkOne() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parkFor(1)
}

// asks notes that the turn in a place waits for people. When others wait for room it is
// parked.
func (p *pool) asks(at *place, park chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.asking.IsZero() {
		at.asking, at.park = time.Now(), park
		p.dispatch()
	}
}

// asksNothing ends what asks began.
func (p *pool) asksNothing(at *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at.asking = time.Time{}
	select {
	case <-at.park: // its answer came first, so it goes on
		at.parking = false
		p.dispatch()
	default:
	}
}

// own returns the place that a request must have, or says that the request has to wait
// for it. A place whose old session is still being ended counts as that session's: the
// CLI completes the transcript as it ends. A fresh request has no place before it begins.
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

// room returns a new place, else the one that has been idle longest, else nil. The lock
// is held.
func (p *pool) room() *place {
	if len(p.places) < p.max {
		fresh := &place{}
		p.places = append(p.places, fresh)
		return fresh
	}
	return p.oldestFree()
}

// release gives a place back. A place without a living session is removed.
func (p *pool) release(given *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given.taken = false
	given.freed = time.Now()
	given.leaving, given.parking = false, false
	if given.session.alive() {
		// The turn may have given up before it replaced the session.
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

// dismiss notes that the session in a place that the caller has taken is being ended.
func (p *pool) dismiss(taken *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.leaving = true
}

// clear empties a place that the caller has taken, after the process in it has ended. A
// waiter for the old session may now go on.
func (p *pool) clear(taken *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.session, taken.holding = nil, ""
	p.dispatch()
}

// remove removes a place. The lock is held.
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

// takeIdle takes the places that have been free since before, for the caller to end their
// sessions.
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

// takeWarm takes the place of a session that is idle and could run the turn; nil: there is
// none.
func (p *pool) takeWarm(w want) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.places {
		if !one.taken && one.session.fits(w) {
			one.taken = true
			return one
		}
	}
	return nil
}

// takeOldest takes the place that has been free longest, for the caller to end its
// session; nil: none is free.
func (p *pool) takeOldest() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := p.oldestFree()
	if oldest != nil {
		oldest.taken, oldest.leaving = true, true
	}
	return oldest
}

// oldestFree returns the place that has been free longest; nil: none is free. The lock is
// held.
func (p *pool) oldestFree() *place {
	var oldest *place
	for _, candidate := range p.places {
		if !candidate.taken && (oldest == nil || candidate.freed.Before(oldest.freed)) {
			oldest = candidate
		}
	}
	return oldest
}

// close fails all waiters, now and from now on.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.queue {
		close(w.place)
	}
	p.queue = nil
}

// sessions returns all sessions, in places taken or not, and also those that are being
// ended.
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

// wanted reports whether a waiter wants the session.
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
