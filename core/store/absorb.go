package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// absorbMax bounds how many messages become part of one run, and
	// absorbBytes the text of those that become so at a time.
	absorbMax   = 100
	absorbBytes = 256 << 10
)

// Absorbable returns the messages that wait behind a run that is at work, up to the
// first one that cannot be merged into it: a command, one with options, or one that was begun before;
// or as many as are merged at a time. What runs have caused is none while an operator has
// paused what plugins start, nor is what comes after it. It changes nothing.
func (s *Store) Absorbable(ctx context.Context, fence ledger.Fence, runID string) ([]pluginsdk.Message, error) {
	if n, err := s.Waiting(ctx, fence.ThreadID); err != nil || n == 0 {
		return nil, err
	}
	epoch, err := s.read.Thread.Query().Where(thread.ID(fence.ThreadID)).Select(thread.FieldEpoch).Int(ctx)
	if err != nil {
		return nil, wrap("look for waiting messages", err)
	}
	if int64(epoch) != fence.Epoch {
		return nil, stale(fence)
	}
	r, err := atWorkNow(ctx, s.read, runID)
	if err != nil {
		return nil, wrap("look for waiting messages", err)
	}
	if r.Purpose != "" { // it answers one message alone
		return nil, nil
	}
	pause, err := s.readLever(ctx, ledger.LeverPause)
	if err != nil {
		return nil, err
	}
	messages, err := absorbable(ctx, s.read, fence.ThreadID, r.Absorbed, pause.On, s.whichAreOn())
	return messages, wrap("look for waiting messages", err)
}

// Absorb merges messages that Absorbable returned, all or the first of them, into a
// run that is at work, and returns those that were merged, in their order. What does
// not wait any more is left out; so is one that is not named, or was amended since it was
// read, with what comes after it. Their
// runs are final from then on and point to this one, which answers them too, in
// whichever attempt.
func (s *Store) Absorb(ctx context.Context, fence ledger.Fence, runID string, messages []pluginsdk.Message) (absorbed []pluginsdk.Message, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		r, err := atWorkNow(ctx, tx.Client, runID)
		if err != nil {
			return err
		}
		waiting, err := absorbable(ctx, tx.Client, fence.ThreadID, r.Absorbed, false, s.whichAreOn())
		if err != nil {
			return err
		}
		other := slices.IndexFunc(waiting, func(m pluginsdk.Message) bool {
			return !slices.ContainsFunc(messages, func(named pluginsdk.Message) bool { return named.ID == m.ID && saysTheSame(named, m) })
		})
		if other >= 0 {
			waiting = waiting[:other]
		}
		absorbed, err = tx.absorb(ctx, r, waiting, now)
		return err
	})
	return absorbed, wrap("merge waiting messages", err)
}

// atWorkNow reads what of a run there is to know before something is merged into
// it, and refuses one that is not at work.
func atWorkNow(ctx context.Context, from *ent.Client, runID string) (*pluginsdk.Run, error) {
	r, err := from.Run.Query().Where(run.ID(runID)).Select(run.FieldID, run.FieldThreadID, run.FieldState, run.FieldAbsorbed, run.FieldPurpose).Only(ctx)
	if err != nil {
		return nil, err
	}
	if r.State != pluginsdk.RunRunning {
		return nil, atWork(runID, 0, nil)
	}
	told := runOf(r)
	return &told, nil
}

// absorb merges messages that wait into a run. What somebody cancels at this very
// moment is left to him.
func (t *tx) absorb(ctx context.Context, into *pluginsdk.Run, messages []pluginsdk.Message, now time.Time) ([]pluginsdk.Message, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	merged, err := t.merge(ctx, into.ThreadID, into.ID, messages, now)
	if err != nil {
		return nil, err
	}
	messages = slices.DeleteFunc(messages, func(m pluginsdk.Message) bool { return !slices.Contains(merged, m.ID) })
	ids := slices.Clone(into.Absorbed)
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return messages, t.Run.Update().Where(run.ID(into.ID)).SetAbsorbed(ids).Exec(ctx)
}

// merge ends the waiting runs of these messages and returns the ids of those
// that were still waiting. Its text is always the same: it is prepared once.
func (t *tx) merge(ctx context.Context, threadID, into string, messages []pluginsdk.Message, now time.Time) (merged []int64, err error) {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = strconv.FormatInt(m.ID, 10)
	}
	named := "IN (SELECT value FROM json_each('[' || $4 || ']'))"
	if t.postgres {
		named = "= ANY(string_to_array($4, ',')::bigint[])"
	}
	rows, err := t.exec.QueryContext(ctx, `UPDATE runs SET state = 'merged', merged_into = $1, finished_at = $2
		WHERE thread_id = $3 AND state = 'queued' AND kind = 'message' AND purpose = '' AND message_id `+named+` RETURNING message_id`,
		into, now, threadID, strings.Join(list, ","))
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

// absorbable returns the messages at the head of a thread's queue that a run which
// has merged some before can answer together; uncaused leaves out what runs have caused,
// and what comes after it.
func absorbable(ctx context.Context, from *ent.Client, threadID string, before []int64, uncaused bool, on predicate.Run) ([]pluginsdk.Message, error) {
	limit := absorbMax - len(before)
	if limit <= 0 {
		return nil, nil
	}
	waiting, err := from.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.ThreadID(threadID), run.Beside(false), on).
		Order(run.ByMessageID(), run.ByID()).Limit(absorbMax). // as many always: the statement is kept
		Select(run.FieldMessageID, run.FieldKind, run.FieldAttempt, run.FieldCauseRunID, run.FieldPurpose).All(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range waiting {
		if r.Kind != pluginsdk.RunMessage || r.Purpose != "" || r.Attempt > 0 || len(ids) == limit || uncaused && r.CauseRunID != "" {
			break
		}
		ids = append(ids, r.MessageID)
	}
	messages, err := messagesOf(ctx, from, ids)
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

// messagesOf returns those with the ids, in the order of the ids.
func messagesOf(ctx context.Context, from *ent.Client, ids []int64) ([]pluginsdk.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := from.Message.Query().Where(message.IDIn(ids...)).Order(message.ByID()).All(ctx)
	return all(rows, messageOf), err
}

// giveBack puts the runs that were merged into this one, but for those of the
// messages that it keeps, back into the queue.
func (t *tx) giveBack(ctx context.Context, threadID, into string, absorbed, keeps []int64) error {
	kept := slices.DeleteFunc(slices.Clone(absorbed), func(id int64) bool { return !slices.Contains(keeps, id) })
	if len(kept) == len(absorbed) {
		return nil
	}
	err := t.Run.Update().
		Where(run.ThreadID(threadID), run.MergedInto(into), run.MessageIDNotIn(kept...)).
		SetState(pluginsdk.RunQueued).SetMergedInto("").ClearFinishedAt().Exec(ctx)
	if err != nil {
		return err
	}
	return t.Run.Update().Where(run.ID(into)).SetAbsorbed(kept).Exec(ctx)
}

// take moves the thread on to its next epoch and returns it.
func (t *tx) take(ctx context.Context, threadID string) (*ent.Thread, error) {
	return t.changeThread(ctx, threadID, "epoch = epoch + 1")
}

// changeThread sets columns of a thread, whose id is $1, and returns it. ent needs a second statement to
// read the row that it has updated.
func (t *tx) changeThread(ctx context.Context, threadID, set string, args ...any) (changed *ent.Thread, err error) {
	rows, err := t.exec.QueryContext(ctx, "UPDATE threads SET "+set+" WHERE id = $1 RETURNING "+threadColumns, append([]any{threadID}, args...)...) //nolint:rowserrcheck // ScanSlice returns rows.Err
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var found []*ent.Thread
	if err := entsql.ScanSlice(rows, &found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, notFound("thread", threadID)
	}
	return found[0], nil
}

var threadColumns = strings.Join(thread.Columns, ", ")
