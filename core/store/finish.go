package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Finish ends a run, on disk (step 11): its rows, their deliveries, the
// thread's last activity and the run's final state are one transaction. It
// returns the rows' ids in their order. Repeated, it returns the same ids and
// changes nothing.
func (s *Store) Finish(ctx context.Context, fence ledger.Fence, f ledger.Finish) (ids []int64, err error) {
	if !f.State.Final() {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "finish run: %q is not a final state", f.State)
	}
	rows := make([]pluginsdk.Message, 0, len(f.Rows))
	for _, row := range f.Rows {
		m, err := s.newMessage(fence.ThreadID, "core", row.Message)
		if err != nil {
			return nil, err
		}
		m.Key = clean(row.Key)
		rows = append(rows, m)
	}
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		ids, err = tx.finish(ctx, fence, f, rows, now)
		return err
	})
	return ids, wrap("finish run", err)
}

func (t *tx) finish(ctx context.Context, fence ledger.Fence, f ledger.Finish, rows []pluginsdk.Message, now time.Time) ([]int64, error) {
	var to pluginsdk.Thread
	err := t.row(ctx, `UPDATE threads SET last_activity = $1 WHERE id = $2 AND epoch = $3
		RETURNING source, source_id, report_to`,
		[]any{now, fence.ThreadID, fence.Epoch}, &to.Source, &to.SourceID, &to.ReportTo)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, stale(fence)
	}
	if err != nil {
		return nil, err
	}
	update := t.working(fence, f.RunID).SetState(f.State).SetError(clean(f.Error)).SetFinishedAt(now).
		ClearNextAttemptAt().ClearLeaseUntil()
	if f.Steps != nil {
		update.SetSteps(f.Steps)
	}
	n, err := update.Save(ctx)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return t.finished(ctx, f, rows)
	}
	ids, fresh, err := t.insertMissing(ctx, rows)
	if err != nil || !f.Deliver {
		return ids, err
	}
	return ids, t.deliver(ctx, to, now, fresh...)
}

// finished returns the ids of a Finish that has been made before.
func (t *tx) finished(ctx context.Context, f ledger.Finish, rows []pluginsdk.Message) ([]int64, error) {
	r, err := t.Run.Query().Where(run.ID(f.RunID)).Select(run.FieldState).Only(ctx)
	if err != nil {
		return nil, err
	}
	if r.State != f.State {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already: %s", f.RunID, r.State)
	}
	ids, fresh, err := t.insertMissing(ctx, rows)
	if err == nil && len(fresh) > 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already, with other rows", f.RunID)
	}
	return ids, err
}
