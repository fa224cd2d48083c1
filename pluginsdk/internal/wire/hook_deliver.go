package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// deliveryServer hands deliveries to the plugin's hook.
type deliveryServer struct {
	pluginv1.UnimplementedDeliveryServiceServer
	plugin pluginsdk.Plugin
}

func (s deliveryServer) Deliver(ctx context.Context, m *pluginv1.DeliverRequest) (*pluginv1.DeliverResponse, error) {
	hook, err := answering[pluginsdk.DeliverHook](s.plugin, pluginsdk.HookDeliver)
	if err != nil {
		return nil, err
	}
	receipt, err := hook.Deliver(ctx, deliveryRequestFrom(m))
	return &pluginv1.DeliverResponse{Receipt: deliveryReceiptTo(receipt)}, err
}

// Deliver implements pluginsdk.DeliverHook.
func (c *PluginClient) Deliver(ctx context.Context, request pluginsdk.DeliveryRequest) (pluginsdk.DeliveryReceipt, error) {
	request.Call = completed(ctx, request.Call)
	m, err := c.delivery.Deliver(ctx, deliveryRequestTo(request))
	return deliveryReceiptFrom(m.GetReceipt()), err
}
