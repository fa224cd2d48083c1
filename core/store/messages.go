package store

import (
	"context"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Message returns a message, or CodeNotFound.
func (s *Store) Message(ctx context.Context, id int64) (pluginsdk.Message, error) {
	row, err := s.read.Message.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no message with the id %d", id)
	}
	if err != nil {
		return pluginsdk.Message{}, wrap("read message", err)
	}
	return messageOf(row), nil
}

// Messages is MessagePage for who does not read on.
func (s *Store) Messages(ctx context.Context, q pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	rows, _, err := s.MessagePage(ctx, q)
	return rows, err
}

// MessagePage returns the selected messages of a thread, oldest first, and whether
// there are more: behind them, or with Last in front of them. The next page is that
// after the id of the last of them, or with Last before the id of the first: also with
// BeforeRunID, where the order is that of the turns and After and Before mean the
// place which that message has in it. There, a message that is not stored any more has
// none (CodeNotFound).
func (s *Store) MessagePage(ctx context.Context, q pluginsdk.MessageQuery) (rows []pluginsdk.Message, more bool, err error) {
	if q.ThreadID == "" {
		return nil, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: which thread's messages?")
	}
	limit := page(q.Limit)
	q.Limit = limit + 1 // tells whether there are more
	var found []*ent.Message
	if q.BeforeRunID != "" {
		found, err = s.history(ctx, q)
	} else {
		found, err = s.byID(ctx, q)
	}
	if err != nil {
		return nil, false, wrap("list messages", err)
	}
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	if q.Last {
		slices.Reverse(found)
	}
	return all(found, messageOf), more, nil
}

// byID returns the selected messages in the order of their ids, from the newest on
// with Last.
func (s *Store) byID(ctx context.Context, q pluginsdk.MessageQuery) ([]*ent.Message, error) {
	order := message.ByID()
	if q.Last {
		order = message.ByID(entsql.OrderDesc())
	}
	query := s.selected(q).Order(order).Limit(q.Limit)
	if q.After > 0 {
		query.Where(message.IDGT(q.After))
	}
	if q.Before > 0 {
		query.Where(message.IDLT(q.Before))
	}
	return query.All(ctx)
}

// selected is what both orders of MessagePage have in common.
func (s *Store) selected(q pluginsdk.MessageQuery) *ent.MessageQuery {
	query := s.read.Message.Query().Where(message.ThreadID(q.ThreadID))
	if len(q.Roles) > 0 {
		query.Where(message.RoleIn(q.Roles...))
	}
	if len(q.Kinds) > 0 {
		query.Where(message.KindIn(q.Kinds...))
	}
	return query
}
