package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// SessionClosed notes that no agent process holds the thread's session any
// more. Another session of the thread is left alone, and so is one that a run
// is about to call the agent in: it will be open again at once.
func (s *Store) SessionClosed(ctx context.Context, threadID, sessionID string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, `UPDATE threads SET session_open = false WHERE id = $1 AND session_id = $2
			AND NOT EXISTS (SELECT 1 FROM runs WHERE state = 'running' AND thread_id = $1 AND step = $3 AND NOT beside)`,
			threadID, sessionID, string(pluginsdk.StepInvoking))
		return err
	})
	return wrap("note the end of a session", err)
}

// ResetSession makes the thread's next turn start a new session.
func (s *Store) ResetSession(ctx context.Context, threadID string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		n, err := tx.Thread.Update().Where(thread.ID(threadID)).
			SetSessionID("").SetSessionOpen(false).SetSeenMessageID(0).Save(ctx)
		if err == nil && n == 0 {
			return notFound("thread", threadID)
		}
		return err
	})
	return wrap("reset session", err)
}

// epoch reads a thread's epoch and keeps the thread as it is until the end of
// the transaction. So rows of one thread are numbered in the order in which
// they become visible, on Postgres too.
func (t *tx) epoch(ctx context.Context, threadID string) (epoch int64, err error) {
	query := "SELECT epoch FROM threads WHERE id = $1"
	if t.postgres {
		query += " FOR UPDATE"
	}
	err = t.row(ctx, query, []any{threadID}, &epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, notFound("thread", threadID)
	}
	return epoch, err
}

// check refuses a write whose thread has been taken by another run; of a turn beside
// its thread, one of an attempt that is not the turn's any more.
func (t *tx) check(ctx context.Context, fence ledger.Fence) error {
	if fence.Beside() {
		return t.checkTurn(ctx, fence)
	}
	epoch, err := t.epoch(ctx, fence.ThreadID)
	if err == nil && epoch != fence.Epoch {
		return stale(fence)
	}
	return err
}

// holding sets columns of the thread if check would allow it, with their values as the
// parameters from $1 on. A turn beside its thread changes nothing of it.
func (t *tx) holding(ctx context.Context, fence ledger.Fence, set string, values ...any) error {
	if fence.Beside() {
		return t.checkTurn(ctx, fence)
	}
	n, err := t.run(ctx, fmt.Sprintf("UPDATE threads SET %s WHERE id = $%d AND epoch = $%d", set, len(values)+1, len(values)+2),
		append(values, fence.ThreadID, fence.Epoch)...)
	return changed(fence, int(n), err)
}

// changed turns "no row changed" into the fence's refusal.
func changed(fence ledger.Fence, n int, err error) error {
	if err == nil && n == 0 {
		return stale(fence)
	}
	return err
}

func stale(fence ledger.Fence) error {
	if fence.Beside() {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "attempt %d of the turn %s is over", fence.Attempt, fence.TurnID)
	}
	return pluginsdk.Errorf(pluginsdk.CodeStale, "thread %s has been taken by another run since", fence.ThreadID)
}
