package inbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs that wait for a plugin's gate (pluginsdk.Wait), such as for a budget. They are parked as runs
// are that wait for a plan, and go on when the gate has room again, when its plugin says so, and,
// to be safe, every hour: the plugin may be off by then, or the clock was set.

const (
	// recheckEvery is how long a run waits for a gate at most before it is put to it again.
	recheckEvery = time.Hour
	// recheckSoon is how long one waits for which turns at work hold what it needs.
	recheckSoon = 10 * time.Second
	// recheckSpread is within what time runs go on that wait for the same moment.
	recheckSpread = 20 * time.Second
)

// howToDrop stands behind what people are told of a run that waits for a gate.
const howToDrop = "To drop the message: /stop"

// parkedByGate returns how a run is parked that a gate does not let through, and when it is tried again;
// soon: when turns at work have ended, there is room again.
func (in *Inbox) parkedByGate(parked pluginsdk.Parked, last *pluginsdk.Parked, soon bool) (pluginsdk.Parked, time.Time) {
	now := in.config.Now().UTC()
	parked.Since = now
	if last != nil && last.Plugin == parked.Plugin && last.Budget == parked.Budget && !last.Since.IsZero() && last.Since.Before(now) {
		parked.Since = last.Since
	}
	if soon {
		return parked, now.Add(recheckSoon)
	}
	due := now.Add(recheckEvery)
	if !parked.Until.IsZero() && parked.Until.Before(due) {
		due = parked.Until
		if due.Before(now) { // a plugin that repeats itself has the run wait all the same
			due = now.Add(time.Minute)
		}
	}
	spread := in.config.Jitter * float64(recheckSpread) * rand.Float64() //nolint:gosec // jitter, not a secret
	return parked, due.Add(time.Duration(spread))
}

// gateKey is the same for each time that a run is parked for a budget which is free again at the same
// moment: its people are told once.
func gateKey(runID string, parked pluginsdk.Parked) string {
	free := int64(0)
	if !parked.Until.IsZero() {
		free = parked.Until.Unix()
	}
	return fmt.Sprintf("%s%s:%s:%s:%d", ledger.ParkedKey, runID, parked.Plugin, parked.Budget, free)
}

// told says for people that a run is parked, why, and when it goes on.
func (in *Inbox) told(parked pluginsdk.Parked) string {
	if parked.Plugin == "" {
		return in.plan.Told(parked)
	}
	return fmt.Sprintf("The message waits: %s. It continues by itself.", parked.Reason)
}

// Recheck has the runs go on that wait for the gate of a plugin. Those for which there is still no
// room are parked again.
func (in *Inbox) Recheck(ctx context.Context, plugin string) error {
	now := in.config.Now().UTC()
	queues, err := in.store.HastenParked(ctx, now, func(parked pluginsdk.Parked, _ bool) time.Time {
		if parked.Plugin == plugin {
			return now
		}
		return time.Time{}
	})
	for _, queue := range queues {
		in.lanes.Wake(queue)
	}
	if len(queues) > 0 {
		in.config.Log.Info("runs that wait for a plugin's gate are tried again", "plugin", plugin, "runs", len(queues))
	}
	return err
}
