package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type deliveries struct{ h *Host }

// AddDelivery puts a delivery into the host. Nothing carries it.
func (h *Host) AddDelivery(delivery pluginsdk.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliveries = append(h.deliveries, delivery)
}

func (s deliveries) List(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	leave, err := s.h.enter(ctx, "Deliveries.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	rest := after(s.h.deliveries, func(d pluginsdk.Delivery) bool { return d.ID == query.After })
	return page(filter(rest, func(d pluginsdk.Delivery) bool {
		return (query.State == "" || d.State == query.State) &&
			(query.Plugin == "" || d.Plugin == query.Plugin) &&
			(query.Target == "" || d.Target == query.Target)
	}), query.Limit), nil
}

func (s deliveries) Retry(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	leave, err := s.h.enter(ctx, "Deliveries.Retry")
	if err != nil {
		return pluginsdk.Delivery{}, err
	}
	defer leave()
	i := slices.IndexFunc(s.h.deliveries, func(d pluginsdk.Delivery) bool { return d.ID == id })
	if i < 0 {
		return pluginsdk.Delivery{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no delivery %q", id)
	}
	delivery := &s.h.deliveries[i]
	if delivery.State == pluginsdk.DeliveryDelivered {
		return pluginsdk.Delivery{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "delivery %s was delivered", id)
	}
	delivery.State, delivery.NextAttemptAt = pluginsdk.DeliveryPending, now()
	return *delivery, nil
}
