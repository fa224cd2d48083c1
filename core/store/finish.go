package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Finish ends a run, on disk (step 11): the effects of its last hooks, its rows,
// their deliveries, the thread's last activity and the run's final state are one
// transaction. Repeated, it returns the same ids and changes nothing.
func (s *Store) Finish(ctx context.Context, fence ledger.Fence, f ledger.Finish) (done ledger.Finished, err error) {
	if !f.State.Final() {
		return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "finish run: %q is not a final state", f.State)
	}
	more, err := s.newAdditions(fence.ThreadID, f.RunID, f.Effects, f.Rows)
	if err != nil {
		return ledger.Finished{}, err
	}
	now := s.now()
	err = s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) (err error) {
		done, err = s.finish(ctx, tx, fence, f, more, now)
		return err
	})
	return done, wrap("finish run", err)
}

func (s *Store) finish(ctx context.Context, tx *tx, fence ledger.Fence, f ledger.Finish, more additions, now time.Time) (ledger.Finished, error) {
	of, err := tx.endsIn(ctx, fence, now)
	if err != nil {
		return ledger.Finished{}, err
	}
	var steps any // NULL: they stay as they are
	if f.Steps != nil {
		encoded, err := json.Marshal(f.Steps)
		if err != nil {
			return ledger.Finished{}, err
		}
		steps = encoded
	}
	n, err := tx.run(ctx, `UPDATE runs SET state = $1, error = $2, finished_at = $3, steps = COALESCE($4, steps),
		next_attempt_at = NULL, lease_until = NULL`+atWorkSQL(5),
		string(f.State), clean(f.Error), now, steps, f.RunID, fence.ThreadID)
	if err != nil {
		return ledger.Finished{}, err
	}
	if n == 0 {
		return tx.finished(ctx, f, more)
	}
	ids, fresh, err := s.add(ctx, tx, more)
	if err != nil || !f.Deliver {
		return ledger.Finished{MessageIDs: ids}, err
	}
	lanes, err := s.deliver(ctx, tx, of, now, fresh...)
	return ledger.Finished{MessageIDs: ids, Lanes: lanes}, err
}

// endsIn marks the thread in which a run ends as active, and returns where its replies
// go. A turn beside its thread has none.
func (t *tx) endsIn(ctx context.Context, fence ledger.Fence, now time.Time) (of pluginsdk.Thread, err error) {
	of.ID = fence.ThreadID
	if fence.Beside() {
		return of, t.checkTurn(ctx, fence)
	}
	var reportTo string
	err = t.row(ctx, `UPDATE threads SET last_activity = $1 WHERE id = $2 AND epoch = $3
		RETURNING kind, source, source_id, report_to`,
		[]any{now, fence.ThreadID, fence.Epoch}, &of.Kind, &of.Source, &of.SourceID, &reportTo)
	if errors.Is(err, sql.ErrNoRows) {
		return of, stale(fence)
	}
	of.ReportTo = targetOf(reportTo)
	return of, err
}

// finished returns what a Finish did that has been made before.
func (t *tx) finished(ctx context.Context, f ledger.Finish, more additions) (ledger.Finished, error) {
	r, err := t.Run.Query().Where(run.ID(f.RunID)).Select(run.FieldState).Only(ctx)
	if err != nil {
		return ledger.Finished{}, err
	}
	if r.State != f.State {
		return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already: %s", f.RunID, r.State)
	}
	known, err := t.known(ctx, additions{threadID: more.threadID, rows: more.rows})
	if err != nil {
		return ledger.Finished{}, err
	}
	var done ledger.Finished
	for _, row := range more.rows {
		id := known.messages[row.Key]
		if id == 0 {
			return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already, with other rows", f.RunID)
		}
		done.MessageIDs = append(done.MessageIDs, id)
	}
	done.Lanes, err = t.lanesOf(ctx, done.MessageIDs)
	return done, err
}
