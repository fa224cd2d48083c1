package daemon

import (
	"context"

	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/outbox"
	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The rooms do not import each other. Where one's door is a hair off
// another's, these fit them together.

// plugins is the plugin host as the pipeline and the inbox see it.
type plugins struct{ host *pluginhost.Host }

func (p plugins) Answering(run string, hook pluginsdk.Hook) []pipeline.Plugin {
	instances := p.host.Answering(run, hook)
	answering := make([]pipeline.Plugin, len(instances))
	for n, instance := range instances {
		answering[n] = plugin{instance, run}
	}
	return answering
}

func (p plugins) Hold(run string) { p.host.Hold(run) }

func (p plugins) Release(run string) { p.host.Release(run) }

func (p plugins) Commands() []inbox.Command {
	var commands []inbox.Command
	p.host.EachCommand(func(plugin string, spec pluginsdk.CommandSpec) {
		commands = append(commands, inbox.Command{Plugin: plugin, Spec: spec})
	})
	return commands
}

// plugin is one plugin as a run sees it.
type plugin struct {
	*pluginhost.Instance
	run string
}

func (p plugin) Info() *pluginsdk.PluginInfo { return p.InfoFor(p.run) }

func (p plugin) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(pipeline.Hooks) error) error {
	return p.Instance.Do(ctx, p.run, hook, callID, func(process *pluginhost.Process) error { return fn(process) })
}

func (p plugins) Do(ctx context.Context, name, callID string, fn func(pluginsdk.DeliverHook) error) error {
	return p.host.Do(ctx, name, pluginsdk.HookDeliver, callID, func(process *pluginhost.Process) error { return fn(process) })
}

// post is the outbox as the rooms see it that store what it carries.
type post struct{ *outbox.Outbox }

func (p post) Wake(thread pluginsdk.Thread) {
	if lane, carried := store.LaneOf(thread); carried {
		p.Outbox.Wake(lane.Plugin, lane.Target)
	}
}

// bus is the event bus as the plugin host sees it. What it publishes of a
// plugin's state is told to changed as well.
type bus struct {
	*events.Bus
	changed func(plugin string)
}

func (b bus) Publish(kind pluginsdk.EventType, threadID string, payload any) {
	b.Bus.Publish(kind, threadID, payload)
	if state, ok := payload.(pluginsdk.PluginStatePayload); ok {
		b.changed(state.Name)
	}
}

// pluginChanged lets deliveries go on that wait for a plugin.
func (d *Daemon) pluginChanged(name string) { d.outbox.PluginChanged(name) }

func (b bus) Subscribe(name string, types []string, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) (stop func() pluginsdk.Position) {
	return b.Bus.Subscribe(name, types, after, deliver).Stop
}

// pluginSet is what is set for plugins as hostapi sees it, which asks there what
// else is wrong with a row: that the agent is not offered all of its tools is.
type pluginSet struct {
	*settings.Settings
	tools *toolserver.Server
}

func (p pluginSet) Problem(ctx context.Context, row pluginsdk.PluginInfo) string {
	problem, lack := p.Settings.Problem(ctx, row), p.tools.Unoffered(row.Name)
	switch {
	case lack == "":
		return problem
	case problem == "":
		return "tools: " + lack
	}
	return problem + "; tools: " + lack
}

// services are what plugins may ask of the core, as the plugin host sees them.
// The API is filled in once the parts that it speaks for exist, which is before
// the first plugin starts.
type services struct{ api **hostapi.API }

func (s services) For(plugin string) pluginsdk.Host { return (*s.api).For(plugin) }

func (s services) Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error {
	return (*s.api).Admit(ctx, plugin, capability)
}
