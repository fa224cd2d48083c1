package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Thread returns a thread, or CodeNotFound.
func (s *Store) Thread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	row, err := s.read.Thread.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Thread{}, notFound("thread", id)
	}
	if err != nil {
		return pluginsdk.Thread{}, wrap("read thread", err)
	}
	return toldThreadOf(row), nil
}

// Threads returns the selected threads in the order that is asked for.
func (s *Store) Threads(ctx context.Context, q pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	order, where, err := listed(q)
	if err != nil {
		return nil, err
	}
	query := s.read.Thread.Query().Order(order...).Limit(page(q.Limit))
	if words := strings.Fields(strings.ToLower(q.Text)); len(words) > 0 {
		ids, err := s.named(ctx, words, order, where, page(q.Limit))
		if err != nil || len(ids) == 0 {
			return nil, wrap("find threads by their names", err)
		}
		query.Where(thread.IDIn(ids...))
	} else {
		query.Where(where...)
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list threads", err)
	}
	threads := all(rows, toldThreadOf)
	if q.Unread {
		err = s.countUnread(ctx, threads)
	}
	return threads, wrap("count what is unread", err)
}

// listed is the order of a query, and what it selects but for the words of the name.
func listed(q pluginsdk.ThreadQuery) (order []thread.OrderOption, where []predicate.Thread, err error) {
	switch q.Order {
	case "", pluginsdk.OldestFirst:
		order, where = append(order, thread.ByID()), append(where, thread.IDGT(q.After))
	case pluginsdk.NewestFirst:
		order = append(order, thread.ByID(entsql.OrderDesc()))
		if q.After != "" {
			where = append(where, thread.IDLT(q.After))
		}
	case pluginsdk.ActivityFirst:
		order = append(order, thread.ByLastActivity(entsql.OrderDesc()), thread.ByID(entsql.OrderDesc()))
		where = append(where, lessActiveThan(q.After))
	default:
		return nil, nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "order: %q is not one of oldest, newest, activity", q.Order)
	}
	if q.Source != "" {
		where = append(where, thread.Source(q.Source))
	}
	if q.SourceID != "" {
		where = append(where, thread.SourceID(q.SourceID))
	}
	if q.Kind != "" {
		where = append(where, thread.KindEQ(q.Kind))
	}
	if len(q.Kinds) > 0 {
		where = append(where, thread.KindIn(q.Kinds...))
	}
	if q.Status != "" {
		where = append(where, thread.StatusEQ(q.Status))
	}
	if len(q.Statuses) > 0 {
		where = append(where, thread.StatusIn(q.Statuses...))
	}
	if q.ParentThreadID != "" {
		where = append(where, thread.ParentThreadID(q.ParentThreadID))
	}
	return order, where, checkLengths(length{"text", q.Text, nameMax})
}

// named returns the first of the threads whose names have each of the words, which are in
// lower case. The names are read, and folded here, because the databases do not agree on
// what lower case is: SQLite knows that of ASCII only, Postgres that of its locale.
func (s *Store) named(ctx context.Context, words []string, order []thread.OrderOption, where []predicate.Thread, limit int) (ids []string, err error) {
	names := entsql.Dialect(s.back.dialect()).Select(thread.FieldID, thread.FieldName).From(entsql.Table(thread.Table))
	for _, only := range where {
		only(names)
	}
	for _, by := range order {
		by(names)
	}
	text, args := names.Query()
	rows, err := s.query.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for len(ids) < limit && rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, err
		}
		name = strings.ToLower(name)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) }) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// lessActiveThan selects the threads that come after one in the order of their
// activity.
func lessActiveThan(id string) predicate.Thread {
	return func(s *entsql.Selector) {
		if id != "" {
			s.Where(entsql.P(func(b *entsql.Builder) {
				b.WriteString("(threads.last_activity, threads.id) < (SELECT o.last_activity, o.id FROM threads AS o WHERE o.id = ").Arg(id).WriteString(")")
			}))
		}
	}
}

// countUnread fills in Unread. No more than 100 rows are looked at for a thread,
// all of them in the index that holds nothing else.
func (s *Store) countUnread(ctx context.Context, threads []pluginsdk.Thread) (err error) {
	if len(threads) == 0 {
		return nil
	}
	ids := make([]any, len(threads))
	at := make(map[string]int, len(threads))
	for i, one := range threads {
		ids[i], at[one.ID] = one.ID, i
	}
	rows, err := s.query.QueryContext(ctx, `SELECT t.id, (SELECT COUNT(*) FROM (
			SELECT 1 FROM messages AS m WHERE m.thread_id = t.id AND m.id > t.last_read_message_id
			AND m.role <> 'user' AND m.kind IN ('text', 'notification') LIMIT 100) AS unread)
		FROM threads AS t WHERE t.id IN (`+parameters(1, len(ids))+`)`, ids...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return err
		}
		threads[at[id]].Unread = n
	}
	return rows.Err()
}

// The primary thread is the one with this source and source id.
const (
	primarySource = "web"
	primaryID     = "primary"
)

// EnsurePrimary returns the primary thread and makes it when there is none.
func (s *Store) EnsurePrimary(ctx context.Context) (pluginsdk.Thread, error) {
	t, err := s.newThread(pluginsdk.NewThread{Source: primarySource, SourceID: primaryID, Name: "Primary"})
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	t.Kind = pluginsdk.ThreadPrimary
	t, _, err = s.insertThreadOnce(ctx, t)
	return t, err
}

// Primary returns the primary thread, or CodeNotFound before the first start.
func (s *Store) Primary(ctx context.Context) (pluginsdk.Thread, error) {
	t, err := s.threadBySource(ctx, primarySource, primaryID)
	if ent.IsNotFound(err) {
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no primary thread yet; start the daemon once")
	}
	return t, wrap("read the primary thread", err)
}
