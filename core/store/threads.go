package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
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

// CreateThread makes a thread. When its source and source id are known, it returns
// that thread as it is and created is false; CodeConflict when n names a permission
// mode or a working directory and the thread has another.
func (s *Store) CreateThread(ctx context.Context, n pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error) {
	if t, err = s.newThread(n); err != nil {
		return pluginsdk.Thread{}, false, err
	}
	made, created, err := s.insertThreadOnce(ctx, t)
	if err == nil && !created {
		err = otherRights(made, n)
	}
	if err != nil {
		return pluginsdk.Thread{}, false, err
	}
	return made, created, nil
}

// otherRights refuses a thread that may do something else than it is asked for.
func otherRights(found pluginsdk.Thread, asked pluginsdk.NewThread) error {
	for _, of := range []struct{ field, is, want string }{
		{"permissionMode", found.PermissionMode, asked.PermissionMode}, {"cwd", found.Cwd, clean(asked.Cwd)},
	} {
		if of.want != "" && of.is != of.want {
			return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s: the thread %s:%s exists and has %.100q, not %.100q; "+
				"leave it out to get the thread as it is", of.field, found.Source, found.SourceID, of.is, of.want)
		}
	}
	return nil
}

// insertThreadOnce stores t, or finds the thread that has its source already.
func (s *Store) insertThreadOnce(ctx context.Context, t pluginsdk.Thread) (pluginsdk.Thread, bool, error) {
	if found, err := s.threadBySource(ctx, t.Source, t.SourceID); err == nil || !ent.IsNotFound(err) {
		return found, false, wrap("find thread", err)
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if t.ParentThreadID != "" {
			if _, err := tx.epoch(ctx, t.ParentThreadID); err != nil {
				return err
			}
		}
		if err := tx.checkTarget(ctx, "", t.ReportTo); err != nil {
			return err
		}
		return insertThread(tx.Thread, ledger.Thread{Thread: t}).Exec(ctx)
	})
	if duplicate(err) { // somebody was faster
		found, err := s.threadBySource(ctx, t.Source, t.SourceID)
		return found, false, wrap("find thread", err)
	}
	return t, err == nil, wrap("create thread", err)
}

func (s *Store) threadBySource(ctx context.Context, source, sourceID string) (pluginsdk.Thread, error) {
	row, err := s.read.Thread.Query().Where(thread.Source(source), thread.SourceID(sourceID)).Only(ctx)
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return toldThreadOf(row), nil
}

// newThread fills in what a thread starts with.
func (s *Store) newThread(n pluginsdk.NewThread) (pluginsdk.Thread, error) {
	if n.Kind == "" {
		n.Kind = pluginsdk.ThreadGeneral
	}
	if n.BusyMode == "" {
		n.BusyMode = pluginsdk.BusyQueue
	}
	switch {
	case n.Source == "" || n.SourceID == "":
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "source and sourceId: a thread needs both")
	case !slices.Contains([]pluginsdk.ThreadKind{pluginsdk.ThreadGeneral, pluginsdk.ThreadTask, pluginsdk.ThreadCron}, n.Kind):
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: %q is not one of general, task, cron", n.Kind)
	}
	if err := cmp.Or(
		checkBusyMode(n.BusyMode), checkCwd(n.Cwd), ledger.CheckPermissionMode(n.PermissionMode), checkTarget(n.ReportTo),
		checkLengths(length{"source", n.Source, sourceMax}, length{"sourceId", n.SourceID, sourceIDMax}, length{"name", n.Name, nameMax},
			length{"model", n.Model, wordMax}, length{"effort", n.Effort, wordMax}, length{"cwd", n.Cwd, cwdMax},
			length{"instructions", n.Instructions, instructionsMax}),
	); err != nil {
		return pluginsdk.Thread{}, err
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	now := s.now()
	return pluginsdk.Thread{
		ID: id, Source: clean(n.Source), SourceID: clean(n.SourceID), ReportTo: n.ReportTo, Name: clean(n.Name),
		Kind: n.Kind, ParentThreadID: n.ParentThreadID, Status: pluginsdk.ThreadActive,
		Model: clean(n.Model), Effort: clean(n.Effort), PermissionMode: n.PermissionMode, Cwd: clean(n.Cwd),
		Instructions: clean(n.Instructions), BusyMode: n.BusyMode, LastActivity: now, CreatedAt: now,
	}, nil
}
