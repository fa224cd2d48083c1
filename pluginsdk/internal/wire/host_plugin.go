package wire

import (
	"context"
	"encoding/json"

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

func (s pluginServer) ListPluginLogs(ctx context.Context, m *hostv1.ListPluginLogsRequest) (*hostv1.ListPluginLogsResponse, error) {
	lines, err := s.plugins.Logs(ctx, m.GetName(), int(m.GetLimit()))
	return &hostv1.ListPluginLogsResponse{Lines: listTo(lines, logLineTo)}, err
}

func (s pluginServer) GetPluginSettings(ctx context.Context, m *hostv1.GetPluginSettingsRequest) (*hostv1.GetPluginSettingsResponse, error) {
	view, err := s.plugins.Settings(ctx, m.GetName())
	return &hostv1.GetPluginSettingsResponse{View: settingsViewTo(view)}, err
}

func (s pluginServer) SetPluginSettings(ctx context.Context, m *hostv1.SetPluginSettingsRequest) (*hostv1.SetPluginSettingsResponse, error) {
	return &hostv1.SetPluginSettingsResponse{}, s.plugins.SetSettings(ctx, m.GetName(), m.GetPatch())
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

func (c pluginClient) Logs(ctx context.Context, name string, limit int) ([]pluginsdk.LogLine, error) {
	m, err := c.client.ListPluginLogs(ctx, &hostv1.ListPluginLogsRequest{Name: name, Limit: int64(limit)})
	return listFrom(m.GetLines(), logLineFrom), err
}

func (c pluginClient) Settings(ctx context.Context, name string) (pluginsdk.SettingsView, error) {
	m, err := c.client.GetPluginSettings(ctx, &hostv1.GetPluginSettingsRequest{Name: name})
	return settingsViewFrom(m.GetView()), err
}

func (c pluginClient) SetSettings(ctx context.Context, name string, patch json.RawMessage) error {
	_, err := c.client.SetPluginSettings(ctx, &hostv1.SetPluginSettingsRequest{Name: name, Patch: patch})
	return err
}
