package pluginhost

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// signal wakes who waits for a change. The lock is held.
func (i *Instance) signal() {
	close(i.changed)
	i.changed = make(chan struct{})
}

// setState records, broadcasts and has stored a state. The last error stays
// until another one replaces it, so that an operator can read what happened. It
// waits for nothing.
func (i *Instance) setState(state pluginsdk.PluginState, lastError string, nextTry time.Time) {
	i.mu.Lock()
	announce := i.setStateLocked(state, lastError, nextTry)
	i.mu.Unlock()
	announce()
}

// setStateLocked is setState under the lock. What it returns broadcasts the
// state, and is to be called once the lock is released.
func (i *Instance) setStateLocked(state pluginsdk.PluginState, lastError string, nextTry time.Time) (announce func()) {
	if lastError == "" {
		lastError = i.lastErr
	}
	same := i.state == state && i.lastErr == lastError
	i.state, i.lastErr, i.nextTry = state, lastError, nextTry
	i.signal()
	i.record()
	if same && state != pluginsdk.PluginStarting {
		return func() {}
	}
	return func() {
		i.host.events.Publish(pluginsdk.EventPluginState, "", pluginsdk.PluginStatePayload{
			Name: i.name, State: state, LastError: lastError,
		})
	}
}

// record has stored what has changed of what is seen of the plugin. The lock is
// held.
func (i *Instance) record() {
	seen := i.seen()
	if seen == i.recorded || i.reporting || i.ended {
		return
	}
	i.reporting = true
	i.tasks.Go(func() {
		if guard.Try(i.log, "the state of a plugin", i.report) {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.reporting = false // the next reading of the registry finds that it is not stored
		}
	})
}

// report stores what is seen until the newest is stored: of several changes that
// came meanwhile only the last matters.
func (i *Instance) report() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
		stored := i.saveState(ctx)
		cancel()
		i.mu.Lock()
		if stored == i.seen() {
			i.reporting = false
			i.mu.Unlock()
			return
		}
		i.mu.Unlock()
	}
}

// seen is what the row should say now. The lock is held.
func (i *Instance) seen() ledger.PluginSeen {
	seen := ledger.PluginSeen{
		State: i.state, LastError: i.lastErr, Restarts: i.restarts, Settled: i.reached, Rejected: i.rejected,
	}
	if i.serving != nil {
		seen.Serving = i.serving.row.SHA256
	}
	return seen
}

// saveState stores what is seen, and returns it. What cannot be stored is right
// in memory, and stored with the next.
func (i *Instance) saveState(ctx context.Context) ledger.PluginSeen {
	i.mu.Lock()
	seen := i.seen()
	i.recorded = seen
	i.mu.Unlock()
	if err := i.host.store.SavePluginState(ctx, i.name, seen); err != nil {
		i.log.Warn("state of a plugin cannot be stored", "state", seen.State, "err", err)
	}
	return seen
}

// setOutcome is setState for the end of a start that failed, of what the row was
// then; nil: it was none.
func (i *Instance) setOutcome(row *ledger.Plugin, state pluginsdk.PluginState, lastError string, nextTry time.Time) {
	i.mu.Lock()
	if row != nil {
		i.rejected, i.reached = row.SHA256, row.Generation
	}
	announce := i.setStateLocked(state, lastError, nextTry)
	i.mu.Unlock()
	announce()
}

// carriedOut notes that what serves is what the row wants. A version that could
// not take over is wanted no more, and what was said of it is forgotten.
func (i *Instance) carriedOut(row *ledger.Plugin) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rejected != "" && i.lastErr == i.setback.words {
		i.lastErr = ""
	}
	i.rejected, i.reached = "", row.Generation
	i.record()
}

func (i *Instance) lastError() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lastErr
}

func (i *Instance) setConflict(words string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if words != "" && words != i.conflict {
		i.log.Warn("plugin wants what is another's, who comes first", "conflicts", words)
	}
	i.conflict = words
}

// live puts what is known at this moment into a row of the registry.
func (i *Instance) live(row *ledger.Plugin) {
	i.mu.Lock()
	seen := i.seen()
	row.State, row.LastError, row.Restarts, row.Quarantine = seen.State, seen.LastError, seen.Restarts, i.confined.reason
	row.Settled, row.Serving, row.Rejected = seen.Settled, seen.Serving, seen.Rejected
	if !i.checkedAt.IsZero() {
		row.Checks, row.CheckedAt = i.checks, i.checkedAt
	}
	problems := []string{row.Problem}
	if i.conflict != "" {
		problems = append(problems, i.conflict)
	}
	i.mu.Unlock()
	if settings := i.settings.Load(); settings != nil && settings.Problem != "" {
		problems = append(problems, settings.Problem)
	}
	row.Problem = strings.Join(slices.DeleteFunc(problems, func(p string) bool { return p == "" }), "; ")
	row.Figures = i.figuresNow(row.Restarts)
}

// joined reports whether the plugin takes part in runs: since its first start
// has succeeded or failed; at once when no run was begun before, or when one must
// not go on without it.
func (i *Instance) joined() bool {
	if i.first {
		return true
	}
	select {
	case <-i.tried:
		return true
	default:
	}
	info := i.Info()
	return slices.ContainsFunc(info.Manifest.Hooks, func(hook pluginsdk.Hook) bool {
		return info.FailureMode(hook) == pluginsdk.FailClosed
	})
}

// update takes over what an operator changed in the row. Of a row that was
// broken by hand only the place in the order is, and whether it is in
// quarantine; the rest stays as it was. The loop does the rest.
func (i *Instance) update(row ledger.Plugin) {
	defer i.nudge()
	i.mu.Lock()
	i.recorded = ledger.SeenOf(row)
	if row.LastError == "" && row.Generation > i.wanted.Load().Generation {
		i.lastErr = "" // an operator has done with it
	}
	seen := i.seen()
	seen.LastError = i.recorded.LastError // it is stored with the next: one in the row may be shorter, or emptied
	if seen != i.recorded {
		i.record()
	}
	i.confined.follow(row.Quarantine, i.host.readings.Load())
	row.Quarantine = i.confined.reason
	i.mu.Unlock()
	if row.Problem != "" {
		i.change(func(info *ledger.Plugin) {
			info.Position, info.Problem, info.Quarantine = row.Position, row.Problem, row.Quarantine
		})
		return
	}
	i.wanted.Store(&row)
	i.change(func(info *ledger.Plugin) {
		*info = row
		if v := i.current(); v != nil { // the process knows better
			info.Manifest, info.Version = v.process.Manifest(), v.process.Manifest().Version
		}
	})
}

// current returns the version that serves, if one does.
func (i *Instance) current() *version {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.serving
}
