package adapter

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Deliver carries a message to its channel. A delivery that was begun and has
// no known end is given again under the same id: as the key of the post, that
// keeps a person from reading the message twice.
func (p *Plugin) Deliver(ctx context.Context, request pluginsdk.DeliveryRequest) (pluginsdk.DeliveryReceipt, error) {
	channel, err := p.channelOf(request)
	if err != nil {
		return pluginsdk.DeliveryReceipt{}, err
	}
	client, err := p.client()
	if err != nil {
		return pluginsdk.DeliveryReceipt{}, err
	}
	id, err := client.Post(ctx, channel, request.Delivery.ID, request.Message.Content)
	return pluginsdk.DeliveryReceipt{ExternalID: id}, err
}

// channelOf is the delivery's target, which is the source id of a thread that
// this plugin has made. A thread of another source that reports here has none.
func (p *Plugin) channelOf(request pluginsdk.DeliveryRequest) (string, error) {
	if target := request.Delivery.Target; target != "" {
		return target, nil
	}
	if channel := p.settings.Load().Channel; channel != "" {
		return channel, nil
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"the thread %s is of no channel; set the setting channel to carry such messages", request.Thread.ID)
}
