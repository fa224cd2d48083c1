package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Carrier says which plugin carries the replies of a source's threads to people;
// false: nobody does, they read the store themselves.
type Carrier func(source string) (plugin string, ok bool)

// SetCarrier says who carries what, from now on; without it nobody carries
// anything. Writes call it: it must be quick, and must not call the store.
func (s *Store) SetCarrier(carrier Carrier) { s.carrier.Store(&carrier) }

func (s *Store) carries(source string) (plugin string, ok bool) {
	if carrier := s.carrier.Load(); carrier != nil && *carrier != nil {
		return (*carrier)(source)
	}
	return "", false
}

// targetHops is how many threads one may pass on its replies through.
const targetHops = 8

// target says where the replies of a thread are carried to: where it says itself,
// else to who carries its source. A task's thread has no people of its own, and what is
// said in a thread that reports to itself stays there.
func (s *Store) target(ctx context.Context, tx *tx, of pluginsdk.Thread) (lane ledger.Lane, carried bool, err error) {
	for range 1 + targetHops {
		switch to := of.ReportTo; {
		case to.ThreadID == of.ID && of.ID != "":
			return ledger.Lane{}, false, nil
		case to.Plugin != "":
			return ledger.Lane{Plugin: to.Plugin, Target: to.Place}, true, nil
		case to.ThreadID == "" && of.Kind == pluginsdk.ThreadTask:
			return ledger.Lane{}, false, nil
		case to.ThreadID == "":
			plugin, ok := s.carries(of.Source)
			return ledger.Lane{Plugin: plugin, Target: of.SourceID}, ok, nil
		}
		if of, err = tx.targetThread(ctx, of.ReportTo.ThreadID); errors.Is(err, sql.ErrNoRows) {
			break // it was deleted by hand
		}
		if err != nil {
			return ledger.Lane{}, false, err
		}
	}
	return ledger.Lane{}, false, nil
}

// targetThread reads what target needs of a thread.
func (t *tx) targetThread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	of := pluginsdk.Thread{ID: id}
	var reportTo string
	err := t.row(ctx, "SELECT kind, source, source_id, report_to FROM threads WHERE id = $1", []any{id},
		&of.Kind, &of.Source, &of.SourceID, &reportTo)
	of.ReportTo = targetOf(reportTo)
	return of, err
}

// deliver asks for messages to be carried to where the thread's replies go, if
// somebody carries them there, and returns the lane that has them.
func (s *Store) deliver(ctx context.Context, tx *tx, of pluginsdk.Thread, now time.Time, messageIDs ...int64) ([]ledger.Lane, error) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	lane, carried, err := s.target(ctx, tx, of)
	if err != nil || !carried {
		return nil, err
	}
	for _, messageID := range messageIDs {
		id, err := newID()
		if err != nil {
			return nil, err
		}
		if err := insertDelivery(tx.Delivery, pluginsdk.Delivery{
			ID: id, MessageID: messageID, Plugin: lane.Plugin, Place: lane.Target,
			State: pluginsdk.DeliveryPending, CreatedAt: now,
		}).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return []ledger.Lane{lane}, nil
}

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

// defaultPlace is the source id of a thread for what goes to a plugin's own default
// place, which has no name.
const defaultPlace = "default"

// ThreadOfTarget returns the thread of a plugin's place, and makes it when there is
// none: the one with that source id of a source that is the plugin's name, or that
// the plugin carries. What is delivered in a thread that is made goes to that place.
func (s *Store) ThreadOfTarget(ctx context.Context, plugin, place string) (pluginsdk.Thread, error) {
	sourceID := cmp.Or(place, defaultPlace)
	rows, err := s.read.Thread.Query().Where(thread.SourceID(clean(sourceID))).Order(thread.ByID()).All(ctx)
	if err != nil {
		return pluginsdk.Thread{}, wrap("find thread", err)
	}
	var found *ent.Thread
	for _, row := range rows {
		carrier, carried := s.carries(row.Source)
		if row.Source == plugin || carried && carrier == plugin && found == nil {
			found = row
		}
	}
	if found != nil {
		return toldThreadOf(found), nil
	}
	n := pluginsdk.NewThread{Source: plugin, SourceID: sourceID}
	if carrier, _ := s.carries(plugin); carrier != plugin || place == "" {
		n.ReportTo = pluginsdk.Target{Plugin: plugin, Place: place}
	}
	made, _, err := s.CreateThread(ctx, n)
	return made, err
}
