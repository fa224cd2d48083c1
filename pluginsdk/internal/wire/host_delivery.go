package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// deliveriesServer serves the host's Deliveries.
type deliveriesServer struct {
	hostv1.UnimplementedDeliveryServiceServer
	deliveries pluginsdk.Deliveries
}

func (s deliveriesServer) ListDeliveries(ctx context.Context, m *hostv1.ListDeliveriesRequest) (*hostv1.ListDeliveriesResponse, error) {
	deliveries, err := s.deliveries.List(ctx, deliveryQueryFrom(m.GetQuery()))
	return &hostv1.ListDeliveriesResponse{Deliveries: listTo(deliveries, deliveryTo)}, err
}

func (s deliveriesServer) RetryDelivery(ctx context.Context, m *hostv1.RetryDeliveryRequest) (*hostv1.RetryDeliveryResponse, error) {
	delivery, err := s.deliveries.Retry(ctx, m.GetId())
	return &hostv1.RetryDeliveryResponse{Delivery: deliveryTo(delivery)}, err
}

// deliveriesClient is the host's Deliveries as a plugin sees them.
type deliveriesClient struct {
	client hostv1.DeliveryServiceClient
}

func (c deliveriesClient) List(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	m, err := c.client.ListDeliveries(ctx, &hostv1.ListDeliveriesRequest{Query: deliveryQueryTo(query)})
	return listFrom(m.GetDeliveries(), deliveryFrom), err
}

func (c deliveriesClient) Retry(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	m, err := c.client.RetryDelivery(ctx, &hostv1.RetryDeliveryRequest{Id: id})
	return deliveryFrom(m.GetDelivery()), err
}
