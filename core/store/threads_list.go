package store

import (
	"context"
	"errors"

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
	query := s.read.Thread.Query().Limit(page(q.Limit))
	switch q.Order {
	case "", pluginsdk.OldestFirst:
		query.Order(thread.ByID()).Where(thread.IDGT(q.After))
	case pluginsdk.NewestFirst:
		query.Order(thread.ByID(entsql.OrderDesc()))
		if q.After != "" {
			query.Where(thread.IDLT(q.After))
		}
	case pluginsdk.ActivityFirst:
		query.Order(thread.ByLastActivity(entsql.OrderDesc()), thread.ByID(entsql.OrderDesc())).Where(lessActiveThan(q.After))
	default:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "order: %q is not one of oldest, newest, activity", q.Order)
	}
	if q.Source != "" {
		query.Where(thread.Source(q.Source))
	}
	if q.SourceID != "" {
		query.Where(thread.SourceID(q.SourceID))
	}
	if q.Kind != "" {
		query.Where(thread.KindEQ(q.Kind))
	}
	if q.Status != "" {
		query.Where(thread.StatusEQ(q.Status))
	}
	if q.ParentThreadID != "" {
		query.Where(thread.ParentThreadID(q.ParentThreadID))
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
