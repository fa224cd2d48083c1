package store

import (
	"context"
	"database/sql"
	"errors"

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

// spot is where a message stands in a conversation, as SQL has it: the turn and the
// id. The zero one is nowhere.
type spot struct{ turn, id int64 }

// between are the spots that a page of a history lies between, both exclusive.
type between struct{ after, before spot }

// history returns the messages of turns before that of a run, in the order of the
// turns, from the newest on with Last.
func (s *Store) history(ctx context.Context, q pluginsdk.MessageQuery) ([]*ent.Message, error) {
	r, err := s.read.Run.Query().Where(run.ID(q.BeforeRunID)).Select(run.FieldMessageID).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, notFound("run", q.BeforeRunID)
	}
	if err != nil {
		return nil, err
	}
	in := between{before: spot{turn: r.MessageID}} // no id is 0: nothing of that turn
	if q.After > 0 {
		if in.after, err = s.spotOf(ctx, q.ThreadID, q.After); err != nil {
			return nil, err
		}
	}
	if q.Before > 0 {
		before, err := s.spotOf(ctx, q.ThreadID, q.Before)
		if err != nil {
			return nil, err
		}
		if before.turn < in.before.turn {
			in.before = before
		}
	}
	if q.Last {
		return s.lastTurns(ctx, q, in)
	}
	return s.turns(ctx, q, in, 0)
}

// spotOf returns where a message of a thread stands, or CodeNotFound.
func (s *Store) spotOf(ctx context.Context, threadID string, id int64) (at spot, err error) {
	at.id = id
	err = row(ctx, s.query, "SELECT "+turn+" FROM messages LEFT JOIN runs AS turn ON messages.run_id = turn.id WHERE messages.id = $1 AND messages.thread_id = $2",
		[]any{id, threadID}, &at.turn)
	if errors.Is(err, sql.ErrNoRows) {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "after, before: the thread has no message with the id %d", id)
	}
	return at, err
}

// lastTurns returns the newest messages, newest first. It reads a window of
// ids that grows until nothing outside can belong to them: a message stands no
// later than its id, so what lies before the window stands before the window.
func (s *Store) lastTurns(ctx context.Context, q pluginsdk.MessageQuery, in between) ([]*ent.Message, error) {
	for size := historyWindow * q.Limit; ; size *= historyWindow {
		from := int64(0)
		oldest, err := s.selected(q).Order(message.ByID(entsql.OrderDesc())).Offset(size - 1).FirstID(ctx)
		switch {
		case err == nil:
			from = oldest
		case !ent.IsNotFound(err):
			return nil, err
		}
		rows, err := s.turns(ctx, q, in, from)
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

// turns returns messages with ids of at least from that lie between two spots.
func (s *Store) turns(ctx context.Context, q pluginsdk.MessageQuery, in between, from int64) ([]*ent.Message, error) {
	direction := ""
	if q.Last {
		direction = " DESC"
	}
	query := s.selected(q).Where(predicate.Message(func(sel *entsql.Selector) {
		runs := entsql.Table(run.Table).As("turn")
		sel.LeftJoin(runs).On(sel.C(message.FieldRunID), runs.C(run.FieldID))
		sel.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString("("+turn+", messages.id) < (").Args(in.before.turn, in.before.id).WriteString(")")
			if in.after != (spot{}) {
				b.WriteString(" AND ("+turn+", messages.id) > (").Args(in.after.turn, in.after.id).WriteString(")")
			}
		}))
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
