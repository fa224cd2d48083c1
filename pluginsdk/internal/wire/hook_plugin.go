package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// The hooks that are about the plugin itself, and deliveries.

func (s hookServer) OnSettingsChange(ctx context.Context, m *pluginv1.OnSettingsChangeRequest) (*pluginv1.OnSettingsChangeResponse, error) {
	return answer(ctx, m, onSettingsChangeRequestFrom, answering(s.plugin, pluginsdk.SettingsChangeHook.OnSettingsChange), emptyTo[pluginv1.OnSettingsChangeResponse])
}

// OnSettingsChange implements pluginsdk.SettingsChangeHook.
func (c *PluginClient) OnSettingsChange(ctx context.Context, request *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return ask(ctx, request, onSettingsChangeRequestTo, c.settings.OnSettingsChange, emptyFrom[pluginsdk.OnSettingsChangeResponse])
}

func (s hookServer) OnBroadcast(ctx context.Context, m *pluginv1.OnBroadcastRequest) (*pluginv1.OnBroadcastResponse, error) {
	return answer(ctx, m, onBroadcastRequestFrom, answering(s.plugin, pluginsdk.BroadcastHook.OnBroadcast), emptyTo[pluginv1.OnBroadcastResponse])
}

// OnBroadcast implements pluginsdk.BroadcastHook.
func (c *PluginClient) OnBroadcast(ctx context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return ask(ctx, request, onBroadcastRequestTo, c.broadcast.OnBroadcast, emptyFrom[pluginsdk.OnBroadcastResponse])
}

func (s hookServer) OnCheck(ctx context.Context, m *pluginv1.OnCheckRequest) (*pluginv1.OnCheckResponse, error) {
	return answer(ctx, m, onCheckRequestFrom, answering(s.plugin, pluginsdk.CheckHook.OnCheck), onCheckResponseTo)
}

// OnCheck implements pluginsdk.CheckHook.
func (c *PluginClient) OnCheck(ctx context.Context, request *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	return ask(ctx, request, onCheckRequestTo, c.check.OnCheck, onCheckResponseFrom)
}

func (s hookServer) Deliver(ctx context.Context, m *pluginv1.DeliverRequest) (*pluginv1.DeliverResponse, error) {
	return answer(ctx, m, deliverRequestFrom, answering(s.plugin, pluginsdk.DeliverHook.Deliver), deliverResponseTo)
}

// Deliver implements pluginsdk.DeliverHook.
func (c *PluginClient) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	return ask(ctx, request, deliverRequestTo, c.delivery.Deliver, deliverResponseFrom)
}
