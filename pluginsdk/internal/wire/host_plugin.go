package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// pluginServer serves the host's Plugins.
type pluginServer struct {
	hostv1.UnimplementedPluginServiceServer
	plugins pluginsdk.Plugins
}

func (s pluginServer) ListPlugins(ctx context.Context, _ *hostv1.ListPluginsRequest) (*hostv1.ListPluginsResponse, error) {
	plugins, err := s.plugins.List(ctx)
	return &hostv1.ListPluginsResponse{Plugins: listTo(plugins, pluginInfoTo)}, err
}

func (s pluginServer) SetPluginEnabled(ctx context.Context, m *hostv1.SetPluginEnabledRequest) (*hostv1.SetPluginEnabledResponse, error) {
	return &hostv1.SetPluginEnabledResponse{}, s.plugins.SetEnabled(ctx, m.GetName(), m.GetEnabled())
}

// pluginClient is the host's Plugins as a plugin sees them.
type pluginClient struct {
	client hostv1.PluginServiceClient
}

func (c pluginClient) List(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	m, err := c.client.ListPlugins(ctx, &hostv1.ListPluginsRequest{})
	return listFrom(m.GetPlugins(), pluginInfoFrom), err
}

func (c pluginClient) SetEnabled(ctx context.Context, name string, enabled bool) error {
	_, err := c.client.SetPluginEnabled(ctx, &hostv1.SetPluginEnabledRequest{Name: name, Enabled: enabled})
	return err
}
