package outbox

import (
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

// sweepAlways is the sweep's loop; sweep its logic.
func (o *Outbox) sweepAlways() {
	ticker := time.NewTicker(o.config.Sweep)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			guard.Try(o.config.Log, "the sweep of the outbox", o.sweep)
		case <-o.intake.Done():
			return
		}
	}
}

// sweep finds work that nobody announced: what an operator changed by SQL, and
// what waits for a plugin whose return was not told.
func (o *Outbox) sweep() {
	lanes, err := o.store.Lanes(o.intake)
	if err != nil {
		if o.intake.Err() == nil {
			o.config.Log.Warn("deliveries cannot be searched; trying again later", "err", err)
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stage != started {
		return
	}
	for _, c := range o.carriers {
		o.unpark(c)
	}
	now := time.Now()
	for _, lane := range lanes {
		if !lane.NotBefore.After(now) {
			o.look(address{lane.Plugin, lane.Target})
		}
	}
}
