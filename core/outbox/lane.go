package outbox

import (
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

// storeRetry is how long a lane waits when the database does not answer.
const storeRetry = time.Second

// address is where a lane leads.
type address struct{ plugin, target string }

// lane carries the deliveries for one target, one after the other. It exists
// only while there are any that can be carried.
type lane struct {
	to      address
	carrier *carrier
	again   bool          // woken while it was looking
	wake    chan struct{} // cuts a wait short
}

// Wake makes sure that somebody looks at what waits for a target: after a
// commit that made a delivery. It may be called at any time.
func (o *Outbox) Wake(plugin, target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	to := address{plugin, target}
	switch o.stage {
	case created:
		o.early[to] = true
	case started, paused:
		o.look(to)
	case stopped: // the next start finds it
	}
}

// look wakes a lane, or makes it; during a Pause, Resume does. The lock is held.
func (o *Outbox) look(to address) {
	if o.stage == paused {
		o.early[to] = true
		return
	}
	c := o.carrier(to.plugin)
	if c.away {
		c.parked[to] = true
		return
	}
	if l, ok := o.lanes[to]; ok {
		l.again = true
		select {
		case l.wake <- struct{}{}:
		default:
		}
		return
	}
	l := &lane{to: to, carrier: c, wake: make(chan struct{}, 1)}
	o.lanes[to] = l
	o.group.Go(func() { o.serve(l) })
}

// serve is the lane's loop; runOnce its logic. A panic makes the lane wait, and
// ends nothing else.
func (o *Outbox) serve(l *lane) {
	log := o.config.Log.With("plugin", l.to.plugin, "target", l.to.target)
	for o.intake.Err() == nil {
		var wait time.Duration
		var more bool
		if guard.Try(log, "a lane of the outbox", func() { wait, more = o.runOnce(l) }) {
			wait, more = storeRetry, false
		}
		if more {
			continue
		}
		if wait == 0 {
			if o.retire(l) {
				return
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-o.intake.Done():
		}
		timer.Stop()
	}
	o.mu.Lock()
	delete(o.lanes, l.to)
	o.mu.Unlock()
}

// retire ends the lane unless it was woken since it last looked.
func (o *Outbox) retire(l *lane) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.again {
		l.again = false
		return false
	}
	delete(o.lanes, l.to)
	return true
}

// runOnce makes an attempt of the lane's first delivery. It reports whether
// there may be more to do at once, or else how long to wait (0: nothing can be
// done here).
func (o *Outbox) runOnce(l *lane) (wait time.Duration, more bool) {
	if l.carrier.slots.Acquire(o.intake, 1) != nil {
		return 0, false
	}
	defer l.carrier.slots.Release(1)
	seen, away := o.park(l)
	if away {
		return 0, false
	}
	due, err := o.store.NextDelivery(o.intake, l.to.plugin, l.to.target)
	switch {
	case err != nil:
		return o.unanswered(l, err), false
	case due.ID == "":
		return 0, false
	}
	if wait := time.Until(due.NotBefore); wait > 0 {
		return wait, false
	}
	served, err := o.carry(l.to, due.ID)
	switch {
	case err != nil:
		return o.unanswered(l, err), false
	case !served:
		o.missed(l, seen)
	}
	return 0, true
}

// unanswered is how long to wait for the database.
func (o *Outbox) unanswered(l *lane, err error) time.Duration {
	if o.intake.Err() == nil {
		o.config.Log.Error("delivery cannot be begun; trying again",
			"plugin", l.to.plugin, "target", l.to.target, "err", err)
	}
	return storeRetry
}
