package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/ent"
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
	return threadOf(row), nil
}

// Threads returns the selected threads, oldest first.
func (s *Store) Threads(ctx context.Context, q pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	query := s.read.Thread.Query().Order(thread.ByID()).Limit(page(q.Limit))
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
	if q.After != "" {
		query.Where(thread.IDGT(q.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list threads", err)
	}
	return all(rows, threadOf), nil
}

// CreateThread makes a thread. When its source and source id are known, it
// returns that thread and created is false.
func (s *Store) CreateThread(ctx context.Context, n pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error) {
	if t, err = s.newThread(n); err != nil {
		return pluginsdk.Thread{}, false, err
	}
	return s.insertThreadOnce(ctx, t)
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
		return insertThread(tx.Thread, t).Exec(ctx)
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
	return threadOf(row), nil
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
	if err := errors.Join(checkBusyMode(n.BusyMode), checkCwd(n.Cwd)); err != nil {
		return pluginsdk.Thread{}, err
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	now := s.now()
	return pluginsdk.Thread{
		ID: id, Source: clean(n.Source), SourceID: clean(n.SourceID), ReportTo: clean(n.ReportTo), Name: clean(n.Name),
		Kind: n.Kind, ParentThreadID: n.ParentThreadID, Status: pluginsdk.ThreadActive,
		Model: clean(n.Model), Effort: clean(n.Effort), PermissionMode: clean(n.PermissionMode), Cwd: clean(n.Cwd),
		Instructions: clean(n.Instructions), BusyMode: n.BusyMode, LastActivity: now, CreatedAt: now,
	}, nil
}

func checkBusyMode(mode pluginsdk.BusyMode) error {
	switch mode {
	case pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "busyMode: %q is not one of queue, steer, collect, interrupt", mode)
}

// checkCwd refuses a working directory that would depend on where the daemon was
// started. Whether it exists is found out when a session begins in it.
func checkCwd(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd: %q is not an absolute path", dir)
	}
	return nil
}

func checkThreadStatus(status pluginsdk.ThreadStatus) error {
	switch status {
	case pluginsdk.ThreadActive, pluginsdk.ThreadIdle, pluginsdk.ThreadArchived:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "status: %q is not one of active, idle, archived", status)
}
