package store

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/ent/delivery"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Deliveries returns those in a state (empty: all), oldest first.
func (s *Store) Deliveries(ctx context.Context, state pluginsdk.DeliveryState, limit int) ([]pluginsdk.Delivery, error) {
	query := s.read.Delivery.Query().Order(delivery.ByID()).Limit(page(limit))
	if state != "" {
		query.Where(delivery.StateEQ(state))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list deliveries", err)
	}
	return all(rows, deliveryOf), nil
}

// deliver asks for messages to be carried to the thread's target, unless its
// people read the store themselves.
func (t *tx) deliver(ctx context.Context, to pluginsdk.Thread, now time.Time, messageIDs ...int64) error {
	plugin := to.Target()
	if plugin == "web" || plugin == "cli" {
		return nil
	}
	target := "" // the plugin's own default
	if plugin == to.Source {
		target = to.SourceID
	}
	for _, messageID := range messageIDs {
		id, err := newID()
		if err != nil {
			return err
		}
		if err := insertDelivery(t.Delivery, pluginsdk.Delivery{
			ID: id, MessageID: messageID, Plugin: plugin, Target: target,
			State: pluginsdk.DeliveryPending, CreatedAt: now,
		}).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
