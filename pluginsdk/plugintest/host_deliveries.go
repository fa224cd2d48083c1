package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type deliveries struct{ view }

// AddDelivery puts a delivery into the host. Nothing carries it.
func (h *Host) AddDelivery(delivery pluginsdk.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliveries = append(h.deliveries, delivery)
}

// Deliveries returns what is on its way to people: what was put in, and the rows
// that were appended to be delivered.
func (h *Host) Deliveries() []pluginsdk.Delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.deliveries)
}

// deliver sends a row to where its thread's replies go: the target of ReportTo,
// else the thread's own source.
func (h *Host) deliver(row pluginsdk.Message) {
	delivery := pluginsdk.Delivery{
		ID: h.nextID("delivery"), MessageID: row.ID, State: pluginsdk.DeliveryPending, CreatedAt: row.CreatedAt,
	}
	for next, seen := row.ThreadID, 0; seen < len(h.threads)+1; seen++ {
		i, err := find(h.threads, "thread", next, threadID)
		if err != nil {
			break
		}
		thread := h.threads[i]
		if delivery.Plugin, delivery.Place = thread.ReportTo.Plugin, thread.ReportTo.Place; thread.ReportTo == (pluginsdk.Target{}) {
			delivery.Plugin, delivery.Place = thread.Source, thread.SourceID
		}
		if next = thread.ReportTo.ThreadID; next == "" {
			break
		}
	}
	h.deliveries = append(h.deliveries, delivery)
}

func deliveryID(d pluginsdk.Delivery) string { return d.ID }

func (s deliveries) List(ctx context.Context, request *pluginsdk.ListDeliveriesRequest) (*pluginsdk.ListDeliveriesResponse, error) {
	leave, err := s.h.enter(ctx, "Deliveries.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := after(ordered(s.h.deliveries, query.Newest), func(d pluginsdk.Delivery) bool { return d.ID == query.After })
	return &pluginsdk.ListDeliveriesResponse{Deliveries: page(filter(rest, func(d pluginsdk.Delivery) bool {
		return (query.State == "" || d.State == query.State) &&
			(query.Plugin == "" || d.Plugin == query.Plugin) &&
			(query.Place == "" || d.Place == query.Place)
	}), query.Limit)}, nil
}

func (s deliveries) Retry(ctx context.Context, request *pluginsdk.RetryDeliveryRequest) (*pluginsdk.RetryDeliveryResponse, error) {
	leave, err := s.h.enter(ctx, "Deliveries.Retry")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.deliveries, "delivery", request.ID, deliveryID)
	if err != nil {
		return nil, err
	}
	delivery := &s.h.deliveries[i]
	if delivery.State == pluginsdk.DeliveryDelivered {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "delivery %s was delivered", request.ID)
	}
	delivery.State, delivery.NextAttemptAt = pluginsdk.DeliveryPending, now()
	return &pluginsdk.RetryDeliveryResponse{Delivery: *delivery}, nil
}
