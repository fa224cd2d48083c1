package outbox

import (
	"time"

	"github.com/seed-706843ae/harness/core/lanes"
)

// address is where a lane leads. A lane carries the deliveries for one target, one after
// the other, and exists only while there are any that can be carried.
type address struct{ plugin, target string }

// carrier is a plugin as its lanes see it.
type carrier struct {
	places *lanes.Places       // for its calls
	serves lanes.Gate[address] // shut while it does not, as far as is known
}

// carrier returns the plugin's.
func (o *Outbox) carrier(plugin string) *carrier {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.carriers[plugin]
	if !ok {
		c = &carrier{places: lanes.NewPlaces(o.config.Slots)}
		o.carriers[plugin] = c
	}
	return c
}

// Wake makes sure that somebody looks at what waits for a target: after a commit that
// made a delivery. It may be called at any time. While the plugin does not serve, the
// look is made when that changes.
func (o *Outbox) Wake(plugin, target string) {
	to := address{plugin, target}
	if _, serves := o.carrier(plugin).serves.Pass(to); serves {
		o.lanes.Wake(to)
	}
}

// PluginChanged says that the state of a plugin has changed: what waits for it is looked
// at again.
func (o *Outbox) PluginChanged(name string) {
	o.mu.Lock()
	c, ok := o.carriers[name]
	o.mu.Unlock()
	if ok {
		c.serves.Open(o.lanes.Wake)
	}
}

// runOnce makes an attempt of the target's first delivery.
func (o *Outbox) runOnce(to address) lanes.Next {
	c := o.carrier(to.plugin)
	if c.places.Take(o.intake, 0) != nil {
		return lanes.Idle
	}
	defer c.places.Free(0)
	if !o.lanes.Ready(to) {
		return lanes.Idle
	}
	seen, serves := c.serves.Pass(to)
	if !serves {
		return lanes.Idle
	}
	due, err := o.store.NextDelivery(o.intake, to.plugin, to.target)
	switch {
	case err != nil:
		return o.unanswered(to, err)
	case due.ID == "":
		return lanes.Idle
	}
	if wait := time.Until(due.NotBefore); wait > 0 {
		return lanes.After(wait)
	}
	served, err := o.carry(to, due.ID)
	switch {
	case err != nil:
		return o.unanswered(to, err)
	case !served && c.serves.Shut(seen):
		o.config.Log.Debug("plugin does not serve; what it is to deliver is kept", "plugin", to.plugin)
	}
	return lanes.Again
}

// unanswered is what a lane does when the database does not answer.
func (o *Outbox) unanswered(to address, err error) lanes.Next {
	if o.intake.Err() == nil {
		o.config.Log.Error("delivery cannot be begun; trying again", "plugin", to.plugin, "target", to.target, "err", err)
	}
	return lanes.After(lanes.FaultPause)
}
