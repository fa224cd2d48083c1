package pluginhost

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lateLook is how often a plugin is asked whether a late call has ended.
const lateLook = 100 * time.Millisecond

// watchFor notes a call that was given up at its deadline. Until it has ended, the
// plugin is passed over.
func (i *Instance) watchFor(v *version, hook pluginsdk.Hook, callID string) {
	i.router.lateBegins(v)
	i.crew.spawn("the watch over a late call", func() { i.watchLate(v, hook, callID) })
}

// watchLate ends a plugin whose call still goes on a while after its deadline,
// or that cannot even say whether it does. One that is late again and again is
// passed over for longer each time.
func (i *Instance) watchLate(v *version, hook pluginsdk.Hook, callID string) {
	grace := i.host.config.LateGrace
	defer i.router.lateEnds(v)
	// A call of that id may be counted here and not have reached the plugin yet (the next
	// attempt of the same call): that it is gone is believed when it is seen twice.
	for until, ended := time.Now().Add(grace), 0; ended < 2; {
		if !i.worksOn(v, callID) {
			if ended++; ended < 2 && !i.await(v, min(lateLook, grace)) {
				return
			}
			continue
		}
		ended = 0
		if time.Now().After(until) {
			v.blame(fmt.Sprintf("%s did not end within %s after its deadline", hook, grace))
			return
		}
		if !i.await(v, min(lateLook, grace)) {
			return
		}
	}
	i.await(v, min(grace<<min(i.router.delays(v), 8), i.host.config.BackoffMax)-grace)
}

// worksOn reports whether the plugin still works on a call that was given up:
// another attempt of it, under the same id, may be under way.
func (i *Instance) worksOn(v *version, callID string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.LateGrace)
	defer cancel()
	calls, err := v.process.InFlight(ctx)
	if err != nil {
		return true
	}
	n := len(slices.DeleteFunc(calls, func(id string) bool { return id != callID }))
	return n > i.router.underWay(v, callID)
}

// await waits, and reports whether the version is still there.
func (i *Instance) await(v *version, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.gone:
	case <-i.supervisor.done:
	}
	return false
}
