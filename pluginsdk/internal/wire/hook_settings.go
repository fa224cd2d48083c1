package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// settingsHookServer tells the plugin's hook of changed settings.
type settingsHookServer struct {
	pluginv1.UnimplementedSettingsServiceServer
	plugin pluginsdk.Plugin
}

func (s settingsHookServer) OnSettingsChange(ctx context.Context, m *pluginv1.OnSettingsChangeRequest) (*pluginv1.OnSettingsChangeResponse, error) {
	hook, err := answering[pluginsdk.SettingsChangeHook](s.plugin, pluginsdk.HookSettingsChange)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnSettingsChangeResponse{}, hook.OnSettingsChange(ctx, settingsChangeFrom(m))
}

// OnSettingsChange implements pluginsdk.SettingsChangeHook.
func (c *PluginClient) OnSettingsChange(ctx context.Context, change pluginsdk.SettingsChange) error {
	change.Call = completed(ctx, change.Call)
	_, err := c.settings.OnSettingsChange(ctx, settingsChangeTo(change))
	return err
}
