package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
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
	// recheckSoon is how long one waits at least that is parked again, and recheckRest how long at most one for which
	// turns at work hold what it needs.
	recheckSoon, recheckRest = 10 * time.Second, 10 * time.Minute
	// recheckSpread is within what time runs go on that wait for the same moment.
	recheckSpread = 20 * time.Second
	// recheckMissed is when a run is tried again that was parked while its plugin said that there is room.
	recheckMissed = time.Second
	// sameMoment is by how much two moments differ at most of which people are told as of one.
	sameMoment = 5 * time.Minute
)

// howToDrop stands behind what people are told of a run that waits for a gate.
const howToDrop = "To drop the message: /stop"

// parkedByGate returns how a run is parked that a gate does not let through, when it is tried again, and
// what its people are told; soon: when turns at work have ended, there is room again.
func (in *Inbox) parkedByGate(run ledger.Run, parked pluginsdk.Parked, soon bool) ledger.ParkedRun {
	now, last := in.config.Now().UTC(), run.LastParked
	again := last != nil && last.Plugin == parked.Plugin && last.Budget == parked.Budget && !last.Since.IsZero() && last.Since.Before(now)
	parked.Since = now
	if again {
		parked.Since = last.Since
	}
	due, least := now.Add(recheckEvery), now
	if again { // a plugin that repeats itself has the run wait all the same
		least = now.Add(recheckSoon)
	}
	switch {
	case soon: // as long again as it has waited
		due = now.Add(min(max(now.Sub(parked.Since), recheckSoon), recheckRest))
		parked.Until = due
	case !parked.Until.IsZero() && parked.Until.Before(due):
		if due = parked.Until; due.Before(least) {
			due = least
		}
	}
	if again && !soon && !last.Until.IsZero() && parked.Until.Sub(last.Until).Abs() < sameMoment {
		parked.Until = last.Until
	}
	spread := in.config.Jitter * float64(recheckSpread) * rand.Float64() //nolint:gosec // jitter, not a secret
	row := ledger.ParkedRun{RunID: run.ID, Parked: parked, Due: due.Add(time.Duration(spread))}
	if !soon || again { // most often turns at work are over a moment later
		row.Row = notice(gateKey(run.ID, parked, soon), in.told(parked)+" "+howToDrop)
	}
	return row
}

// gateKey is the same for each time that a run is parked for a budget which is free again at the same
// moment, or soon: its people are told once.
func gateKey(runID string, parked pluginsdk.Parked, soon bool) string {
	free := "0"
	switch {
	case soon:
		free = "soon"
	case !parked.Until.IsZero():
		free = strconv.FormatInt(parked.Until.Unix(), 10)
	}
	return fmt.Sprintf("%s%s:%s:%s:%s", ledger.ParkedKey, runID, parked.Plugin, parked.Budget, free)
}

// told says for people that a run is parked, why, and when it goes on.
func (in *Inbox) told(parked pluginsdk.Parked) string {
	if parked.Plugin == "" {
		return in.plan.Told(parked)
	}
	return fmt.Sprintf("The message waits: %s. It then continues by itself.", parked.Reason)
}

// moment is how far things had come when an attempt began.
type moment struct {
	rechecks uint64 // how often plugins had said that there is room
	ends     uint64 // how often a run had ended for which something was set aside
}

func (in *Inbox) thisMoment() moment {
	in.mu.Lock()
	defer in.mu.Unlock()
	return moment{in.rechecks, in.ends}
}

// recheck is what a plugin has said of its gate, or what has become of the plugin.
type recheck struct {
	number uint64    // of all rechecks, its last
	not    time.Time // before which its runs are not tried again for it
	putOff bool      // they are to be then
}

const (
	// recheckPause is how long after its runs were tried again a plugin can have them tried again, with recheckEach for
	// each of them, and recheckPauseMost at most.
	recheckPause, recheckEach, recheckPauseMost = time.Second, 5 * time.Millisecond, time.Minute
)

// Recheck has the runs go on that wait for the gate of a plugin. Those for which there is still no
// room are parked again. A plugin may say so as often as it likes: its runs are tried again after a pause then.
func (in *Inbox) Recheck(ctx context.Context, plugin string) error {
	if !in.noteRecheck(plugin, in.config.Now()) {
		return nil
	}
	return in.recheckNow(ctx, plugin)
}

// noteRecheck notes that the runs of a plugin's gate are to be tried again, and reports whether they may be now.
func (in *Inbox) noteRecheck(plugin string, now time.Time) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rechecks++
	one := in.rechecked[plugin]
	one.number = in.rechecks
	one.putOff = now.Before(one.not) && one.not.Sub(now) <= recheckPauseMost // not when the clock was set back
	if !one.putOff {
		one.not = now.Add(recheckPause)
	}
	in.rechecked[plugin] = one
	return !one.putOff
}

// PluginChanged has the runs be tried again within seconds that wait for the gate of a plugin which was turned on or
// off, was removed, or has begun or ended: it may say something else now, or is not asked any more. It waits for nothing.
func (in *Inbox) PluginChanged(plugin string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rechecks++
	one := in.rechecked[plugin]
	one.number, one.putOff = in.rechecks, true
	in.rechecked[plugin] = one
}

// recheckPutOff does what was put off.
func (in *Inbox) recheckPutOff(ctx context.Context) error {
	now := in.config.Now()
	var due []string
	in.mu.Lock()
	for plugin, one := range in.rechecked {
		if !one.putOff || now.Before(one.not) && one.not.Sub(now) <= recheckPauseMost {
			continue
		}
		if one.not, one.putOff = now.Add(recheckPause), false; in.gated {
			due = append(due, plugin)
		}
		in.rechecked[plugin] = one
	}
	in.mu.Unlock()
	var failed []error
	for _, plugin := range due {
		failed = append(failed, in.recheckNow(ctx, plugin))
	}
	return errors.Join(failed...)
}

// recheckNow has the runs of a plugin's gate be tried again, and notes when they may be again. After an error that is
// still to be done.
func (in *Inbox) recheckNow(ctx context.Context, plugin string) error {
	n, err := in.hasten(ctx, plugin, in.config.Now().UTC())
	in.mu.Lock()
	defer in.mu.Unlock()
	one := in.rechecked[plugin]
	one.not = one.not.Add(min(time.Duration(n)*recheckEach, recheckPauseMost-recheckPause))
	one.putOff = one.putOff || err != nil
	in.rechecked[plugin] = one
	return err
}

// missed has a run go on, and others of its gate, that was parked by an attempt since whose beginning the
// plugin has said that there is room: the gate may have answered before that.
func (in *Inbox) missed(ctx context.Context, log *slog.Logger, w *worker, plugin string, began moment) {
	in.mu.Lock()
	in.gated = true
	moved := in.rechecked[plugin].number > began.rechecks
	in.mu.Unlock()
	if moved {
		in.conclude(log, w, func() error {
			_, err := in.hasten(ctx, plugin, in.config.Now().UTC().Add(recheckMissed))
			return err
		})
	}
}

// hasten has the runs that wait for the gate of a plugin be tried again then, if they are due later, and returns how
// many they are.
func (in *Inbox) hasten(ctx context.Context, plugin string, at time.Time) (int, error) {
	queues, err := in.store.HastenGate(ctx, plugin, at, at)
	in.wakeAll(queues)
	if len(queues) > 0 {
		in.config.Log.Info("runs that wait for a plugin's gate are tried again", "plugin", plugin, "runs", len(queues))
	}
	return len(queues), err
}

// recheckStuck has the runs be tried again that are due later than any gate has a run wait: the clock was
// ahead when they were parked.
func (in *Inbox) recheckStuck(ctx context.Context) error {
	now := in.config.Now().UTC()
	queues, err := in.store.HastenGate(ctx, "", now.Add(recheckEvery+recheckSpread), now)
	in.wakeAll(queues)
	return err
}
