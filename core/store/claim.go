package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/ent/task"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// claimTerm is how long a claim is good for where several machines share the work: it is
// noted in lease_until. One daemon alone, as today, never loses a claim to time.
const claimTerm = time.Hour

// Claim takes the oldest run of a thread for owner: no other claim of the
// thread succeeds until the run is final, retried or released. When the head
// of the queue must wait, or the thread is at work, Found is false; but a command does not wait
// for a run that is parked. Unless the
// thread's busy mode is queue, the run absorbs the messages that wait behind
// it. Where daemons share a database, only the holder of the lock claims anything
// (CodeUnavailable): nobody would put back what another one has claimed.
func (s *Store) Claim(ctx context.Context, threadID, owner string) (ledger.Claim, error) {
	return s.claimHead(ctx, threadID, owner, "")
}

// ClaimUncaused is Claim for a time in which turns, and what runs have caused, are to
// wait: others go before them, and take none of it with them.
func (s *Store) ClaimUncaused(ctx context.Context, threadID, owner string) (ledger.Claim, error) {
	return s.claimHead(ctx, threadID, owner, " AND cause_run_id = '' AND kind <> 'turn'")
}

func (s *Store) claimHead(ctx context.Context, threadID, owner, which string) (ledger.Claim, error) {
	var claim ledger.Claim
	now := s.now()
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
		if claim, err = s.claim(ctx, tx, threadID, clean(owner), which, now); err != nil || !claim.Found {
			return err
		}
		return s.holds(ctx, tx)
	})
	if err != nil {
		return ledger.Claim{}, wrap("claim a run", err)
	}
	return claim, nil
}

// claim takes the head of those runs of the queue that the condition which selects.
func (s *Store) claim(ctx context.Context, t *tx, threadID, owner, which string, now time.Time) (ledger.Claim, error) {
	if _, err := t.epoch(ctx, threadID); err != nil {
		return ledger.Claim{}, err
	}
	for {
		id, err := t.takeHead(ctx, threadID, owner, threadsQueue, which+s.on, now)
		if err == nil {
			return s.claimed(ctx, t, threadID, id, which != "", now)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return ledger.Claim{}, err
		}
		waits, notBefore, err := t.head(ctx, threadID, threadsQueue, which+s.on)
		if err == nil && waits && notBefore.After(now) {
			// What is parked may wait for hours, and for a command that somebody types behind it.
			id, err = t.takeHead(ctx, threadID, owner, threadsQueue, which+s.on+behindParked, now)
			if err == nil {
				return s.claimed(ctx, t, threadID, id, which != "", now)
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return ledger.Claim{}, err
			}
			passes, due, err := t.head(ctx, threadID, threadsQueue, which+s.on+behindParked)
			if err == nil && passes && due.Before(notBefore) { // it is tried again, or came this moment
				if notBefore = due; due.Before(now) {
					notBefore = now
				}
			}
			return ledger.Claim{NotBefore: notBefore}, err
		}
		if err != nil || !waits {
			return ledger.Claim{NotBefore: notBefore}, err
		}
		// On Postgres, the head was cancelled in between: take the next one.
	}
}

// behindParked is the condition for a command that somebody has typed in a thread whose queue waits for a run that
// is parked. What a run has caused, or a plugin submits of its own accord, keeps its place.
const behindParked = ` AND kind = 'command' AND cause_run_id = '' AND EXISTS (SELECT 1 FROM messages m WHERE m.id = runs.message_id
	AND (m.author <> '' OR m.scope <> '')) AND EXISTS (SELECT 1 FROM runs p WHERE p.state = 'queued' AND p.thread_id = runs.thread_id AND NOT p.beside
	AND p.parked IS NOT NULL AND p.next_attempt_at IS NOT NULL AND p.message_id < runs.message_id)`

// takeHead marks the head of one of a thread's queues (in, see inQueue) as claimed and returns its
// id; sql.ErrNoRows says that there is nothing to claim now.
func (t *tx) takeHead(ctx context.Context, threadID, owner, in, which string, now time.Time) (id string, err error) {
	err = t.row(ctx, `UPDATE runs SET state = 'running', attempt = attempt + 1, owner = $1, lease_until = $2,
			next_attempt_at = NULL, started_at = COALESCE(started_at, $3)
		WHERE id = (SELECT id FROM runs WHERE state = 'queued' AND thread_id = $4`+in+which+` ORDER BY message_id, id LIMIT 1)
			AND state = 'queued' AND (next_attempt_at IS NULL OR next_attempt_at <= $3)
			AND NOT EXISTS (SELECT 1 FROM runs WHERE state IN ('running', 'waiting') AND thread_id = $4`+in+`)
		RETURNING id`,
		[]any{owner, now.Add(claimTerm), now, threadID}, &id)
	return id, err
}

// claimed completes the claim of a run and reads what it consists of.
func (s *Store) claimed(ctx context.Context, t *tx, threadID, runID string, uncaused bool, now time.Time) (ledger.Claim, error) {
	th, err := t.take(ctx, threadID)
	if err != nil {
		return ledger.Claim{}, err
	}
	r, err := s.claimedRun(ctx, t.Client, t.exec, runID)
	if err != nil {
		return ledger.Claim{}, err
	}
	m, err := t.messageOfRun(ctx, r)
	if err != nil {
		return ledger.Claim{}, err
	}
	claim := ledger.Claim{
		Found: true, Thread: threadOf(th), Message: m, Run: r,
		Fence: ledger.Fence{ThreadID: threadID, Epoch: th.Epoch},
	}
	if err := t.ofTask(ctx, &claim); err != nil {
		return ledger.Claim{}, err
	}
	return claim, t.gather(ctx, &claim, th.BusyMode, uncaused, s.whichAreOn(), now)
}

// ofTask adds to a claim what the thread's task says.
func (t *tx) ofTask(ctx context.Context, claim *ledger.Claim) error {
	leave, err := taskLeave(ctx, t.Task, claim.Thread.Thread)
	claim.TaskID, claim.AllowedTools, claim.PermissionMode = leave.TaskID, leave.AllowedTools, leave.PermissionMode
	return err
}

// TaskLeave returns what the task of a thread lets its turns do; the zero one: the thread is
// not a task's.
func (s *Store) TaskLeave(ctx context.Context, thread pluginsdk.Thread) (ledger.TaskLeave, error) {
	leave, err := taskLeave(ctx, s.read.Task, thread)
	return leave, wrap("read what a task allows", err)
}

// taskLeave is that of the newest of the tasks that went on from one another in the thread.
func taskLeave(ctx context.Context, tasks *ent.TaskClient, thread pluginsdk.Thread) (leave ledger.TaskLeave, err error) {
	if thread.Kind != pluginsdk.ThreadTask || thread.Source != "task" {
		return leave, nil
	}
	of, err := tasks.Query().Where(task.ThreadID(thread.ID)).Order(task.ByID(entsql.OrderDesc())).
		Select(task.FieldID, task.FieldAllowedTools, task.FieldPermissionMode, task.FieldStatus).First(ctx)
	if ent.IsNotFound(err) {
		return leave, nil
	}
	if err != nil {
		return leave, err
	}
	leave.TaskID = of.ID
	if !of.Status.Final() {
		leave.AllowedTools, leave.PermissionMode = of.AllowedTools, of.PermissionMode
	}
	return leave, nil
}

// claimedRun reads a run with what the core keeps in it. Commands that cannot be read
// are as those that nobody has stored: who has written them by hand must not hold up
// all that waits behind the run.
func (s *Store) claimedRun(ctx context.Context, from *ent.Client, query entsql.ExecQuerier, id string) (ledger.Run, error) {
	stored, err := from.Run.Query().Where(run.ID(id)).Select(runColumns...).Only(ctx)
	if err != nil {
		return ledger.Run{}, err
	}
	r := claimedRunOf(stored)
	if r.Purpose != "" || r.Plugin != "" { // it is a turn, or has options
		if err := readRequest(ctx, query, &r); err != nil {
			return r, err
		}
	}
	if r.Result == nil { // they are stored with it
		return r, nil
	}
	var commands sql.NullString
	if err := row(ctx, query, "SELECT commands FROM runs WHERE id = $1", []any{id}, &commands); err != nil || !commands.Valid {
		return r, err
	}
	if err := json.Unmarshal([]byte(commands.String), &r.Commands); err != nil {
		s.config.Log.Warn("the commands that are stored with a run cannot be read; they are looked for in its result again", "run", id, "err", err)
		r.Commands = nil
	}
	return r, nil
}

// gather adds to a claim what its run answers besides its own message.
func (t *tx) gather(ctx context.Context, claim *ledger.Claim, mode pluginsdk.BusyMode, uncaused bool, on predicate.Run, now time.Time) (err error) {
	r := &claim.Run
	if claim.Absorbed, err = messagesOf(ctx, t.Client, r.Absorbed); err != nil {
		return err
	}
	if mode == pluginsdk.BusyQueue || r.Kind != pluginsdk.RunMessage || r.Step != pluginsdk.StepAccepted {
		return nil
	}
	waiting, err := absorbable(ctx, t.Client, r.ThreadID, r.Absorbed, uncaused, on)
	if err != nil {
		return err
	}
	more, err := t.absorb(ctx, &r.Run, waiting, now)
	for _, m := range more {
		r.Absorbed = append(r.Absorbed, m.ID)
		claim.Absorbed = append(claim.Absorbed, m)
	}
	return err
}

// head says whether a run of one of a thread's queues (in) waits to be claimed that no other is in
// front of, and when it may be.
func (t *tx) head(ctx context.Context, threadID, in, which string) (waits bool, notBefore time.Time, err error) {
	var working bool
	err = t.row(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE state IN ('running', 'waiting') AND thread_id = $1"+in+")", []any{threadID}, &working)
	if err != nil || working {
		return false, time.Time{}, err
	}
	var due sql.NullTime
	err = t.row(ctx, "SELECT next_attempt_at FROM runs WHERE state = 'queued' AND thread_id = $1"+in+which+
		" ORDER BY message_id, id LIMIT 1", []any{threadID}, &due)
	if errors.Is(err, sql.ErrNoRows) {
		return false, time.Time{}, nil
	}
	if err != nil {
		return false, time.Time{}, err
	}
	return true, due.Time, nil
}
