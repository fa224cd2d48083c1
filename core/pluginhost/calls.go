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

// Answering returns the enabled plugins that declare the hook, in the
// operator's order; for a run (empty: none) those whose version, which the run
// keeps to, declares it. One that cannot be started is left out where its hook
// may be passed over.
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

// Plugin returns the enabled plugin of that name, as what is no part of a run sees
// it; nil: there is none.
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

// Hold says that a run begins: for all its calls it keeps to the version of a
// plugin that answers the first.
func (h *Host) Hold(run string) { h.held.Store(run, true) }

// Release says that a run is over: it no longer keeps to the versions of the
// plugins that it began with.
func (h *Host) Release(run string) {
	h.held.Delete(run)
	h.current.Range(func(_, instance any) bool {
		instance.(*Instance).router.release(run)
		return true
	})
}

// Live puts what is known of a plugin at this moment into its row.
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

// EachCommand calls fn for every command that an enabled plugin declares, in
// the operator's order; of a command that several declare, for the first one's.
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

// Granted reports whether an operator granted the capability to the plugin. A
// plugin that was never started has no grants.
func (h *Host) Granted(plugin string, capability pluginsdk.Capability) bool {
	instance, ok := h.current.Load(plugin)
	return ok && slices.Contains(instance.(*Instance).Info().Granted, capability)
}

// Process is a plugin's process: its hooks, each of which ends with its
// context.
type Process = launch.Plugin

// Do calls fn with the plugin's process, keeps account of the call, and counts
// its failures against the plugin. All calls of a run (empty: none) go to the
// version that the run began with, as long as that one lives. It returns fn's
// error, or CodeUnavailable when the plugin does not serve: at once where the
// hook may be passed over, else after waiting for one that is being started.
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
	if spec, _ := hook.Spec(); took > i.host.slow && run != "" && spec.Runner != pluginsdk.RunOne { // that one is waited for by who asked it
		i.report.figures.waited()
	}
	i.judge(ctx, c.version, hook, callID, took, err)
	return err
}

// Timed prepares the context of one call of a process so that it says how long the
// plugin had it.
func Timed(ctx context.Context) (timed context.Context, inside func() time.Duration) {
	return launch.Timed(ctx)
}

// Charge counts rows against the plugin that a hook of it wanted to have stored with
// its run, and that were not, and says why in its log.
func (h *Host) Charge(plugin string, rows int, why string) {
	if instance, ok := h.current.Load(plugin); ok {
		instance.(*Instance).report.charge(rows, why)
	}
}

// maxErrorWords bounds, in bytes, what is passed on of a plugin's error.
const maxErrorWords = 4 << 10

// redacted takes the plugin's secrets out of an error, and most of one that is very
// long: it ends in runs, in messages, in events, in several lines of the log.
func (i *Instance) redacted(err error) error {
	if err == nil {
		return nil
	}
	words := cut(i.redact(err.Error()), maxErrorWords)
	switch {
	case words == err.Error():
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &pluginsdk.Error{Code: pluginsdk.CodeDeadline, Message: words, Cause: context.DeadlineExceeded}
	case errors.Is(err, launch.ErrTooLarge):
		return &pluginsdk.Error{Code: pluginsdk.CodeOf(err), Message: words, Cause: launch.ErrTooLarge}
	}
	return pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s", words)
}

// judge keeps account of a call, counts a failed one against the plugin and
// watches one that came too late. A caller that gave up by itself is nobody's
// failure, and what was too large to be sent is none of the plugin's.
func (i *Instance) judge(ctx context.Context, v *version, hook pluginsdk.Hook, callID string, took time.Duration, err error) {
	if errors.Is(err, launch.ErrTooLarge) {
		return
	}
	if ctx.Err() != nil {
		err = nil
	}
	i.report.figures.record(hook, took, err)
	if err == nil {
		return
	}
	i.report.count(v, hook, err)
	if errors.Is(err, context.DeadlineExceeded) { // ours; what a plugin says of a deadline of its own is its answer
		i.watchFor(v, hook, callID)
	}
}

// acquire returns the version that is to answer, with the call noted on it. It waits, for
// as long as the call may, for a plugin that is about to be started.
func (i *Instance) acquire(ctx context.Context, run string, hook pluginsdk.Hook, callID string) (asking, error) {
	var patience *time.Timer // made when it is needed: most calls do not wait
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

// ask asks a version what the host itself has to ask it, outside of any run; it is
// judged as a call in a run is.
func ask[Req, Res any](ctx context.Context, i *Instance, v *version, q hooks.Question[Req, Res]) (*Res, error) {
	on := &hooks.Occasion{Call: pluginsdk.Call{Attempt: 1}}
	return hooks.One(ctx, i.host.config.Hooks, on, asked{i, v}, q)
}

// asked is a version of a plugin as core/hooks knows plugins.
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

// speakers is which registered plugin has which source of threads. It is made anew
// whenever the registry was read and whenever a process has described itself: what
// one submits a moment after its start is its own already.
type speakers struct {
	mu      sync.RWMutex
	rows    []ledger.Plugin // as they were read last, in the operator's order
	owners  map[string]string
	carrier map[string]string // the first of those that name the source and answer Deliver
}

// speaks returns the sources of a plugin; one that has never described itself has its
// name.
func speaks(name string, manifest pluginsdk.Manifest) []string {
	manifest.Name = name
	return manifest.SpeaksFor()
}

// CarrierOf returns the plugin that carries the replies to a source's threads: the
// first in the operator's order that answers Deliver and names the source, whether it
// is enabled or not. What is for one that is off is kept until it is on again, and so
// is what is for one that has never been started.
func (h *Host) CarrierOf(source string) (plugin string, ok bool) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	plugin, ok = h.speakers.carrier[source]
	return plugin, ok
}

// Speaks reports whether a source is the plugin's: whether it is the first in the
// operator's order, enabled or not, that names it.
func (h *Host) Speaks(plugin, source string) bool {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners[source] == plugin && plugin != ""
}

// Sources returns the sources that are the plugin's, in the order of its manifest.
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

// sourceOwners are the plugins that have the sources. It must not be changed.
func (h *Host) sourceOwners() map[string]string {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners
}

// listSpeakers notes the rows that were read.
func (h *Host) listSpeakers(rows []ledger.Plugin) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	h.speakers.rows = rows
	h.reckonSpeakers()
}

// described notes what a process says of itself before it does anything else.
func (h *Host) described(i *Instance, manifest pluginsdk.Manifest) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	i.said = &manifest
	h.reckonSpeakers()
}

// reckonSpeakers says who has which source. The lock is held.
func (h *Host) reckonSpeakers() {
	h.speakers.owners, h.speakers.carrier = make(map[string]string), make(map[string]string)
	for _, row := range h.speakers.rows {
		manifest := h.lastSaid(row)
		sources := speaks(row.Name, manifest)
		ownSources(h.speakers.owners, row.Name, sources)
		// One that has never said what it is may carry what comes from its source:
		// that is kept until it does say.
		if unknown := manifest.Version == ""; unknown || manifest.Answers(pluginsdk.HookDeliver) {
			ownSources(h.speakers.carrier, row.Name, sources)
		}
	}
}

// lastSaid is what a plugin said of itself last: its process knows better than a row
// that was read before it began. The lock is held.
func (h *Host) lastSaid(row ledger.Plugin) pluginsdk.Manifest {
	if found, ok := h.current.Load(row.Name); ok {
		if instance := found.(*Instance); instance.said != nil && !instance.hasGone() {
			return *instance.said
		}
	}
	return row.Manifest
}
