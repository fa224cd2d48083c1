package daemon

import (
	"context"

	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolPlugins is the plugin host as the tool server sees it.
type toolPlugins struct {
	host  *pluginhost.Host
	store *store.Store
}

func (p toolPlugins) Offering(run string) []*pluginsdk.PluginInfo {
	instances := p.host.Answering(run, pluginsdk.HookCallTool)
	offering := make([]*pluginsdk.PluginInfo, len(instances))
	for n, instance := range instances {
		offering[n] = instance.InfoFor(run)
	}
	return offering
}

func (p toolPlugins) Registered(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	return p.store.Plugins(ctx)
}

func (p toolPlugins) Do(ctx context.Context, run, plugin, callID string, fn func(pluginsdk.ToolProvider) error) error {
	for _, instance := range p.host.Answering(run, pluginsdk.HookCallTool) {
		if instance.Info().Name == plugin {
			return instance.Do(ctx, run, pluginsdk.HookCallTool, callID, func(process *pluginhost.Process) error { return fn(process) })
		}
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is not enabled", plugin)
}

// agentTools is the tool server as the agent's processes see it.
type agentTools struct{ *toolserver.Server }

func (t agentTools) Open() invoker.ToolSession { return t.Server.Open() }
