package outbox

import (
	"golang.org/x/sync/semaphore"
)

// carrier is a plugin as its lanes see it. Its fields but slots are under the
// outbox's lock.
type carrier struct {
	slots   *semaphore.Weighted
	changes int              // how often its state may have changed
	away    bool             // it did not serve, and nothing has changed since
	parked  map[address]bool // lanes that wait for it to come back
}

// carrier returns the plugin's. The lock is held.
func (o *Outbox) carrier(plugin string) *carrier {
	c, ok := o.carriers[plugin]
	if !ok {
		c = &carrier{slots: semaphore.NewWeighted(int64(o.config.Slots)), parked: make(map[address]bool)}
		o.carriers[plugin] = c
	}
	return c
}

// PluginChanged says that the state of a plugin has changed: what waits for it
// is looked at again.
func (o *Outbox) PluginChanged(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c, ok := o.carriers[name]; ok && (o.stage == started || o.stage == paused) {
		o.unpark(c)
	}
}

// unpark wakes the lanes that wait for a plugin. The lock is held.
func (o *Outbox) unpark(c *carrier) {
	c.changes++
	c.away = false
	for to := range c.parked {
		delete(c.parked, to)
		o.look(to)
	}
}

// park makes the lane one to be woken when its plugin is back, if that is
// away, or by Resume during a Pause. Else it returns what missed is to be told.
func (o *Outbox) park(l *lane) (seen int, away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stage == paused {
		o.early[l.to] = true
		return 0, true
	}
	if l.carrier.away {
		l.carrier.parked[l.to] = true
	}
	return l.carrier.changes, l.carrier.away
}

// missed notes that the plugin did not serve, unless its state has changed
// since the lane saw it.
func (o *Outbox) missed(l *lane, seen int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := l.carrier; c.changes == seen && !c.away {
		c.away = true
		o.config.Log.Debug("plugin does not serve; what it is to deliver is kept", "plugin", l.to.plugin)
	}
}
