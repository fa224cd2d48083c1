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

// Messages returns the selected messages of a thread, oldest first.
func (s *Store) Messages(ctx context.Context, q pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	if q.ThreadID == "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: which thread's messages?")
	}
	q.Limit = page(q.Limit)
	if q.BeforeRunID != "" {
		return s.history(ctx, q)
	}
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
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list messages", err)
	}
	if q.Last {
		slices.Reverse(rows)
	}
	return all(rows, messageOf), nil
}

// selected is what both orders of Messages have in common.
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
