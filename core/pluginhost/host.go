// Package pluginhost runs what the registry in the database says: one supervised instance
// for each plugin that is enabled. It follows changes of the rows while it runs, whoever
// makes them.
package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Host supervises the plugins.
type Host struct {
	config   Config
	store    Store
	events   Events
	api      API
	launcher *launch.Launcher
	cgroups  *launch.Cgroups // nil where the daemon cannot have any
	logs     *logs
	pins     pins
	shipped  shipped.Table
	slow     time.Duration // slowInRun; tests set another

	// order is the enabled plugins in the operator's order. It is replaced whole, so that
	// readers need no lock.
	order atomic.Pointer[[]*Instance]
	// current is the newest instance of each name. An instance stays in it while it ends,
	// and after: the calls under way keep their grants until they are over.
	current   sync.Map
	speakers  speakers
	held      sync.Map             // by run: true while the run is under way
	instances map[string]*Instance // by name; only the sync loop uses it
	starting  []*Instance          // the instances of the daemon's start, for Ready
	readings  atomic.Int64         // how many readings of the registry were begun
	seen      map[string]bool      // by name: enabled at the last reading; only the sync loop uses it
	ending    map[string]*Instance // the last retired instance of each name
	stop      context.CancelFunc
	done      chan struct{}
	kick      chan struct{}
	endings   sync.WaitGroup
}

// New returns a Host. It uses the API from the first start of a plugin on.
func New(config Config, store Store, events Events, api API) *Host {
	h := &Host{
		config: config.withDefaults(), store: store, events: events, api: api,
		launcher: launch.NewLauncher(), logs: newLogs(config.Logs), shipped: shipped.Plugins, slow: slowInRun,
		instances: make(map[string]*Instance), ending: make(map[string]*Instance),
		done: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	h.order.Store(&[]*Instance{})
	return h
}

// Start registers the executables of Config.Dir, starts every enabled plugin in parallel
// and follows the registry from then on. It does not wait for the plugins; Ready does.
// After an error nothing was started, and Start may be called again.
func (h *Host) Start(ctx context.Context) error {
	if err := h.discover(ctx); err != nil {
		return err
	}
	if err := h.clearSockets(); err != nil {
		return err
	}
	if _, err := h.store.Plugins(ctx); err != nil {
		return fmt.Errorf("read the plugin registry: %w", err)
	}
	h.openCgroups()
	h.launcher.Start()
	run, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.syncOnce(ctx, run) // after an error follow tries again
	h.starting = slices.AppendSeq([]*Instance{}, maps.Values(h.instances))
	go h.follow(run)
	return nil
}

// openCgroups has the kernel enforce the plugins' limits, where it can.
func (h *Host) openCgroups() {
	if h.config.Cgroups == "" || h.cgroups != nil {
		return
	}
	cgroups, err := launch.OpenCgroups(h.config.Cgroups, h.config.Owner)
	if err != nil {
		h.config.Log.Info("the kernel does not hold the plugins' limits: memory and processes are watched, CPU is not limited", "why", err)
		return
	}
	h.cgroups = cgroups
}

// clearSockets removes the sockets of an earlier daemon that was killed.
func (h *Host) clearSockets() error {
	if len(h.config.Sockets) > launch.MaxSocketDir {
		h.config.Sockets = "" // too long for a socket's address: use the system's directory
	}
	if h.config.Sockets == "" {
		return nil
	}
	left, err := filepath.Glob(filepath.Join(h.config.Sockets, "plugin-dir*"))
	if err != nil {
		return fmt.Errorf("look for sockets left behind: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove sockets left behind: %w", err)
		}
	}
	if err := os.MkdirAll(h.config.Sockets, 0o700); err != nil {
		return fmt.Errorf("make the directory of plugin sockets: %w", err)
	}
	return nil
}

// Ready waits until every enabled plugin serves or has failed to start once,
// or until ctx ends.
func (h *Host) Ready(ctx context.Context) error {
	for _, instance := range h.starting {
		select {
		case <-instance.router.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Outage is an enabled plugin that does not serve.
type Outage struct {
	Plugin string
	State  pluginsdk.PluginState
	Why    string // the plugin's last error; empty: none yet
}

// Outages returns the enabled plugins that do not serve at this moment, in the operator's
// order.
func (h *Host) Outages() (outages []Outage) {
	for _, instance := range *h.order.Load() {
		if instance.router.current() == nil {
			seen := instance.report.now()
			outages = append(outages, Outage{Plugin: instance.name, State: seen.State, Why: seen.LastError})
		}
	}
	return outages
}

// Stop ends all plugins in parallel, each within Config.StopTimeout.
func (h *Host) Stop(context.Context) error {
	if h.stop == nil {
		return nil
	}
	h.stop()
	<-h.done
	for _, instance := range h.instances {
		h.endings.Go(func() { instance.end(pluginsdk.PluginStopped) })
	}
	h.endings.Wait()
	h.launcher.Stop()
	h.logs.close()
	return nil
}

// Refresh makes the host read the registry now instead of at its next turn. It does not
// wait for that.
func (h *Host) Refresh() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// restPolls is after how many Config.Poll the registry is followed although it rests: what failed
// without a trace in a plugin's state is tried again then.
const restPolls = 5

// follow calls syncOnce after each Refresh, and every Config.Poll until ctx ends. While the registry
// rests (nobody has committed anything, and every plugin serves as its row wants it), it does so
// every restPolls of these.
func (h *Host) follow(ctx context.Context) {
	defer close(h.done)
	ticker := guard.NewTicker(h.config.Poll)
	defer ticker.Stop()
	followed, left := int64(0), 0 // the version of the database that was followed, and how many polls may still be left out
	for {
		kicked := false
		select {
		case <-ctx.Done():
			return
		case <-ticker.Next():
		case <-h.kick:
			kicked = true
		}
		guard.Try(h.config.Log, "the plugin registry", func() {
			version, known := h.store.Version(ctx) // before it is read
			if left--; !kicked && known && version == followed && left >= 0 && h.rests() {
				h.flush(ctx)
				return
			}
			followed, left = 0, 0 // until this has succeeded
			if h.syncOnce(ctx, ctx) && known {
				followed, left = version, restPolls-1
			}
		})
	}
}

// rests reports whether every plugin serves as its row wants it, and has nothing left to store.
func (h *Host) rests() bool {
	for _, instance := range h.instances {
		if !instance.report.rests(instance.row.Load().Generation) {
			return false
		}
	}
	return true
}

// flush stores what was counted of the plugins.
func (h *Host) flush(ctx context.Context) {
	for _, instance := range h.instances {
		instance.report.flush(ctx)
	}
}

// syncOnce calls sync, logs an error or a panic, and reports whether there was none.
func (h *Host) syncOnce(ctx, run context.Context) bool {
	err := guard.Call(h.config.Log, "the plugin registry", func() error { return h.sync(ctx, run) })
	if err != nil && ctx.Err() == nil {
		h.config.Log.Warn("plugin registry cannot be followed; trying again", "err", err)
	}
	return err == nil
}

// sync reads the registry, and begins, updates and retires instances to match the rows.
// ctx bounds the reading; the instances that it begins run until run ends.
func (h *Host) sync(ctx, run context.Context) error {
	h.readings.Add(1)
	rows, err := h.store.Plugins(ctx)
	if err != nil {
		return err
	}
	h.listSpeakers(rows)
	running := make([]*Instance, 0, len(rows))
	var changed []func()
	enabled := make(map[string]bool, len(rows))
	for _, row := range rows {
		instance := h.instances[row.Name]
		if instance != nil && unreadable(row, "enabled") {
			row.Enabled = true // the last good value stays in force
		}
		enabled[row.Name] = row.Enabled
		switch {
		case row.Enabled && instance == nil:
			instance = h.begin(run, row)
		case !row.Enabled && instance != nil:
			continue
		case !row.Enabled:
			h.correctState(ctx, row)
			continue
		default:
			changed = append(changed, instance.update(row, h.readings.Load()))
		}
		running = append(running, instance)
	}
	h.order.Store(h.lineup(running))
	for _, supervise := range changed { // what is said to be carried out holds in the new order
		supervise()
	}
	for name, instance := range h.instances {
		if !enabled[name] {
			h.retire(instance) // h.order no longer has it, so it gets no new calls
		}
	}
	h.flush(ctx)
	for name := range h.seen {
		if _, there := enabled[name]; !there && h.config.Gone != nil {
			h.config.Gone(name)
		}
	}
	h.seen = enabled
	return nil
}

// lineup sorts instances into the operator's order. On those that take part in runs it
// notes which of their commands and sources another one owns.
func (h *Host) lineup(instances []*Instance) *[]*Instance {
	slices.SortFunc(instances, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.Info().Position, b.Info().Position), cmp.Compare(a.name, b.name))
	})
	h.markConflicts(slices.DeleteFunc(slices.Clone(instances), func(i *Instance) bool { return !i.router.takesPart() }))
	return &instances
}

// correctState corrects the state in the row of a plugin that is off, when a daemon that
// died has left a wrong one.
func (h *Host) correctState(ctx context.Context, row ledger.Plugin) {
	if row.State == pluginsdk.PluginDisabled && row.Serving == "" {
		return
	}
	if last := h.ending[row.Name]; last != nil && !last.hasGone() {
		return // the instance writes its last state itself
	}
	seen := ledger.SeenOf(row)
	seen.State, seen.Serving = pluginsdk.PluginDisabled, ""
	if err := h.store.SavePluginSeen(ctx, row.Name, seen); err != nil {
		h.config.Log.Warn("state of a plugin cannot be stored", "plugin", row.Name, "err", err)
	}
}

func (h *Host) begin(run context.Context, row ledger.Plugin) *Instance {
	instance := newInstance(h, row, h.starting == nil)
	h.instances[row.Name] = instance
	h.current.Store(row.Name, instance)
	instance.start(run, h.ending[row.Name])
	return instance
}

// retire ends an instance in the background. When its row is enabled again meanwhile, the
// new instance waits for the end of the old one before it starts a process.
func (h *Host) retire(instance *Instance) {
	instance.log.Info("plugin was turned off, or removed, and is ended")
	delete(h.instances, instance.name)
	h.ending[instance.name] = instance
	h.endings.Go(func() { instance.end(pluginsdk.PluginDisabled) })
}

// unreadable reports whether the column of the row was broken by hand.
func unreadable(row ledger.Plugin, column string) bool {
	for problem := range strings.SplitSeq(row.Problem, "; ") {
		if strings.HasPrefix(problem, column+":") {
			return true
		}
	}
	return false
}
