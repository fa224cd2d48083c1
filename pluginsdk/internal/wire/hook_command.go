package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// commandServer answers commands with the plugin's hook.
type commandServer struct {
	pluginv1.UnimplementedCommandServiceServer
	plugin pluginsdk.Plugin
}

func (s commandServer) OnCommand(ctx context.Context, m *pluginv1.OnCommandRequest) (*pluginv1.OnCommandResponse, error) {
	hook, err := answering[pluginsdk.CommandHook](s.plugin, pluginsdk.HookCommand)
	if err != nil {
		return nil, err
	}
	result, err := hook.OnCommand(ctx, commandFrom(m))
	return &pluginv1.OnCommandResponse{Result: commandResultTo(result)}, err
}

// OnCommand implements pluginsdk.CommandHook.
func (c *PluginClient) OnCommand(ctx context.Context, command pluginsdk.Command) (pluginsdk.CommandResult, error) {
	command.Call = completed(ctx, command.Call)
	m, err := c.command.OnCommand(ctx, commandTo(command))
	return commandResultFrom(m.GetResult()), err
}
