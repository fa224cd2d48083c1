package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/approval"
	"github.com/seed-706843ae/harness/ent/delivery"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// lanesOf returns where messages that were stored before wait to be carried: who
// repeats a commit has not been told.
func (t *tx) lanesOf(ctx context.Context, messageIDs []int64) (lanes []ledger.Lane, err error) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	var args []any
	for _, id := range messageIDs {
		args = append(args, id)
	}
	rows, err := t.exec.QueryContext(ctx, `SELECT DISTINCT plugin, target FROM deliveries
		WHERE state = 'pending' AND message_id IN (`+parameters(1, len(args))+`)`, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var lane ledger.Lane
		if err := rows.Scan(&lane.Plugin, &lane.Target); err != nil {
			return nil, err
		}
		lanes = append(lanes, lane)
	}
	return lanes, rows.Err()
}

// The writes of this file may be repeated when nobody knows what became of their COMMIT:
// each changes only rows that are in the state that it ends, but for DeliveryDone, since
// what has arrived has arrived.

// Deliveries returns the selected deliveries, oldest first unless q.Newest is set.
func (s *Store) Deliveries(ctx context.Context, q pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	query := s.read.Delivery.Query().Limit(page(q.Limit))
	if q.Newest {
		query.Order(delivery.ByID(entsql.OrderDesc()))
	} else {
		query.Order(delivery.ByID())
	}
	if q.State != "" {
		query.Where(delivery.StateEQ(q.State))
	}
	if q.Plugin != "" {
		query.Where(delivery.Plugin(q.Plugin))
	}
	if q.Place != "" {
		query.Where(delivery.Target(q.Place))
	}
	switch {
	case q.After != "" && q.Newest:
		query.Where(delivery.IDLT(q.After))
	case q.After != "":
		query.Where(delivery.IDGT(q.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list deliveries", err)
	}
	return all(rows, deliveryOf), nil
}

// RecoverDeliveries makes what a daemon that died was carrying wait again, due
// at once and with its attempts counted, and says how many these were. UnderWay
// are those that the caller itself carries at the moment. Only the holder of the
// lock may call it: once that is lost, it is CodeUnavailable, as in Recover.
func (s *Store) RecoverDeliveries(ctx context.Context, underWay ...string) (n int, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		n, err = tx.Delivery.Update().
			Where(delivery.StateEQ(pluginsdk.DeliverySending), delivery.IDNotIn(underWay...)).
			SetState(pluginsdk.DeliveryPending).ClearNextAttemptAt().Save(ctx)
		if err != nil {
			return err
		}
		return s.holds(ctx, tx)
	})
	return n, wrap("recover deliveries", err)
}

// Lanes returns the targets for which something waits.
func (s *Store) Lanes(ctx context.Context) ([]ledger.Lane, error) {
	rows, err := s.query.QueryContext(ctx, lanesQuery)
	if err != nil {
		return nil, wrap("list lanes", err)
	}
	lanes, err := readLanes(rows)
	return lanes, wrap("list lanes", err)
}

// lanesQuery takes the heads from the index alone, then looks each of them up:
// the LEFT keeps SQLite from doing it the other way round, for each row that
// waits.
const lanesQuery = `SELECT lane.plugin, lane.target, d.next_attempt_at
	FROM (SELECT plugin, target, MIN(message_id) AS head FROM deliveries
		WHERE state = 'pending' GROUP BY plugin, target) AS lane
	LEFT JOIN deliveries AS d ON d.state = 'pending' AND d.plugin = lane.plugin
		AND d.target = lane.target AND d.message_id = lane.head`

func readLanes(rows *sql.Rows) (lanes []ledger.Lane, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var lane ledger.Lane
		var next sql.NullTime
		if err := rows.Scan(&lane.Plugin, &lane.Target, &next); err != nil {
			return nil, err
		}
		if next.Valid {
			lane.NotBefore = next.Time.UTC()
		}
		lanes = append(lanes, lane)
	}
	return lanes, rows.Err()
}

// NextDelivery returns what is to be carried to a target next: what was begun
// and has no known end, else what waits with the oldest message.
func (s *Store) NextDelivery(ctx context.Context, plugin, target string) (ledger.Due, error) {
	for _, state := range []pluginsdk.DeliveryState{pluginsdk.DeliverySending, pluginsdk.DeliveryPending} {
		head, err := s.read.Delivery.Query().
			Where(delivery.StateEQ(state), delivery.Plugin(plugin), delivery.Target(target)).
			Order(delivery.ByMessageID()).Select(delivery.FieldID, delivery.FieldNextAttemptAt).First(ctx)
		if ent.IsNotFound(err) {
			continue
		}
		if err != nil {
			return ledger.Due{}, wrap("read the next delivery", err)
		}
		return ledger.Due{ID: head.ID, NotBefore: orZero(head.NextAttemptAt)}, nil
	}
	return ledger.Due{}, nil
}

// BeginDelivery counts an attempt, on disk, before it is made. One that was
// begun before and has no known end is not counted again. Only the holder of the
// lock may call it: once that is lost, noticed or not, what is begun may be another
// daemon's, and it is CodeUnavailable.
func (s *Store) BeginDelivery(ctx context.Context, id string) (out ledger.Outgoing, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		if out, err = tx.beginDelivery(ctx, id); err != nil || !out.Found {
			return err
		}
		return s.holds(ctx, tx)
	})
	if err != nil {
		return ledger.Outgoing{}, wrap("begin a delivery", err)
	}
	return out, nil
}

func (t *tx) beginDelivery(ctx context.Context, id string) (ledger.Outgoing, error) {
	err := t.Delivery.Update().Where(delivery.ID(id), delivery.StateEQ(pluginsdk.DeliveryPending)).
		SetState(pluginsdk.DeliverySending).AddAttempt(1).ClearNextAttemptAt().Exec(ctx)
	if err != nil {
		return ledger.Outgoing{}, err
	}
	d, err := t.Delivery.Get(ctx, id)
	if ent.IsNotFound(err) || err == nil && d.State != pluginsdk.DeliverySending {
		return ledger.Outgoing{}, nil
	}
	if err != nil {
		return ledger.Outgoing{}, err
	}
	out := ledger.Outgoing{Found: true, Delivery: deliveryOf(d)}
	err = t.carried(ctx, &out)
	if ent.IsNotFound(err) {
		return out, nil
	}
	return out, err
}

// carried reads what a delivery carries.
func (t *tx) carried(ctx context.Context, out *ledger.Outgoing) error {
	m, err := t.Message.Get(ctx, out.Delivery.MessageID)
	if err != nil {
		return err
	}
	th, err := t.Thread.Get(ctx, m.ThreadID)
	if err != nil {
		return err
	}
	out.Message, out.Thread = messageOf(m), toldThreadOf(th)
	if m.Kind != pluginsdk.MessageStatus {
		return nil
	}
	asks, err := t.Approval.Query().Where(approval.MessageID(m.ID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	asked := approvalOf(asks).Approval
	out.Approval = &asked
	return nil
}

// receiptMax is how many bytes are kept of what a plugin says of a delivery that has
// arrived.
const receiptMax = 1 << 10

// DeliveryDone stores, on disk, that a delivery has reached its target, under
// whose own id: as much of that as an id may have.
func (s *Store) DeliveryDone(ctx context.Context, id, externalID string) error {
	externalID = shortened(clean(externalID), receiptMax)
	return wrap("store a receipt", s.updateDelivery(ctx, id, func(update *ent.DeliveryUpdate) {
		update.SetState(pluginsdk.DeliveryDelivered).SetExternalID(externalID).SetLastError("").ClearNextAttemptAt()
	}))
}

// DeliveryRetry ends an attempt that failed; the next one is not made before
// at.
func (s *Store) DeliveryRetry(ctx context.Context, id string, at time.Time, reason string) error {
	return wrap("retry a delivery", s.updateDelivery(ctx, id, func(update *ent.DeliveryUpdate) {
		update.Where(delivery.StateEQ(pluginsdk.DeliverySending)).
			SetState(pluginsdk.DeliveryPending).SetNextAttemptAt(instant(at)).SetLastError(clean(reason))
	}))
}

// DeliveryDead ends an attempt that failed, and is the last one.
func (s *Store) DeliveryDead(ctx context.Context, id, reason string) error {
	return wrap("give up a delivery", s.updateDelivery(ctx, id, func(update *ent.DeliveryUpdate) {
		update.Where(delivery.StateEQ(pluginsdk.DeliverySending)).
			SetState(pluginsdk.DeliveryDead).ClearNextAttemptAt().SetLastError(clean(reason))
	}))
}

// updateDelivery changes a row, durably; one that is not there any more is
// nobody's loss.
func (s *Store) updateDelivery(ctx context.Context, id string, set func(*ent.DeliveryUpdate)) error {
	return s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		update := tx.Delivery.Update().Where(delivery.ID(id))
		set(update)
		return update.Exec(ctx)
	})
}

// RetryDelivery makes a dead delivery wait again, with no attempts counted,
// and one that waits due at once. One that is being attempted is left as it
// is; one that was delivered is CodeInvalid.
func (s *Store) RetryDelivery(ctx context.Context, id string) (d pluginsdk.Delivery, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		d, err = tx.retryDelivery(ctx, id)
		return err
	})
	if err != nil {
		return pluginsdk.Delivery{}, wrap("retry a delivery", err)
	}
	return d, nil
}

func (t *tx) retryDelivery(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	err := t.Delivery.Update().Where(delivery.ID(id), delivery.StateEQ(pluginsdk.DeliveryDead)).
		SetState(pluginsdk.DeliveryPending).SetAttempt(0).Exec(ctx)
	if err != nil {
		return pluginsdk.Delivery{}, err
	}
	err = t.Delivery.Update().Where(delivery.ID(id), delivery.StateEQ(pluginsdk.DeliveryPending)).
		ClearNextAttemptAt().Exec(ctx)
	if err != nil {
		return pluginsdk.Delivery{}, err
	}
	row, err := t.Delivery.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Delivery{}, notFound("delivery", id)
	}
	if err != nil {
		return pluginsdk.Delivery{}, err
	}
	if row.State == pluginsdk.DeliveryDelivered {
		return pluginsdk.Delivery{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"delivery %s has reached its target: nothing to try again", id)
	}
	return deliveryOf(row), nil
}
