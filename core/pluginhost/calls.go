package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Answering returns the enabled plugins that a run has to ask for the hook, in the
// operator's order: those that declare it in the version that the run keeps to, or
// without a run (empty) in the one that serves. It leaves out a plugin that takes part in
// no runs yet (router.takesPart), and, where the hook may be passed over, one that does
// not serve before an operator acts.
func (h *Host) Answering(run string, hook pluginsdk.Hook) []hooks.Plugin {
	order := *h.order.Load()
	answering := make([]hooks.Plugin, 0, len(order))
	for _, instance := range order {
		if instance.router.asks(run, hook) {
			answering = append(answering, inRun{instance, run})
		}
	}
	return answering
}

// Plugin returns the plugin of that name for calls outside of runs; nil: it was not
// enabled since the daemon's start. A plugin that is off fails its calls with
// CodeUnavailable.
func (h *Host) Plugin(name string) hooks.Plugin {
	if instance, ok := h.current.Load(name); ok {
		return inRun{instance.(*Instance), ""}
	}
	return nil
}

// inRun is a plugin as a run (empty: none) sees it.
type inRun struct {
	*Instance
	run string
}

// Info returns the plugin's row with the manifest of the version that the run keeps to.
func (p inRun) Info() *pluginsdk.PluginInfo { return p.router.seen(p.run) }

// Do is Instance.Do in the run.
func (p inRun) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	return p.Instance.Do(ctx, p.run, hook, callID, func(process *Process) error { return fn(process) })
}

// Hold says that an attempt of a run begins. All its calls of a plugin go to the version
// that served when the attempt first asked for the plugin, as long as that version lives.
func (h *Host) Hold(run string) { h.held.Store(run, true) }

// Release says that an attempt of a run is over: the next attempt may get other versions.
func (h *Host) Release(run string) {
	h.held.Delete(run)
	h.current.Range(func(_, instance any) bool {
		instance.(*Instance).router.release(run)
		return true
	})
}

// Live returns the row with what the host knows of the plugin at this moment: state, last
// error, checks, figures.
func (h *Host) Live(row ledger.Plugin) ledger.Plugin {
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

// EachCommand calls fn for every command that an enabled plugin declares, in the
// operator's order. Of a command that several plugins declare, fn gets only the first
// plugin's; the command * it gets from each.
func (h *Host) EachCommand(fn func(plugin string, spec pluginsdk.CommandSpec)) {
	seen := make(map[string]bool)
	for _, plugin := range h.Answering("", pluginsdk.HookCommand) {
		info := plugin.Info()
		for _, spec := range info.Manifest.Commands {
			if !seen[spec.Name] {
				seen[spec.Name] = spec.Name != "*"
				fn(info.Name, spec)
			}
		}
	}
}

// Granted reports whether an operator granted the capability to the plugin. A plugin that
// was not enabled since the daemon's start has no grants.
func (h *Host) Granted(plugin string, capability pluginsdk.Capability) bool {
	instance, ok := h.current.Load(plugin)
	return ok && slices.Contains(instance.(*Instance).Info().Granted, capability)
}

// Process is a plugin's process. Each call of one of its hooks ends with the call's
// context.
type Process = launch.Plugin

// Do calls fn with the plugin's process, counts the call in the figures, and counts a
// failure against the plugin. All calls of a run (empty: none) go to the version that the
// run began with, as long as that one lives. Do waits for a plugin that is about to be
// started: up to Config.Patience, or openPatience where the hook may be passed over. It
// returns CodeUnavailable when no version answers, CodeCancelled when ctx ended while it
// waited, else fn's error without the plugin's secrets.
func (i *Instance) Do(ctx context.Context, run string, hook pluginsdk.Hook, callID string, fn func(*Process) error) error {
	c, err := i.acquire(ctx, run, hook, callID)
	if err != nil {
		return err
	}
	defer func() { i.router.give(c, err) }()
	defer i.attend(c.version)()
	began := time.Now()
	err = i.redacted(fn(c.version.process))
	took := time.Since(began)
	if spec, _ := hook.Spec(); took > i.host.slow && run != "" && spec.Runner != pluginsdk.RunOne { // the caller of a RunOne hook waits, not the run
		i.report.figures.waited()
	}
	i.judge(ctx, c.version, hook, callID, took, err)
	return err
}

// Timed returns a context for one call of a process. Once the call has returned, inside
// says how long the plugin worked on it; 0 when the plugin does not say.
func Timed(ctx context.Context) (timed context.Context, inside func() time.Duration) {
	return launch.Timed(ctx)
}

// CountDropped counts rows of effects that the plugin's hook asked to store with its run and
// that were not stored, and writes into the plugin's log why.
func (h *Host) CountDropped(plugin string, rows int, why string) {
	if instance, ok := h.current.Load(plugin); ok {
		instance.(*Instance).report.countDropped(rows, why)
	}
}

// maxErrorWords bounds, in bytes, the text of a plugin's error.
const maxErrorWords = 4 << 10

// redacted returns the error without the plugin's secrets, cut to maxErrorWords: errors
// end up in runs, messages, events and several lines of the log. The code stays, and so
// do context.DeadlineExceeded and launch.ErrTooLarge as causes.
func (i *Instance) redacted(err error) error {
	if err == nil {
		return nil
	}
	words := cut(i.redact(err.Error()), maxErrorWords)
	switch {
	case errors.Is(err, launch.ErrAnswerTooLarge): // the plugin's fault, and no limit that its caller has reached
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "%s", words)
	case words == err.Error():
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &pluginsdk.Error{Code: pluginsdk.CodeDeadline, Message: words, Cause: context.DeadlineExceeded}
	case errors.Is(err, launch.ErrTooLarge):
		return &pluginsdk.Error{Code: pluginsdk.CodeOf(err), Message: words, Cause: launch.ErrTooLarge}
	}
	return pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s", words)
}

// judge counts a call in the figures, counts a failed one against the plugin, and watches
// one that went past its deadline. A call whose caller gave up counts as no failure, nor does a command that was refused. A
// call that was too large to be sent is not counted: the plugin never had it.
func (i *Instance) judge(ctx context.Context, v *version, hook pluginsdk.Hook, callID string, took time.Duration, err error) {
	if errors.Is(err, launch.ErrTooLarge) {
		return
	}
	if ctx.Err() != nil || hooks.Refuses(hook, err) {
		err = nil
	}
	i.report.figures.record(hook, took, err)
	if err == nil {
		return
	}
	i.report.count(v, hook, err)
	if errors.Is(err, context.DeadlineExceeded) { // the call's deadline; a plugin's error about a deadline of its own is an answer
		i.watchFor(v, hook, callID)
	}
}

// acquire returns the version that answers the call, and notes the call on it; the caller
// gives it back with router.give. It waits for a plugin that is about to be started, for
// at most router.wait and until ctx ends.
func (i *Instance) acquire(ctx context.Context, run string, hook pluginsdk.Hook, callID string) (asking, error) {
	var patience *time.Timer // made on demand: most calls do not wait
	for {
		c, changed, why := i.router.take(question{run: run, hook: hook}, callID)
		if why == nil || changed == nil {
			return c, why
		}
		if patience == nil {
			patience = time.NewTimer(i.router.wait(c.open))
			defer patience.Stop()
		}
		select {
		case <-changed:
		case <-patience.C:
			return c, why
		case <-ctx.Done():
			return c, pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
		case <-i.supervisor.done:
			return c, why
		}
	}
}

// ask asks a version one of the host's own questions, outside of runs. The call is judged
// as one in a run is.
func ask[Req, Res any](ctx context.Context, i *Instance, v *version, q hooks.Question[Req, Res]) (*Res, error) {
	on := &hooks.Occasion{Call: pluginsdk.Call{Attempt: 1}}
	return hooks.One(ctx, i.host.config.Hooks, on, asked{i, v}, q)
}

// asked is one version of a plugin, as core/hooks sees plugins.
type asked struct {
	instance *Instance
	version  *version
}

func (a asked) Info() *pluginsdk.PluginInfo { return a.instance.Info() }

func (a asked) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	began := time.Now()
	err := a.instance.redacted(fn(a.version.process))
	a.instance.judge(ctx, a.version, hook, callID, time.Since(began), err)
	return err
}

// speakers is the table of the registered plugins' sources of threads. The host computes
// it anew after each reading of the registry and whenever a process has described itself,
// so that the plugin owns its sources before it can submit anything.
type speakers struct {
	mu      sync.RWMutex
	rows    []ledger.Plugin   // of the last reading, in the operator's order
	owners  map[string]string // of each source: the first plugin that names it
	carrier map[string]string // of each source: its owner, if that one answers Deliver
}

// speaks returns the sources of a plugin. A plugin that has never described itself has
// one, of its own name.
func speaks(name string, manifest pluginsdk.Manifest) []string {
	manifest.Name = name
	return manifest.SpeaksFor()
}

// CarrierOf returns the plugin that carries deliveries to a source's threads: the one that
// owns the source, enabled or not, if it answers Deliver. Of a source whose owner carries
// nothing nobody else does, such as one that is only installed and names web.
// Deliveries for a plugin that is off wait until it is on again, those for one that was
// never started until it starts.
func (h *Host) CarrierOf(source string) (plugin string, ok bool) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	plugin, ok = h.speakers.carrier[source]
	return plugin, ok
}

// Speaks reports whether the plugin owns the source: whether it is the first plugin in
// the operator's order, enabled or not, that names it.
func (h *Host) Speaks(plugin, source string) bool {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners[source] == plugin && plugin != ""
}

// Sources returns the sources that the plugin owns, in the order of its manifest.
func (h *Host) Sources(plugin string) (sources []string) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	for _, row := range h.speakers.rows {
		if row.Name != plugin {
			continue
		}
		for _, source := range speaks(plugin, h.lastSaid(row)) {
			if h.speakers.owners[source] == plugin && !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	return sources
}

// OwnsCommand reports whether a command, by its name, is the plugin's: it declares the command, the
// core has none of that name, and no enabled plugin before it in the operator's order declares it.
func (h *Host) OwnsCommand(plugin, command string) bool {
	if slices.Contains(h.config.Reserved, command) {
		return false
	}
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	for _, row := range h.speakers.rows {
		if row.Name != plugin && !row.Enabled {
			continue
		}
		if slices.ContainsFunc(h.lastSaid(row).Commands, func(spec pluginsdk.CommandSpec) bool { return spec.Name == command }) {
			return row.Name == plugin
		}
	}
	return false
}

// sourceOwners returns the plugin that owns each source. The caller must not change the
// map.
func (h *Host) sourceOwners() map[string]string {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners
}

// listSpeakers stores the rows of a reading, and computes the table of sources anew.
func (h *Host) listSpeakers(rows []ledger.Plugin) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	h.speakers.rows = rows
	h.reckonSpeakers()
}

// described stores the manifest of a process that has described itself, before the
// process does anything else, and computes the table of sources anew.
func (h *Host) described(i *Instance, manifest pluginsdk.Manifest) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	i.said = &manifest
	h.reckonSpeakers()
}

// reckonSpeakers computes which plugin owns and which carries each source. The speakers'
// lock is held.
func (h *Host) reckonSpeakers() {
	h.speakers.owners, h.speakers.carrier = make(map[string]string), make(map[string]string)
	for _, row := range h.speakers.rows {
		manifest := h.lastSaid(row)
		sources := speaks(row.Name, manifest)
		ownSources(h.speakers.owners, row.Name, sources)
		// A plugin that has never described itself counts as one that answers Deliver:
		// deliveries wait until it describes itself.
		if unknown := manifest.Version == ""; !unknown && !manifest.Answers(pluginsdk.HookDeliver) {
			continue
		}
		for _, source := range sources {
			if h.speakers.owners[source] == row.Name { // what is said in another's threads is not for it
				h.speakers.carrier[source] = row.Name
			}
		}
	}
}

// lastSaid returns the manifest with which a plugin described itself last: its process's,
// else the row's. The row may have been read before the process began. The speakers' lock
// is held.
func (h *Host) lastSaid(row ledger.Plugin) pluginsdk.Manifest {
	if found, ok := h.current.Load(row.Name); ok {
		if instance := found.(*Instance); instance.said != nil && !instance.hasGone() {
			return *instance.said
		}
	}
	return row.Manifest
}
