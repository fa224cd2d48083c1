package store

import (
	"context"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A message stands in a conversation where the message of its run stands: a
// reply that came late belongs right after what it answers. turn is that
// place, an id; it is never greater than the message's own.
const turn = "COALESCE(turn.message_id, messages.id)"

// historyWindow is how many times the wanted number of messages is read first.
const historyWindow = 4

// history returns the messages of turns before that of a run, in the order of
// the turns.
func (s *Store) history(ctx context.Context, q pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	if q.After != 0 || q.Before != 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "beforeRunId: cannot be combined with after and before")
	}
	r, err := s.read.Run.Query().Where(run.ID(q.BeforeRunID)).Select(run.FieldMessageID).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, notFound("run", q.BeforeRunID)
	}
	if err != nil {
		return nil, wrap("read run", err)
	}
	if !q.Last {
		rows, err := s.turns(ctx, q, r.MessageID, 0)
		return all(rows, messageOf), wrap("list messages", err)
	}
	rows, err := s.lastTurns(ctx, q, r.MessageID)
	if err != nil {
		return nil, wrap("list messages", err)
	}
	slices.Reverse(rows)
	return all(rows, messageOf), nil
}

// lastTurns returns the newest messages, newest first. It reads a window of
// ids that grows until nothing outside can belong to them: a message stands no
// later than its id, so what lies before the window stands before the window.
func (s *Store) lastTurns(ctx context.Context, q pluginsdk.MessageQuery, before int64) ([]*ent.Message, error) {
	for size := historyWindow * q.Limit; ; size *= historyWindow {
		from := int64(0)
		oldest, err := s.selected(q).Order(message.ByID(entsql.OrderDesc())).Offset(size - 1).FirstID(ctx)
		switch {
		case err == nil:
			from = oldest
		case !ent.IsNotFound(err):
			return nil, err
		}
		rows, err := s.turns(ctx, q, before, from)
		if err != nil || from == 0 {
			return rows, err
		}
		if len(rows) == q.Limit {
			last, err := rows[len(rows)-1].Value("turn")
			if err != nil {
				return nil, err
			}
			if at, ok := last.(int64); ok && at >= from {
				return rows, nil
			}
		}
	}
}

// turns returns messages with ids of at least from, of turns before before.
func (s *Store) turns(ctx context.Context, q pluginsdk.MessageQuery, before, from int64) ([]*ent.Message, error) {
	direction := ""
	if q.Last {
		direction = " DESC"
	}
	query := s.selected(q).Where(predicate.Message(func(sel *entsql.Selector) {
		runs := entsql.Table(run.Table).As("turn")
		sel.LeftJoin(runs).On(sel.C(message.FieldRunID), runs.C(run.FieldID))
		sel.Where(entsql.P(func(b *entsql.Builder) { b.WriteString(turn + " < ").Arg(before) }))
	})).Limit(q.Limit)
	if from > 0 {
		query.Where(message.IDGTE(from))
	}
	query.Modify(func(sel *entsql.Selector) {
		sel.AppendSelectExpr(entsql.ExprFunc(func(b *entsql.Builder) { b.WriteString(turn + ` AS "turn"`) }))
		sel.OrderExpr(entsql.Expr(turn+direction), entsql.Expr("messages.id"+direction))
	})
	return query.All(ctx)
}
