package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs beside their thread: turns with a session of their own, and typed commands that concern
// no conversation. They are in no thread's queue and take no thread: its epoch and its session
// stay as they are, and the fence is the run and its attempt. Each such turn is a queue by
// itself. The commands of one name beside a thread are a queue: people give them in an order.

// threadsQueue is the condition for the runs of a thread's own queue.
const threadsQueue = " AND NOT beside"

// inQueue is the condition for the runs of one of the queues of a thread. The name of a command is
// part of the text, as plugins declare few: as a parameter, SQLite would plan without the index.
func inQueue(command string) string {
	if command == "" {
		return threadsQueue
	}
	return " AND beside_as = " + literals([]string{clean(command)})
}

// queueOf returns where a stored run waits.
func queueOf(row *ent.Run) ledger.Queue {
	return ledger.Run{
		Run: pluginsdk.Run{ID: row.ID, ThreadID: row.ThreadID, Beside: row.Beside}, BesideAs: row.BesideAs,
	}.Queue()
}

// ClaimBeside takes, for owner, the run of a queue beside the threads that is to be done first.
// Found is false when none is to be begun now, or not any more. Otherwise it is as Claim.
func (s *Store) ClaimBeside(ctx context.Context, queue ledger.Queue, owner string) (ledger.Claim, error) {
	var claim ledger.Claim
	now := s.now()
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
		if queue.Command != "" {
			claim, err = s.claimCommand(ctx, tx, queue, clean(owner), now)
		} else {
			claim, err = s.claimTurn(ctx, tx, queue.TurnID, clean(owner), now)
		}
		if err != nil || !claim.Found {
			return err
		}
		return s.holds(ctx, tx)
	})
	if err != nil {
		return ledger.Claim{}, wrap("claim a run beside its thread", err)
	}
	return claim, nil
}

// claimCommand takes the head of a queue of commands. The thread is kept as it is meanwhile, as
// by claim, so that UnclaimBeside waits for a COMMIT that is on its way.
func (s *Store) claimCommand(ctx context.Context, t *tx, queue ledger.Queue, owner string, now time.Time) (ledger.Claim, error) {
	if _, err := t.epoch(ctx, queue.ThreadID); err != nil {
		return ledger.Claim{}, err
	}
	in := inQueue(queue.Command)
	for {
		id, err := t.takeHead(ctx, queue.ThreadID, owner, in, s.on, now)
		if err == nil {
			return s.claimedBeside(ctx, t, id)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return ledger.Claim{}, err
		}
		waits, notBefore, err := t.head(ctx, queue.ThreadID, in, s.on)
		if err != nil || !waits || notBefore.After(now) {
			return ledger.Claim{NotBefore: notBefore}, err
		}
		// On Postgres, the head was cancelled in between: take the next one.
	}
}

func (s *Store) claimTurn(ctx context.Context, t *tx, runID, owner string, now time.Time) (ledger.Claim, error) {
	n, err := t.run(ctx, `UPDATE runs SET state = 'running', attempt = attempt + 1, owner = $1, lease_until = $2,
			next_attempt_at = NULL, started_at = COALESCE(started_at, $3)
		WHERE id = $4 AND beside AND state = 'queued' AND (next_attempt_at IS NULL OR next_attempt_at <= $3)`+s.on,
		owner, now.Add(claimTerm), now, runID)
	if err != nil {
		return ledger.Claim{}, err
	}
	if n > 0 {
		return s.claimedBeside(ctx, t, runID)
	}
	r, err := s.claimedRun(ctx, t.Client, t.exec, runID)
	if err != nil || r.State != pluginsdk.RunQueued {
		return ledger.Claim{}, err
	}
	return ledger.Claim{NotBefore: r.NextAttemptAt}, nil
}

// claimedBeside reads what the claim of a run beside its thread consists of.
func (s *Store) claimedBeside(ctx context.Context, t *tx, runID string) (ledger.Claim, error) {
	r, err := s.claimedRun(ctx, t.Client, t.exec, runID)
	if err != nil {
		return ledger.Claim{}, err
	}
	m, err := t.messageOfRun(ctx, r)
	if err != nil {
		return ledger.Claim{}, err
	}
	claim := ledger.Claim{
		Found: true, Message: m, Run: r,
		Fence: ledger.Fence{ThreadID: r.ThreadID, RunID: r.ID, Attempt: r.Attempt},
	}
	if r.ThreadID == "" {
		return claim, nil
	}
	th, err := t.Thread.Get(ctx, r.ThreadID)
	if err != nil {
		return ledger.Claim{}, err
	}
	claim.Thread = threadOf(th)
	return claim, t.ofTask(ctx, &claim)
}

// UnclaimBeside is Unclaim for a queue beside the threads.
func (s *Store) UnclaimBeside(ctx context.Context, queue ledger.Queue, owner string) error {
	which := run.ID(queue.TurnID)
	if queue.Command != "" {
		which = run.And(run.ThreadID(queue.ThreadID), run.BesideAs(clean(queue.Command)))
	}
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		if queue.Command != "" {
			if _, err := tx.epoch(ctx, queue.ThreadID); err != nil {
				return err
			}
		}
		return tx.Run.Update().
			Where(which, run.StateEQ(pluginsdk.RunRunning), run.Owner(clean(owner))).
			SetState(pluginsdk.RunQueued).SetOwner("").ClearLeaseUntil().AddAttempt(-1).Exec(ctx)
	})
	return wrap("put a claim back", err)
}

// checkBeside is check for a run beside its thread. If it has one, that is kept as it is
// until the end of the transaction: see epoch.
func (t *tx) checkBeside(ctx context.Context, fence ledger.Fence) error {
	if fence.ThreadID != "" {
		if _, err := t.epoch(ctx, fence.ThreadID); err != nil {
			return err
		}
	}
	query := "SELECT attempt FROM runs WHERE id = $1 AND beside"
	if t.postgres {
		query += " FOR UPDATE"
	}
	var attempt int
	err := t.row(ctx, query, []any{fence.RunID}, &attempt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return notFound("run", fence.RunID)
	case err == nil && attempt != fence.Attempt:
		return stale(fence)
	}
	return err
}
