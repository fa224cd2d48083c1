package daemon

import (
	"context"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolPlugins is the plugin host as the tool server sees it. The core's own tools
// are among them, as those of a plugin of the name core, which no plugin can have.
type toolPlugins struct {
	host  *pluginhost.Host
	store *store.Store
	core  *coreTools
}

func (p toolPlugins) Offering(run string) []*pluginsdk.PluginInfo {
	answering := p.host.Answering(run, pluginsdk.HookCallTool)
	offering := make([]*pluginsdk.PluginInfo, 1, len(answering)+1)
	offering[0] = p.core.Info()
	for _, plugin := range answering {
		offering = append(offering, plugin.Info())
	}
	return offering
}

func (p toolPlugins) Registered(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	rows, err := p.store.Plugins(ctx)
	registered := []pluginsdk.PluginInfo{*p.core.Info()}
	for _, row := range rows {
		registered = append(registered, row.PluginInfo)
	}
	return registered, err
}

func (p toolPlugins) Plugin(run, name string) hooks.Plugin {
	if name == p.core.info.Name {
		return p.core
	}
	for _, plugin := range p.host.Answering(run, pluginsdk.HookCallTool) {
		if plugin.Info().Name == name {
			return plugin
		}
	}
	return nil
}

// coreTools are the tools of the core, as a plugin's. The tool server lets the agent
// alone call them.
type coreTools struct {
	hooks.Process // what the core does not answer
	info          *pluginsdk.PluginInfo
	api           **hostapi.API
}

func newCoreTools(api **hostapi.API) *coreTools {
	return &coreTools{api: api, info: hostapi.CoreTools()}
}

// Info describes the core as a plugin.
func (c *coreTools) Info() *pluginsdk.PluginInfo { return c.info }

// Do calls fn at once.
func (c *coreTools) Do(_ context.Context, _ pluginsdk.Hook, _ string, fn func(hooks.Process) error) error {
	return fn(c)
}

// CallTool calls one of the core's tools.
func (c *coreTools) CallTool(ctx context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if request.Name == hostapi.SearchTool().Name {
		said, err := (*c.api).Look(ctx, request.ThreadID, request.Input)
		if err != nil {
			return nil, err
		}
		return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: said}}, nil
	}
	notice, err := hostapi.ParseNotice(request.Input)
	if err != nil {
		return nil, err
	}
	from := hostapi.NoticeFrom{ThreadID: request.ThreadID, RunID: request.Call.RunID, TaskID: request.TaskID, CallID: request.Call.ID, Asked: true}
	said, err := (*c.api).Tell(ctx, from, notice)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: said}}, nil
}

// agentTools is the tool server as the agent's processes see it.
type agentTools struct{ *toolserver.Server }

func (t agentTools) Open() invoker.ToolSession { return t.Server.Open() }
