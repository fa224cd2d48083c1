package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/ent/task"
	"github.com/seed-706843ae/harness/ent/taskanswer"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// TaskAnswers returns what plugins and people have answered about an iteration of a
// task, in the order in which they did.
func (s *Store) TaskAnswers(ctx context.Context, taskID string, iteration int) ([]ledger.TaskAnswer, error) {
	rows, err := s.read.TaskAnswer.Query().
		Where(taskanswer.TaskID(taskID), taskanswer.Iteration(iteration)).Order(taskanswer.ByID()).All(ctx)
	if err != nil {
		return nil, wrap("list a task's answers", err)
	}
	return all(rows, taskAnswerOf), nil
}

// How many iterations a history has, the latest, and how much of why each failed, in bytes:
// all of them are in each page of it.
const (
	maxIterations     = 1000
	maxIterationError = 1 << 10
)

// TaskHistory returns a task's latest iterations, and what was answered after an answer, at
// most so many: oldest first. A task that is not there is CodeNotFound.
func (s *Store) TaskHistory(ctx context.Context, taskID string, after int64, limit int) (iterations []pluginsdk.TaskIteration, answers []ledger.TaskAnswer, err error) {
	of, err := s.read.Task.Query().Where(task.ID(taskID)).Select(task.FieldCurrentIteration, task.FieldOwnIterations).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil, notFound("task", taskID)
	}
	if err != nil {
		return nil, nil, wrap("find a task", err)
	}
	if iterations, err = s.taskIterations(ctx, of); err != nil {
		return nil, nil, wrap("list a task's iterations", err)
	}
	rows, err := s.read.TaskAnswer.Query().Where(taskanswer.TaskID(taskID), taskanswer.IDGT(after)).
		Order(taskanswer.ByID()).Limit(limit).All(ctx)
	if err != nil {
		return nil, nil, wrap("list a task's answers", err)
	}
	return iterations, all(rows, taskAnswerOf), nil
}

// taskIterations returns the iterations of a task up to its current one, but for those whose
// runs were deleted by hand.
func (s *Store) taskIterations(ctx context.Context, of *ent.Task) (iterations []pluginsdk.TaskIteration, err error) {
	numbers := make(map[string]int)
	first := max(1, of.CurrentIteration-maxIterations+1)
	for n := first; n <= of.CurrentIteration; n++ {
		numbers[ledger.IterationKey(of.ID, n)] = n
	}
	for _, own := range of.OwnIterations {
		if own.Iteration >= first {
			iterations = append(iterations, own)
		}
	}
	columns := []string{
		run.FieldID, run.FieldKey, run.FieldState, run.FieldMergedInto, run.FieldError, run.FieldCostUsd, run.FieldNotionalUsd, run.FieldCostUnsure, run.FieldQueuedAt, run.FieldFinishedAt,
	}
	rows, err := s.read.Run.Query().Where(run.Source(ledger.SourceTask), run.KeyIn(slices.Collect(maps.Keys(numbers))...)).Select(columns...).All(ctx)
	if err != nil {
		return nil, err
	}
	var into []string
	for _, row := range rows {
		if row.State == pluginsdk.RunMerged {
			into = append(into, row.MergedInto)
		}
	}
	answering := make(map[string]*ent.Run)
	others, err := s.read.Run.Query().Where(run.IDIn(into...)).Select(columns...).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		answering[other.ID] = other
	}
	for _, row := range rows {
		n := numbers[orEmpty(row.Key)]
		if row.State == pluginsdk.RunMerged {
			if row = answering[row.MergedInto]; row == nil {
				continue
			}
		}
		failed := row.Error[:min(len(row.Error), maxIterationError)]
		iterations = append(iterations, pluginsdk.TaskIteration{
			Iteration: n, RunID: row.ID, State: row.State, Error: strings.ToValidUTF8(failed, ""), CostUSD: row.CostUsd,
			NotionalUSD: row.NotionalUsd, CostUnsure: row.CostUnsure,
			QueuedAt: row.QueuedAt.UTC(), FinishedAt: orZero(row.FinishedAt),
		})
	}
	slices.SortFunc(iterations, func(a, b pluginsdk.TaskIteration) int { return cmp.Compare(a.Iteration, b.Iteration) })
	return iterations, nil
}

// Submitted returns what was accepted under a source and a key, or CodeNotFound.
func (s *Store) Submitted(ctx context.Context, source, key string) (pluginsdk.Accepted, error) {
	first, err := s.read.Run.Query().Where(run.Source(clean(source)), run.Key(clean(key))).
		Select(run.FieldThreadID, run.FieldMessageID).Only(ctx)
	if ent.IsNotFound(err) {
		return pluginsdk.Accepted{}, notFound("message of "+source+" with the key", key)
	}
	if err != nil {
		return pluginsdk.Accepted{}, wrap("find a message", err)
	}
	return pluginsdk.Accepted{ThreadID: first.ThreadID, MessageID: first.MessageID, RunID: first.ID, Existed: true}, nil
}

// MoveTask moves a task, on disk, with all that goes with it: the answer, the row in
// the parent's thread and its delivery, the run that tells the parent's agent. CodeStale:
// it has been moved since it was read. Only the holder of the lock may call it: once
// that is lost, it is CodeUnavailable. When the COMMIT's outcome could not be found out
// (CodeUnavailable too), the task has been moved or has not: read it again.
func (s *Store) MoveTask(ctx context.Context, m ledger.TaskMove) (moved ledger.TaskMoved, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		if moved, err = s.move(ctx, tx, m); err != nil {
			return err
		}
		return s.holds(ctx, tx)
	})
	if err != nil {
		return ledger.TaskMoved{}, wrap("move a task", err)
	}
	return moved, nil
}

func (s *Store) move(ctx context.Context, tx *tx, m ledger.TaskMove) (moved ledger.TaskMoved, err error) {
	if err := tx.moveTask(ctx, m); err != nil {
		return moved, err
	}
	moved.Task = m.To
	moved.Task.Epoch = m.From.Epoch + 1
	if m.Answer != nil {
		if err := insertTaskAnswer(tx.TaskAnswer, *m.Answer).Exec(ctx); err != nil {
			return moved, err
		}
	}
	if m.Permits != "" {
		who := ledger.By{Plugin: m.Answer.Plugin, Author: m.Answer.Author, Origin: m.Answer.Origin}
		if err := s.note(ctx, tx, who.AuditName(), "task.permit", m.From.ID, m.Permits); err != nil {
			return moved, err
		}
	}
	if m.Notice == nil && m.Wake == nil || m.From.ParentThreadID == "" {
		return moved, nil
	}
	if _, err = tx.epoch(ctx, m.From.ParentThreadID); pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return moved, nil
	}
	if err != nil {
		return moved, err
	}
	parent, err := tx.targetThread(ctx, m.From.ParentThreadID)
	if err != nil {
		return moved, err
	}
	if m.Notice != nil {
		if err := s.notice(ctx, tx, parent, *m.Notice, &moved); err != nil {
			return moved, err
		}
	}
	if m.Wake == nil || parent.Kind == pluginsdk.ThreadCron {
		return moved, nil
	}
	if ended, err := tx.taskIsOver(ctx, m.From.ParentTaskID); err != nil || ended {
		return moved, err // nobody goes on there
	}
	moved.Woken, err = s.wake(ctx, tx, *m.Wake)
	return moved, err
}

func (t *tx) taskIsOver(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	var status pluginsdk.TaskStatus
	err := t.row(ctx, "SELECT status FROM tasks WHERE id = $1", []any{id}, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return status.Final(), err
}

// moveTask writes the task itself.
func (t *tx) moveTask(ctx context.Context, m ledger.TaskMove) error {
	update := t.Task.Update().Where(task.ID(m.From.ID), task.Epoch(m.From.Epoch),
		task.StatusEQ(m.From.Status), task.Phase(string(m.From.Phase)))
	n, err := updateTask(update, m.To).SetEpoch(m.From.Epoch + 1).Save(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "task %s has been moved since: it is not the one that was %s", m.From.ID, m.From.Status)
	}
	if m.To.Cwd == m.From.Cwd {
		return nil
	}
	return t.changeCwd(ctx, m.From.ThreadID, clean(m.To.Cwd))
}

// changeCwd has a thread's agent begin anew in another directory: a session belongs to
// the one that it was begun in.
func (t *tx) changeCwd(ctx context.Context, threadID, cwd string) error {
	_, err := t.run(ctx, `UPDATE threads SET cwd = $1, apart = apart OR $3, session_id = '', session_account = '', session_open = false, seen_message_id = 0
		WHERE id = $2`, cwd, threadID, ledger.Apart(cwd))
	return err
}

// notice stores a row for the parent, and its delivery.
func (s *Store) notice(ctx context.Context, tx *tx, parent pluginsdk.Thread, row ledger.Row, moved *ledger.TaskMoved) error {
	m, err := s.newMessage(origin{threadID: parent.ID}, row.Message)
	if err != nil {
		return err
	}
	m.Key = clean(row.Key)
	if m, err = tx.insertMessage(ctx, m); err != nil {
		return err
	}
	moved.NoticeID = m.ID
	moved.Lanes, err = s.deliver(ctx, tx, parent, m.CreatedAt, moved.NoticeID)
	return err
}

// wake stores the message that tells the parent's agent, and its run. There is none
// when runs have caused one another too often; a cause that is not there any more is
// none.
func (s *Store) wake(ctx context.Context, tx *tx, a ledger.Acceptance) (ledger.Accepted, error) {
	depth, _, err := tx.causedBy(ctx, a.Submission.CauseRunID)
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid:
		a.Submission.CauseRunID = ""
	case err != nil:
		return ledger.Accepted{}, err
	case a.MaxDepth > 0 && depth > a.MaxDepth:
		return ledger.Accepted{}, nil
	}
	user, hash, err := s.accepting(ctx, a)
	if err != nil {
		return ledger.Accepted{}, err
	}
	return s.accept(ctx, tx, a, user, hash)
}
