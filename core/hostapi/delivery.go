package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type deliveries struct{ *caller }

func (s deliveries) List(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	return s.store.Deliveries(ctx, query)
}

func (s deliveries) Retry(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	return s.outbox.Retry(ctx, id)
}
