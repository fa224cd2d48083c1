package adapter

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Deliver carries a message to its channel. A delivery that was begun and has
// no known end is given again under the same id: as the key of the post, that
// keeps a person from reading the message twice.
func (p *Plugin) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	channel, err := p.channelOf(request)
	if err != nil {
		return nil, err
	}
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	id, err := client.Post(ctx, channel, request.Delivery.ID, request.Message.Content)
	return &pluginsdk.DeliverResponse{ExternalID: id}, err
}

// channelOf is the delivery's target: the source id of a thread of this plugin's
// source, or what stands after the colon where a thread reports to
// slack-like:CHANNEL. One that reports to slack-like alone names none.
func (p *Plugin) channelOf(request *pluginsdk.DeliverRequest) (string, error) {
	if target := request.Delivery.Place; target != "" {
		return target, nil
	}
	if channel := p.settings.Load().Channel; channel != "" {
		return channel, nil
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"the thread %s is of no channel; set the setting channel to carry such messages", request.Thread.ID)
}
