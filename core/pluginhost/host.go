// Package pluginhost makes the registry in the database true: one supervised
// instance for each plugin that a row says should run. It follows changes of
// the rows while running, whoever makes them.
package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Store is what the host needs of the database.
type Store interface {
	Plugins(ctx context.Context) ([]pluginsdk.PluginInfo, error)
	RegisterPlugin(ctx context.Context, info pluginsdk.PluginInfo) error
	SetPluginQuarantine(ctx context.Context, name, reason string) error
	SetPluginGrants(ctx context.Context, name string, granted []pluginsdk.Capability, env []string) error
	SavePluginLedger(ctx context.Context, name string, ledger pluginsdk.PluginLedger) error
	Audit(ctx context.Context, who, action, target, detail string) error
	SavePluginManifest(ctx context.Context, name string, manifest pluginsdk.Manifest) error
	SavePluginState(ctx context.Context, name string, state pluginsdk.PluginState, lastError string, restarts int) error
	AddPluginFailures(ctx context.Context, name string, failures int64, lastError string) error
}

// Events is the event bus.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
	// Subscribe delivers events of the types until stop is called.
	Subscribe(name string, types []string, deliver func(context.Context, []pluginsdk.Event) error) (stop func())
}

// API makes the services that plugins may call.
type API interface {
	// For returns the services of one plugin.
	For(plugin string) pluginsdk.Host
	// Admit says whether the plugin may make a call that needs the capability.
	Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	Dir     string            // where the plugin binaries are
	Owner   string            // installation id, marks every child process
	Provide map[string]string // environment that plugins may ask for, by name
	Sockets string            // directory for the plugins' sockets; default the system's
	Cgroups string            // where cgroup v2 is mounted; empty: limits are held by watching alone
	Logs    string            // directory for the plugins' logs; empty keeps none
	Dev     bool              // plugins may run under a debugger

	// Verify is asked before each start whether the executable is the one that
	// was pinned. Nil accepts any.
	Verify func(row pluginsdk.PluginInfo) error
	// Settings returns what a plugin is given for its row. Nil gives the row's.
	Settings func(ctx context.Context, row pluginsdk.PluginInfo) (Settings, error)
	// Reserved are the commands of the core, which no plugin can have.
	Reserved []string

	Poll         time.Duration // how often the registry is read; default 1 s
	StartTimeout time.Duration // from process start to serving; default 10 s
	StopTimeout  time.Duration // drain, deactivate and end; default 5 s
	BackoffBase  time.Duration // wait before the first restart; doubles; default 1 s
	BackoffMax   time.Duration // default 1 min
	Patience     time.Duration // how long a hook that must not be passed over waits for its plugin; default 5 s
	LateGrace    time.Duration // how long past its deadline a call may go on; default 5 s
	// Handover is how long runs that began with a version keep to it once it
	// was replaced; default 5 min.
	Handover time.Duration
	// Watch is how often a plugin's processes are looked at; default 1 s. Its
	// health is asked for at every fifth look.
	Watch time.Duration
	// A plugin that failed Failures times within Window is put in quarantine;
	// default 5 in 10 min.
	Failures int
	Window   time.Duration
	// Limits of a plugin whose row sets none; default 1 GiB, 64 processes,
	// 1024 open files, all of the CPU.
	Limits pluginsdk.PluginLimits
	Log    *slog.Logger
}

// Settings are what a plugin is configured with.
type Settings struct {
	Values json.RawMessage // defaults and secrets filled in
	// Redact takes the secrets out of a text; nil: there are none.
	Redact func(text string) string
	// Problem says what is wrong with the row's settings; the last good ones
	// stay in force.
	Problem string
}

func (c Config) withDefaults() Config {
	for field, value := range map[*time.Duration]time.Duration{
		&c.Poll: time.Second, &c.StartTimeout: 10 * time.Second, &c.StopTimeout: 5 * time.Second,
		&c.BackoffBase: time.Second, &c.BackoffMax: time.Minute,
		&c.Patience: 5 * time.Second, &c.LateGrace: 5 * time.Second, &c.Handover: 5 * time.Minute,
		&c.Watch: time.Second, &c.Window: 10 * time.Minute,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if c.Failures == 0 {
		c.Failures = 5
	}
	c.Limits = limitsOf(c.Limits, pluginsdk.PluginLimits{MemoryBytes: 1 << 30, Processes: 64, OpenFiles: 1024})
	if c.Settings == nil {
		c.Settings = func(_ context.Context, row pluginsdk.PluginInfo) (Settings, error) {
			return Settings{Values: row.Settings}, nil
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

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

	// order is the enabled plugins in the operator's order; it is replaced
	// whole, so that readers need no lock.
	order atomic.Pointer[[]*Instance]
	// current is the newest instance of each name, the one that is ending
	// included: its calls keep their grants until they are over.
	current   sync.Map
	instances map[string]*Instance // the sync loop's own
	starting  []*Instance          // those of the daemon's start, for Ready
	readings  atomic.Int64         // of the registry, begun
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
		launcher: launch.NewLauncher(), logs: newLogs(config.Logs),
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
	if err := h.sync(ctx, run); err != nil { // follow tries again
		h.config.Log.Warn("plugin registry cannot be read; trying again", "err", err)
	}
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
		case <-instance.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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
		if err := h.sync(ctx, ctx); err != nil && ctx.Err() == nil {
			h.config.Log.Warn("plugin registry cannot be read; trying again", "err", err)
		}
	}
}

// sync makes what runs follow the rows. run is the life of what it starts.
func (h *Host) sync(ctx, run context.Context) error {
	h.readings.Add(1)
	rows, err := h.store.Plugins(ctx)
	if err != nil {
		return err
	}
	running := make([]*Instance, 0, len(rows))
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		seen[row.Name] = true
		instance := h.instances[row.Name]
		if instance != nil && unreadable(row, "enabled") {
			row.Enabled = true // the last good value stays in force
		}
		switch {
		case row.Enabled && instance == nil:
			instance = h.begin(run, row)
		case !row.Enabled && instance != nil:
			h.retire(instance)
			continue
		case !row.Enabled:
			h.settleState(ctx, row)
			continue
		default:
			instance.update(ctx, row)
		}
		if instance.joined() {
			running = append(running, instance)
		}
		instance.flush(ctx)
	}
	h.order.Store(h.lineup(running))
	for name, instance := range h.instances {
		if !seen[name] {
			h.retire(instance)
		}
	}
	return nil
}

// lineup puts instances into the operator's order, and notes on each which of
// its commands another one has.
func (h *Host) lineup(instances []*Instance) *[]*Instance {
	slices.SortFunc(instances, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.Info().Position, b.Info().Position), cmp.Compare(a.name, b.name))
	})
	markConflicts(instances, h.config.Reserved)
	return &instances
}

// settleState corrects what a predecessor that died left in the row of a plugin
// that is off.
func (h *Host) settleState(ctx context.Context, row pluginsdk.PluginInfo) {
	if row.State == pluginsdk.PluginDisabled {
		return
	}
	if last := h.ending[row.Name]; last != nil {
		return // it writes its own last state
	}
	if err := h.store.SavePluginState(ctx, row.Name, pluginsdk.PluginDisabled, row.LastError, row.Restarts); err != nil {
		h.config.Log.Warn("state of a plugin cannot be stored", "plugin", row.Name, "err", err)
	}
}

func (h *Host) begin(run context.Context, row pluginsdk.PluginInfo) *Instance {
	instance := newInstance(h, row)
	instance.first = h.starting == nil
	h.instances[row.Name] = instance
	h.current.Store(row.Name, instance)
	instance.start(run, h.ending[row.Name])
	return instance
}

// retire ends an instance without holding up the others. A row that is enabled
// again meanwhile gets a new instance, whose process waits for the old one to
// be gone.
func (h *Host) retire(instance *Instance) {
	delete(h.instances, instance.name)
	h.ending[instance.name] = instance
	h.endings.Go(func() { instance.end(pluginsdk.PluginDisabled) })
}

// Answering returns the enabled plugins that declare the hook, in the
// operator's order. One that cannot be started is left out where its hook may
// be passed over.
func (h *Host) Answering(hook pluginsdk.Hook) []*Instance {
	order := *h.order.Load()
	answering := make([]*Instance, 0, len(order))
	for _, instance := range order {
		info := instance.Info()
		passed := instance.out() && mayBePassedOver(info, hook)
		if !passed && info.Manifest.Answers(hook) {
			answering = append(answering, instance)
		}
	}
	return answering
}

// Release says that a run is over: it no longer keeps to the versions of the
// plugins that it began with.
func (h *Host) Release(run string) {
	h.current.Range(func(_, instance any) bool {
		instance.(*Instance).unpin(run)
		return true
	})
}

// Live puts what is known of a plugin at this moment into its row.
func (h *Host) Live(row pluginsdk.PluginInfo) pluginsdk.PluginInfo {
	if instance, ok := h.current.Load(row.Name); ok {
		instance.(*Instance).live(&row)
	}
	return row
}

// SettingsOf returns the settings in force of a plugin that was started.
func (h *Host) SettingsOf(plugin string) (json.RawMessage, bool) {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return nil, false
	}
	settings := instance.(*Instance).settings.Load()
	if settings == nil || settings.Values == nil {
		return nil, false
	}
	return settings.Values, true
}

// EachCommand calls fn for every command that an enabled plugin declares, in
// the operator's order; of a command that several declare, for the first one's.
func (h *Host) EachCommand(fn func(plugin string, spec pluginsdk.CommandSpec)) {
	seen := make(map[string]bool)
	for _, instance := range h.Answering(pluginsdk.HookCommand) {
		for _, spec := range instance.Info().Manifest.Commands {
			if !seen[spec.Name] {
				seen[spec.Name] = spec.Name != "*"
				fn(instance.name, spec)
			}
		}
	}
}

// Granted reports whether an operator granted the capability to the plugin. A
// plugin that was never started has no grants.
func (h *Host) Granted(plugin string, capability pluginsdk.Capability) bool {
	instance, ok := h.current.Load(plugin)
	return ok && slices.Contains(instance.(*Instance).Info().Granted, capability)
}

// unreadable reports whether the row's column was broken by hand.
func unreadable(row pluginsdk.PluginInfo, column string) bool {
	for problem := range strings.SplitSeq(row.Problem, "; ") {
		if strings.HasPrefix(problem, column+":") {
			return true
		}
	}
	return false
}
