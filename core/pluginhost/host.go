// Package pluginhost makes the registry in the database true: one supervised
// instance for each plugin that a row says should run. It follows changes of
// the rows while running, whoever makes them.
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
	cgroups  *launch.Cgroups // nil where the system does not let the daemon have any
	logs     *logs
	pins     pins
	shipped  shipped.Table
	slow     time.Duration // slowInRun, but for tests

	// order is the enabled plugins in the operator's order; it is replaced
	// whole, so that readers need no lock.
	order atomic.Pointer[[]*Instance]
	// current is the newest instance of each name, the one that is ending
	// included: its calls keep their grants until they are over.
	current   sync.Map
	speakers  speakers
	held      sync.Map             // the runs that are under way
	instances map[string]*Instance // the sync loop's own
	starting  []*Instance          // those of the daemon's start, for Ready
	readings  atomic.Int64         // of the registry, begun
	seen      map[string]bool      // the names of the last reading; the sync loop's own
	ending    map[string]*Instance // the last one of a name that was retired
	stop      context.CancelFunc
	done      chan struct{}
	kick      chan struct{}
	endings   sync.WaitGroup
}

// New returns a Host. The API is first asked when a plugin is started.
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

// Start registers the binaries of Config.Dir, starts every enabled plugin in
// parallel and follows the registry from then on. It does not wait for the
// plugins; Ready does. After an error nothing was started, and it may be called
// again.
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
	h.syncOnce(ctx, run) // follow tries again
	h.starting = slices.AppendSeq([]*Instance{}, maps.Values(h.instances))
	go h.follow(run)
	return nil
}

// openCgroups lets the kernel hold the plugins' limits, where it can.
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

// clearSockets removes the sockets that a predecessor that was killed left
// behind.
func (h *Host) clearSockets() error {
	if len(h.config.Sockets) > launch.MaxSocketDir {
		h.config.Sockets = "" // too long for a socket's address: the system's directory
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

// Outage is a plugin that is enabled and does not serve.
type Outage struct {
	Plugin string
	State  pluginsdk.PluginState
	Why    string // its last error; empty: there is none yet
}

// Outages returns the plugins that are enabled and do not serve at this moment, in the
// operator's order.
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

// Refresh makes the host read the registry now instead of at its next turn.
func (h *Host) Refresh() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// follow is the loop; sync its logic.
func (h *Host) follow(ctx context.Context) {
	defer close(h.done)
	ticker := time.NewTicker(h.config.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.kick:
		}
		h.syncOnce(ctx, ctx)
	}
}

// syncOnce is a round of the loop.
func (h *Host) syncOnce(ctx, run context.Context) {
	err := guard.Call(h.config.Log, "the plugin registry", func() error { return h.sync(ctx, run) })
	if err != nil && ctx.Err() == nil {
		h.config.Log.Warn("plugin registry cannot be followed; trying again", "err", err)
	}
}

// sync makes what runs follow the rows. run is the life of what it starts.
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
			h.retire(instance) // nobody is sent to it any more
			continue
		}
		instance.report.flush(ctx)
	}
	for name := range h.seen {
		if _, there := enabled[name]; !there && h.config.Gone != nil {
			h.config.Gone(name)
		}
	}
	h.seen = enabled
	return nil
}

// lineup puts instances into the operator's order, and notes on each that takes part
// in runs which of its commands and sources another one of them has.
func (h *Host) lineup(instances []*Instance) *[]*Instance {
	slices.SortFunc(instances, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.Info().Position, b.Info().Position), cmp.Compare(a.name, b.name))
	})
	h.markConflicts(slices.DeleteFunc(slices.Clone(instances), func(i *Instance) bool { return !i.router.takesPart() }))
	return &instances
}

// correctState corrects what a predecessor that died left in the row of a plugin
// that is off.
func (h *Host) correctState(ctx context.Context, row ledger.Plugin) {
	if row.State == pluginsdk.PluginDisabled && row.Serving == "" {
		return
	}
	if last := h.ending[row.Name]; last != nil && !last.hasGone() {
		return // it writes its own last state
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

// retire ends an instance without holding up the others. A row that is enabled
// again meanwhile gets a new instance, whose process waits for the old one to
// be gone.
func (h *Host) retire(instance *Instance) {
	instance.log.Info("plugin was turned off, or removed, and is ended")
	delete(h.instances, instance.name)
	h.ending[instance.name] = instance
	h.endings.Go(func() { instance.end(pluginsdk.PluginDisabled) })
}

// unreadable reports whether the row's column was broken by hand.
func unreadable(row ledger.Plugin, column string) bool {
	for problem := range strings.SplitSeq(row.Problem, "; ") {
		if strings.HasPrefix(problem, column+":") {
			return true
		}
	}
	return false
}
