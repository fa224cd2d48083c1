package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// broadcastServer hands events to the plugin's hook.
type broadcastServer struct {
	pluginv1.UnimplementedBroadcastServiceServer
	plugin pluginsdk.Plugin
}

func (s broadcastServer) OnBroadcast(ctx context.Context, m *pluginv1.OnBroadcastRequest) (*pluginv1.OnBroadcastResponse, error) {
	hook, err := answering[pluginsdk.BroadcastHook](s.plugin, pluginsdk.HookBroadcast)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnBroadcastResponse{}, hook.OnBroadcast(ctx, listFrom(m.GetEvents(), eventFrom))
}

// OnBroadcast implements pluginsdk.BroadcastHook. Its Call is the context's.
func (c *PluginClient) OnBroadcast(ctx context.Context, events []pluginsdk.Event) error {
	_, err := c.broadcast.OnBroadcast(ctx, &pluginv1.OnBroadcastRequest{
		Call:   callTo(completed(ctx, pluginsdk.Call{})),
		Events: listTo(events, eventTo),
	})
	return err
}
