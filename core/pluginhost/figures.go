package pluginhost

import (
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// slowInRun is how long a call in a run takes before it counts as slow.
const slowInRun = time.Second

// figures are what an instance counts of its plugin. Any goroutine may count.
type figures struct {
	mu      sync.Mutex
	since   time.Time
	hooks   map[pluginsdk.Hook]*tally.Calls
	slow    int64                     // calls in runs that took longer than slowInRun
	dropped int64                     // rows of effects that were not stored
	usage   map[*version]launch.Usage // of the versions whose processes run
	spent   float64                   // CPU seconds of the versions that have ended
	dirty   bool                      // something was counted since the figures were last stored
	saved   time.Time
}

func newFigures() *figures {
	return &figures{
		since: time.Now(), hooks: make(map[pluginsdk.Hook]*tally.Calls), usage: make(map[*version]launch.Usage),
	}
}

func (f *figures) record(hook pluginsdk.Hook, took time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hooks[hook]
	if h == nil {
		h = &tally.Calls{}
		f.hooks[hook] = h
	}
	h.Record(took, err)
	f.dirty = true
}

func (f *figures) waited() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow++
	f.dirty = true
}

func (f *figures) countDropped(rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped += int64(rows)
	f.dirty = true
}

// measured keeps the latest measurement of a version's processes.
func (f *figures) measured(v *version, usage launch.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.usage[v] = usage
}

// ended adds the CPU seconds of a version that has ended to the total.
func (f *figures) ended(v *version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spent += f.usage[v].CPUSeconds
	delete(f.usage, v)
}

// snapshot returns the figures as they are now, without the plugin's calls to the host.
func (f *figures) snapshot(restarts int) pluginsdk.PluginFigures {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := pluginsdk.PluginFigures{
		Hooks: make(map[pluginsdk.Hook]pluginsdk.CallFigures, len(f.hooks)),
		Slow:  f.slow, RowsDropped: f.dropped,
		CPUSeconds: f.spent, Restarts: restarts, Since: f.since, At: time.Now(),
	}
	for _, usage := range f.usage {
		now.RSSBytes += usage.RSSBytes
		now.CPUSeconds += usage.CPUSeconds
		now.Processes += usage.Processes
	}
	for hook, h := range f.hooks {
		calls := h.Figures()
		now.Calls += calls.Calls
		now.Errors += calls.Errors
		now.Timeouts += calls.Timeouts
		now.Hooks[hook] = calls
	}
	return now
}

// The figures are stored for readers of the database, while the daemon is down or without
// the web: soon after calls, seldom without.
const (
	saveBusy = 2 * time.Second
	saveIdle = time.Minute
)

// due reports whether the caller has to store the figures now, and notes that it does.
func (f *figures) due(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := saveIdle
	if f.dirty {
		wait = saveBusy
	}
	if now.Sub(f.saved) < wait {
		return false
	}
	f.dirty, f.saved = false, now
	return true
}

// checksMissed is how many checks in a row a plugin may leave unanswered before its own figures are not shown any more.
const checksMissed = 3

// OwnFigures returns the figures that plugins tell of themselves (OnCheckResponse), by plugin.
func (h *Host) OwnFigures() map[string][]pluginsdk.Figure {
	all := make(map[string][]pluginsdk.Figure)
	h.current.Range(func(name, instance any) bool {
		if own := instance.(*Instance).report.ownFigures(checksMissed * h.config.CheckEvery); len(own) > 0 { //nolint:forcetypeassert // nothing else is stored
			all[name.(string)] = own //nolint:forcetypeassert // nothing else is a key
		}
		return true
	})
	return all
}
