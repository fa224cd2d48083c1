package pluginhost

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lateLook is how often a plugin is asked whether it still works on a late call.
const lateLook = 100 * time.Millisecond

// watchFor notes a call that was given up at its deadline. The version is passed over
// until that call has ended.
func (i *Instance) watchFor(v *version, hook pluginsdk.Hook, callID string) {
	i.router.lateBegins(v)
	i.crew.spawn("the watch over a late call", func() { i.watchLate(v, hook, callID) })
}

// watchLate waits until the plugin has ended the late call. It blames the version for a
// call that goes on for longer than Config.LateGrace after its deadline, and for not
// answering whether it does. A version that is late repeatedly is passed over for longer
// each time.
func (i *Instance) watchLate(v *version, hook pluginsdk.Hook, callID string) {
	grace, givenUp := i.host.config.LateGrace, time.Now()
	defer i.router.lateEnds(v)
	// The next attempt of the same call has the same id, and may be counted here before
	// it reaches the plugin. So the late call must be found gone twice.
	for until, ended := givenUp.Add(grace), 0; ended < 2; {
		if !i.worksOn(v, callID, givenUp) {
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

// worksOn reports whether the plugin still works on a call that was given up: whether one
// of that id began before, or the plugin has more of them than are under way here. Without
// an answer it does.
func (i *Instance) worksOn(v *version, callID string, givenUp time.Time) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.LateGrace)
	defer cancel()
	calls, err := v.process.InFlightCalls(ctx)
	if err != nil {
		return true
	}
	n := 0
	for _, call := range calls {
		if call.ID != callID {
			continue
		}
		if began := call.StartedAt; !began.IsZero() && began.Before(givenUp) {
			return true
		}
		n++
	}
	return n > i.router.underWay(v, callID)
}

// await waits, and reports whether the version still runs.
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
