package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Recover puts the runs of all owners but this one, who have died, back into
// the queue, at the step they are known to have reached, and returns the
// queues that have work, the thread with the oldest message first. Only the
// holder of the lock may call it: once that is lost, noticed or not, what is at
// work may be another daemon's, and is left (CodeUnavailable).
func (s *Store) Recover(ctx context.Context, owner string) (open []ledger.Queue, err error) {
	left := run.And(run.StateEQ(pluginsdk.RunRunning), run.OwnerNEQ(clean(owner)))
	some, err := s.read.Run.Query().Where(left).Exist(ctx)
	if err == nil && some {
		err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
			if err := tx.recover(ctx, left); err != nil {
				return err
			}
			return s.holds(ctx, tx)
		})
	}
	if err != nil {
		return nil, wrap("recover runs", err)
	}
	open, err = s.openQueues(ctx)
	return open, wrap("list what has work", err)
}

// recover puts runs back into the queue. One that asks people waits for the answer, as if
// it had been parked: its agent could do nothing before it.
func (t *tx) recover(ctx context.Context, left predicate.Run) error {
	asks := func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString("EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = ").Ident(s.C(run.FieldID)).WriteString(" AND a.state = 'open')")
		}))
	}
	err := t.Run.Update().Where(left, run.Beside(false), asks).
		SetState(pluginsdk.RunWaiting).ClearNextAttemptAt().ClearLeaseUntil().SetOwner("").Exec(ctx)
	if err != nil {
		return err
	}
	return t.Run.Update().Where(left).
		SetState(pluginsdk.RunQueued).ClearNextAttemptAt().ClearLeaseUntil().SetOwner("").Exec(ctx)
}

// openQueues are the threads with runs that wait, and the commands and turns beside them that do.
func (s *Store) openQueues(ctx context.Context) (open []ledger.Queue, err error) {
	for _, query := range []string{
		"SELECT thread_id, '', '' FROM runs WHERE state = 'queued' AND NOT beside" + s.on + " GROUP BY thread_id ORDER BY MIN(message_id)",
		"SELECT thread_id, beside_as, '' FROM runs WHERE state = 'queued' AND beside AND beside_as <> ''" + s.on + " GROUP BY thread_id, beside_as ORDER BY MIN(message_id)",
		"SELECT '', '', id FROM runs WHERE state = 'queued' AND beside AND beside_as = ''" + s.on + " ORDER BY id",
	} {
		rows, err := s.query.QueryContext(ctx, query)
		if err != nil {
			return nil, err
		}
		if open, err = queuesOf(open, rows); err != nil {
			return nil, err
		}
	}
	return open, nil
}

func queuesOf(open []ledger.Queue, rows *sql.Rows) (_ []ledger.Queue, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one ledger.Queue
		if err := rows.Scan(&one.ThreadID, &one.Command, &one.TurnID); err != nil {
			return nil, err
		}
		open = append(open, one)
	}
	return open, rows.Err()
}

// Unclaim puts back what owner has claimed of a thread: for an owner that was
// not told whether its claim was made. It must not be at work on the thread.
func (s *Store) Unclaim(ctx context.Context, threadID, owner string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		// The claim's transaction holds the thread: its COMMIT may be on its way yet.
		if _, err := tx.epoch(ctx, threadID); err != nil {
			return err
		}
		return tx.Run.Update().
			Where(run.ThreadID(threadID), run.Beside(false), run.StateEQ(pluginsdk.RunRunning), run.Owner(clean(owner))).
			SetState(pluginsdk.RunQueued).SetOwner("").ClearLeaseUntil().AddAttempt(-1).Exec(ctx)
	})
	return wrap("put a claim back", err)
}

// failuresMax is how many failed attempts a run remembers.
const failuresMax = 20

// EndAttempt puts a claimed run back into the queue, not to be claimed before
// end.At, and notes why its attempt failed, with the effects of the hooks that were
// told.
func (s *Store) EndAttempt(ctx context.Context, fence ledger.Fence, end ledger.AttemptEnd) error {
	more, err := s.newAdditions(fence.ThreadID, end.RunID, end.Effects, nil)
	if err != nil {
		return err
	}
	now := s.now()
	return wrap("retry run", s.requeue(ctx, fence, end.RunID, more, func(r *ent.Run, update *ent.RunUpdate) {
		failures := append(slices.Clone(r.Failures), pluginsdk.Failed{Attempt: r.Attempt, Error: clean(end.Reason), At: now})
		update.SetNextAttemptAt(instant(end.At)).SetError(clean(end.Reason)).
			SetFailures(failures[max(0, len(failures)-failuresMax):]).ClearParked()
		if end.Hooks != nil {
			update.SetHooks(end.Hooks)
		}
	}))
}

// Release puts a claimed run back into the queue as if this attempt had not
// been made: the daemon is stopping.
func (s *Store) Release(ctx context.Context, fence ledger.Fence, runID string) error {
	return wrap("release run", s.requeue(ctx, fence, runID, additions{}, func(_ *ent.Run, update *ent.RunUpdate) {
		update.ClearNextAttemptAt().AddAttempt(-1)
	}))
}

func (s *Store) requeue(ctx context.Context, fence ledger.Fence, runID string, more additions, set func(*ent.Run, *ent.RunUpdate)) error {
	return s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		r, err := tx.Run.Query().Where(run.ID(runID)).Select(run.FieldAttempt, run.FieldFailures).Only(ctx)
		if err != nil {
			return err
		}
		update := tx.Run.Update().Where(run.ID(runID), run.StateEQ(pluginsdk.RunRunning)).
			SetState(pluginsdk.RunQueued).SetOwner("").ClearLeaseUntil()
		set(r, update)
		n, err := update.Save(ctx)
		if err = atWork(runID, n, err); err != nil {
			return err
		}
		_, _, err = s.add(ctx, tx, more)
		return err
	})
}

// atWork turns "no row changed" into the refusal of a run that is over, or
// back in the queue.
func atWork(runID string, n int, err error) error {
	if err == nil && n == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is not at work any more", runID)
	}
	return err
}

// CancelQueued ends a run that waits, for a reason in words. Cancelled is false,
// and the run as it is, when it is at work, over, or has its answer: that is shown.
func (s *Store) CancelQueued(ctx context.Context, runID, reason string) (r pluginsdk.Run, cancelled bool, err error) {
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		n, err := tx.Run.Update().Where(run.ID(runID), run.StateIn(pluginsdk.RunQueued, pluginsdk.RunWaiting), run.StepNEQ(pluginsdk.StepInvoked)).
			SetState(pluginsdk.RunCancelled).SetError(clean(reason)).SetFinishedAt(now).ClearNextAttemptAt().Save(ctx)
		cancelled = n > 0
		return err
	})
	if err != nil {
		return pluginsdk.Run{}, false, wrap("cancel run", err)
	}
	r, err = s.Run(ctx, runID)
	return r, cancelled, err
}

// CancelAllQueued ends all runs of a thread that wait and have no answer yet, for a
// reason in words, and returns their ids.
func (s *Store) CancelAllQueued(ctx context.Context, threadID, reason string) (ids []string, err error) {
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.exec.QueryContext(ctx, `UPDATE runs SET state = 'cancelled', error = $1, finished_at = $2, next_attempt_at = NULL
			WHERE state = 'queued' AND step <> 'invoked' AND thread_id = $3 AND NOT beside RETURNING id`, clean(reason), now, threadID)
		if err != nil {
			return err
		}
		ids, err = column(rows)
		return err
	})
	return ids, wrap("cancel runs", err)
}
