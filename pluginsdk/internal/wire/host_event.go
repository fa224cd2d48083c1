package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// eventServer serves the host's Events.
type eventServer struct {
	hostv1.UnimplementedEventServiceServer
	events pluginsdk.Events
}

func (s eventServer) PublishEvent(ctx context.Context, m *hostv1.PublishEventRequest) (*hostv1.PublishEventResponse, error) {
	return &hostv1.PublishEventResponse{}, s.events.Publish(ctx, eventFrom(m.GetEvent()))
}

func (s eventServer) ListEvents(ctx context.Context, m *hostv1.ListEventsRequest) (*hostv1.ListEventsResponse, error) {
	page, err := s.events.Since(ctx, positionFrom(m.GetAfter()), int(m.GetLimit()))
	return &hostv1.ListEventsResponse{Page: eventPageTo(page)}, err
}

// eventClient is the host's Events as a plugin sees them.
type eventClient struct {
	client hostv1.EventServiceClient
}

func (c eventClient) Publish(ctx context.Context, event pluginsdk.Event) error {
	_, err := c.client.PublishEvent(ctx, &hostv1.PublishEventRequest{Event: eventTo(event)})
	return err
}

func (c eventClient) Since(ctx context.Context, after pluginsdk.Position, limit int) (pluginsdk.EventPage, error) {
	m, err := c.client.ListEvents(ctx, &hostv1.ListEventsRequest{After: positionTo(after), Limit: int64(limit)})
	return eventPageFrom(m.GetPage()), err
}
