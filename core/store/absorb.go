package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// absorbMax bounds how many messages become part of one run, and
	// absorbBytes their text in all.
	absorbMax   = 100
	absorbBytes = 1 << 20
)

// Absorb merges into a run that is at work the messages that wait behind it in
// its thread, up to the first one that cannot be: a command, or one that was
// begun before. It returns them in their order. Their runs are final from then
// on and point to this one, which answers them too, in whichever attempt.
func (s *Store) Absorb(ctx context.Context, fence ledger.Fence, runID string) (absorbed []pluginsdk.Message, err error) {
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
// already.
func (t *tx) absorb(ctx context.Context, threadID, into string, before []int64, now time.Time) ([]pluginsdk.Message, error) {
	messages, err := t.absorbable(ctx, threadID, absorbMax-len(before))
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	ids := make([]int64, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	err = t.Run.Update().
		Where(run.ThreadID(threadID), run.StateEQ(pluginsdk.RunQueued), run.MessageIDIn(ids...)).
		SetState(pluginsdk.RunMerged).SetMergedInto(into).SetFinishedAt(now).Exec(ctx)
	if err != nil {
		return nil, err
	}
	err = t.Run.Update().Where(run.ID(into)).SetAbsorbed(append(slices.Clone(before), ids...)).Exec(ctx)
	return messages, err
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

// giveBack puts runs that were merged into this one back into the queue.
func (t *tx) giveBack(ctx context.Context, into string, messageIDs []int64) error {
	if len(messageIDs) == 0 {
		return nil
	}
	r, err := t.Run.Query().Where(run.ID(into)).Select(run.FieldThreadID, run.FieldAbsorbed).Only(ctx)
	if err != nil {
		return err
	}
	err = t.Run.Update().
		Where(run.ThreadID(r.ThreadID), run.MessageIDIn(messageIDs...), run.MergedInto(into)).
		SetState(pluginsdk.RunQueued).SetMergedInto("").ClearFinishedAt().Exec(ctx)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(r.Absorbed), func(id int64) bool { return slices.Contains(messageIDs, id) })
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
