package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// absorbMax bounds how many messages become part of one run, and
	// absorbBytes the text of those that become so at a time.
	absorbMax   = 100
	absorbBytes = 256 << 10
)

// Absorb merges into a run that is at work the messages that wait behind it in
// its thread, up to the first one that cannot be: a command, or one that was
// begun before. It returns them in their order. Their runs are final from then
// on and point to this one, which answers them too, in whichever attempt.
func (s *Store) Absorb(ctx context.Context, fence ledger.Fence, runID string) (absorbed []pluginsdk.Message, err error) {
	if n, err := s.Waiting(ctx, fence.ThreadID); err != nil || n == 0 {
		return nil, err
	}
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		r, err := tx.Run.Query().Where(run.ID(runID)).Select(run.FieldState, run.FieldAbsorbed).Only(ctx)
		if err != nil {
			return err
		}
		if r.State != pluginsdk.RunRunning {
			return atWork(runID, 0, nil)
		}
		absorbed, err = tx.absorb(ctx, fence.ThreadID, runID, r.Absorbed, now)
		return err
	})
	return absorbed, wrap("merge waiting messages", err)
}

// absorb merges what waits in the thread into the run, which has absorbed some
// already. What somebody cancels at this very moment is left to him.
func (t *tx) absorb(ctx context.Context, threadID, into string, before []int64, now time.Time) ([]pluginsdk.Message, error) {
	messages, err := t.absorbable(ctx, threadID, absorbMax-len(before))
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	merged, err := t.merge(ctx, threadID, into, messages, now)
	if err != nil {
		return nil, err
	}
	messages = slices.DeleteFunc(messages, func(m pluginsdk.Message) bool { return !slices.Contains(merged, m.ID) })
	ids := slices.Clone(before)
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return messages, t.Run.Update().Where(run.ID(into)).SetAbsorbed(ids).Exec(ctx)
}

// merge ends the waiting runs of these messages and returns the ids of those
// that were still waiting.
func (t *tx) merge(ctx context.Context, threadID, into string, messages []pluginsdk.Message, now time.Time) (merged []int64, err error) {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = strconv.FormatInt(m.ID, 10)
	}
	rows, err := t.exec.QueryContext(ctx, `UPDATE runs SET state = 'merged', merged_into = $1, finished_at = $2
		WHERE thread_id = $3 AND state = 'queued' AND message_id IN (`+strings.Join(list, ", ")+`) RETURNING message_id`,
		into, now, threadID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		merged = append(merged, id)
	}
	return merged, rows.Err()
}

// absorbable returns the messages at the head of a thread's queue that one run
// can answer together.
func (t *tx) absorbable(ctx context.Context, threadID string, limit int) ([]pluginsdk.Message, error) {
	if limit <= 0 {
		return nil, nil
	}
	waiting, err := t.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.ThreadID(threadID)).
		Order(run.ByMessageID()).Limit(limit).
		Select(run.FieldMessageID, run.FieldKind, run.FieldAttempt).All(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range waiting {
		if r.Kind != pluginsdk.RunMessage || r.Attempt > 0 {
			break
		}
		ids = append(ids, r.MessageID)
	}
	messages, err := t.messages(ctx, ids)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, m := range messages {
		if size += len(m.Content); size > absorbBytes {
			return messages[:i], nil
		}
	}
	return messages, nil
}

// messages returns those with the ids, in the order of the ids.
func (t *tx) messages(ctx context.Context, ids []int64) ([]pluginsdk.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := t.Message.Query().Where(message.IDIn(ids...)).Order(message.ByID()).All(ctx)
	return all(rows, messageOf), err
}

// giveBack puts the runs that were merged into this one, but for those of the
// messages that it keeps, back into the queue.
func (t *tx) giveBack(ctx context.Context, into string, keeps []int64) error {
	r, err := t.Run.Query().Where(run.ID(into)).Select(run.FieldThreadID, run.FieldAbsorbed).Only(ctx)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(r.Absorbed), func(id int64) bool { return !slices.Contains(keeps, id) })
	if len(kept) == len(r.Absorbed) {
		return nil
	}
	err = t.Run.Update().
		Where(run.ThreadID(r.ThreadID), run.MergedInto(into), run.MessageIDNotIn(kept...)).
		SetState(pluginsdk.RunQueued).SetMergedInto("").ClearFinishedAt().Exec(ctx)
	if err != nil {
		return err
	}
	return t.Run.Update().Where(run.ID(into)).SetAbsorbed(kept).Exec(ctx)
}

// take moves the thread on to its next epoch and returns its busy mode.
func (t *tx) take(ctx context.Context, threadID string) (mode pluginsdk.BusyMode, err error) {
	err = t.row(ctx, "UPDATE threads SET epoch = epoch + 1 WHERE id = $1 RETURNING busy_mode", []any{threadID}, &mode)
	if errors.Is(err, sql.ErrNoRows) {
		return "", notFound("thread", threadID)
	}
	return mode, err
}
