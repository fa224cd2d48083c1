package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/task"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// taskNameMax is how many characters of its message name a task's thread.
const taskNameMax = 60

// taskDepthMax is how deep tasks may be made by tasks.
const taskDepthMax = 8

// Task returns a task, or CodeNotFound.
func (s *Store) Task(ctx context.Context, id string) (pluginsdk.Task, error) {
	t, err := s.TaskState(ctx, id)
	return t.Task, err
}

// TaskState returns a task with what the core keeps in it, or CodeNotFound.
func (s *Store) TaskState(ctx context.Context, id string) (ledger.Task, error) {
	row, err := s.read.Task.Get(ctx, id)
	if ent.IsNotFound(err) {
		return ledger.Task{}, notFound("task", id)
	}
	if err != nil {
		return ledger.Task{}, wrap("read task", err)
	}
	t := []ledger.Task{taskOf(row)}
	err = s.sumCosts(ctx, t)
	return t[0], wrap("read task", err)
}

// Tasks returns the selected tasks, oldest first unless q.Newest is set.
func (s *Store) Tasks(ctx context.Context, q pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	query := s.read.Task.Query().Where(notGoingIn(q.ThreadID)).Limit(page(q.Limit))
	if q.Newest {
		query.Order(task.ByID(entsql.OrderDesc()))
	} else {
		query.Order(task.ByID())
	}
	if q.Plugin != "" {
		query.Where(task.Plugin(q.Plugin))
	}
	if q.ParentThreadID != "" {
		query.Where(task.ParentThreadID(q.ParentThreadID))
	}
	if q.ParentTaskID != "" {
		query.Where(task.ParentTaskID(q.ParentTaskID))
	}
	if q.ThreadID != "" {
		query.Where(task.ThreadID(q.ThreadID))
	}
	if len(q.Statuses) > 0 {
		query.Where(task.StatusIn(q.Statuses...))
	}
	if !q.EndedAfter.IsZero() {
		query.Where(endedAfter(q.EndedAfter))
	}
	switch {
	case q.After != "" && q.Newest:
		query.Where(task.IDLT(q.After))
	case q.After != "":
		query.Where(task.IDGT(q.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list tasks", err)
	}
	tasks := all(rows, taskOf)
	if err := s.sumCosts(ctx, tasks); err != nil {
		return nil, wrap("list tasks", err)
	}
	out := make([]pluginsdk.Task, len(tasks))
	for i, t := range tasks {
		out[i] = t.Task
	}
	return out, nil
}

// endedAfter selects the tasks that have ended after a time. They are picked in a query of its own: for a condition of
// one query SQLite reads all tasks in the order of their ids, which is the order that is asked for.
func endedAfter(at time.Time) predicate.Task {
	return func(s *entsql.Selector) {
		ended := entsql.Dialect(s.Dialect()).Select(task.FieldID).From(entsql.Table(task.Table)).Where(entsql.GT(task.FieldCompletedAt, instant(at)))
		s.Where(entsql.In(s.C(task.FieldID), ended))
	}
}

// OpenTasks returns the ids of the tasks that the core has something to do for, the
// oldest first.
func (s *Store) OpenTasks(ctx context.Context) ([]string, error) {
	rows, err := s.query.QueryContext(ctx, "SELECT id FROM tasks WHERE phase <> '' ORDER BY id")
	if err != nil {
		return nil, wrap("list open tasks", err)
	}
	ids, err := column(rows)
	return ids, wrap("list open tasks", err)
}

// TasksBelow returns the ids of all tasks that were made below one, the oldest first: each
// stands behind the one that it was made below.
func (s *Store) TasksBelow(ctx context.Context, id string) ([]string, error) {
	rows, err := s.query.QueryContext(ctx, `WITH RECURSIVE below(id) AS (
			SELECT id FROM tasks WHERE parent_task_id = $1
			UNION SELECT t.id FROM below b JOIN tasks t ON t.parent_task_id = b.id)
		SELECT id FROM below ORDER BY id`, id)
	if err != nil {
		return nil, wrap("list the tasks below one", err)
	}
	ids, err := column(rows)
	return ids, wrap("list the tasks below one", err)
}

// TaskCap returns what a task may still come to, or the zero TaskCap when there is no such
// task. What is made below a task is made of what that one may cost, up to the top; one
// above that was deleted by hand pays for nothing.
func (s *Store) TaskCap(ctx context.Context, id string) (least ledger.TaskCap, err error) {
	rows, err := s.query.QueryContext(ctx, `WITH RECURSIVE above(id, parent) AS (
			SELECT id, parent_task_id FROM tasks WHERE id = $1
			UNION SELECT t.id, t.parent_task_id FROM above a JOIN tasks t ON t.id = a.parent)
		SELECT id FROM above`, id)
	if err != nil {
		return least, wrap("list the tasks above one", err)
	}
	ids, err := column(rows)
	if err != nil {
		return least, wrap("list the tasks above one", err)
	}
	found, err := s.read.Task.Query().Where(task.IDIn(ids...)).Order(task.ByID()).All(ctx)
	if err != nil {
		return least, wrap("read what tasks may cost", err)
	}
	payers := all(found, taskOf)
	if err := s.sumCosts(ctx, payers); err != nil {
		return least, wrap("read what tasks may cost", err)
	}
	for _, payer := range payers {
		if one := (ledger.TaskCap{TaskID: payer.ID, CostUSD: payer.CostUSD, CapUSD: payer.CostCapUSD}); least.TaskID == "" || one.Left() < least.Left() {
			least = one
		}
	}
	return least, nil
}

// sumCosts fills in what tasks have cost so far, with all that were made below them:
// each turn of the agent is recorded with its task.
func (s *Store) sumCosts(ctx context.Context, tasks []ledger.Task) (err error) {
	if len(tasks) == 0 {
		return nil
	}
	place, args := make(map[string]int, len(tasks)), make([]any, len(tasks))
	for i, t := range tasks {
		place[t.ID], args[i] = i, t.ID
	}
	rows, err := s.query.QueryContext(ctx, `WITH RECURSIVE below(root, id) AS (
			SELECT id, id FROM tasks WHERE id IN (`+parameters(1, len(args))+`)
			UNION SELECT b.root, t.id FROM below b JOIN tasks t ON t.parent_task_id = b.id)
		SELECT b.root, SUM(a.cost_usd), SUM(CASE WHEN a.notional THEN a.cost_usd ELSE 0 END), MAX(CASE WHEN a.cost_unsure THEN 1 ELSE 0 END)
		FROM below b JOIN agent_runs a ON a.task_id = b.id AND a.task_id <> '' GROUP BY b.root`, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		var cost, notional float64
		var unsure int
		if err := rows.Scan(&id, &cost, &notional, &unsure); err != nil {
			return err
		}
		of := &tasks[place[id]]
		of.CostUSD, of.NotionalUSD, of.CostUnsure = cost, notional, unsure > 0
	}
	return rows.Err()
}

// CreateTask makes a task and its thread (source task, the task's id as its source id),
// of which the core has to ask OnTaskCreate. A key that the plugin has used returns the
// first task with created false, or CodeConflict when it was another one. An empty key
// is never known. A parent task that is over has no more children (CodeStale); tasks go
// 8 deep (CodeExhausted), and so do those that a task's hook makes. One that goes on from
// a task is made in that one's thread, of which every task has to be over (CodeStale).
func (s *Store) CreateTask(ctx context.Context, n ledger.NewTask) (t pluginsdk.Task, created bool, err error) {
	n.Key = clean(n.Key)
	made, th, err := s.newTask(n)
	if err != nil {
		return pluginsdk.Task{}, false, err
	}
	if n.Key != "" {
		if first, err := s.taskByKey(ctx, made, n.FromTaskID); err == nil || !ent.IsNotFound(err) {
			return first, false, wrap("find task", err)
		}
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.below(ctx, &made.Task, n); err != nil {
			return err
		}
		if err := tx.accountOfTask(ctx, &made, &th); err != nil {
			return err
		}
		if n.FromTaskID != "" {
			if err := tx.goOn(ctx, n.FromTaskID, &made.Task, th); err != nil {
				return err
			}
			made.FirstCwd = made.Cwd
		} else if err := tx.insertThreadOfTask(ctx, &th); err != nil {
			return err
		}
		made.Origin.Apart = made.Origin.Apart || th.Apart
		return insertTask(tx.Task, made).Exec(ctx)
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale && n.FromTaskID != "" && n.Key != "" {
		// What is at work in the thread may be this very task.
		if first, findErr := s.taskByKey(ctx, made, n.FromTaskID); findErr == nil {
			return first, false, nil
		}
	}
	if duplicate(err) { // somebody was faster
		first, err := s.taskByKey(ctx, made, n.FromTaskID)
		return first, false, wrap("find task", err)
	}
	return made.Task, err == nil, wrap("create task", err)
}

func (t *tx) insertThreadOfTask(ctx context.Context, thread *pluginsdk.Thread) error {
	if err := t.apartBelow(ctx, thread); err != nil {
		return err
	}
	return insertThread(t.Thread, ledger.Thread{Thread: *thread}).Exec(ctx)
}

// newTask fills in what a task and its thread start with.
func (s *Store) newTask(n ledger.NewTask) (t ledger.Task, th pluginsdk.Thread, err error) {
	if strings.TrimSpace(n.Prompt) == "" {
		return t, th, pluginsdk.Errorf(pluginsdk.CodeInvalid, "prompt: a task needs one")
	}
	id, err := newID()
	if err != nil {
		return t, th, err
	}
	askedCwd, own := clean(n.Cwd), n.OwnDirectory && n.Cwd == ""
	if own {
		n.Cwd = filepath.Join(n.Directories, id)
	}
	th, err = s.newThread(pluginsdk.NewThread{
		Source: "task", SourceID: id, Kind: pluginsdk.ThreadTask, Name: taskName(n.NewTask),
		ParentThreadID: n.ParentThreadID, Model: n.Model, Account: n.Account, PermissionMode: n.PermissionMode, Cwd: n.Cwd,
	})
	if err != nil {
		return t, th, err
	}
	t = ledger.Task{
		Task: pluginsdk.Task{
			ID: id, ThreadID: th.ID, ParentThreadID: n.ParentThreadID, ParentTaskID: n.ParentTaskID, Plugin: n.Plugin, Key: n.Key,
			Status: pluginsdk.TaskPending, OriginalMessage: clean(n.OriginalMessage), Prompt: clean(n.Prompt),
			Model: th.Model, Account: th.Account, PermissionMode: th.PermissionMode, AllowedTools: n.AllowedTools,
			Cwd: th.Cwd, OwnDirectory: own, FromTaskID: n.FromTaskID, Labels: n.Labels,
			RequestedBy: clean(n.RequestedBy), Origin: n.Origin, Wake: n.Wake, MaxIterations: n.MaxIterations, MaxValidationIterations: n.MaxValidationIterations,
			CostCapUSD: n.CostCapUSD, CreatedAt: th.CreatedAt,
		},
		Phase: ledger.PhaseCreating, CauseRunID: n.CauseRunID, AskedPermissionMode: n.AskedPermissionMode, AskedAccount: th.Account, AskedCwd: askedCwd, AskedLabels: n.Labels,
		AskedAllowedTools: n.AllowedTools, FirstCwd: th.Cwd,
	}
	if t.MaxIterations <= 0 {
		t.MaxIterations = 5
	}
	if t.MaxValidationIterations <= 0 {
		t.MaxValidationIterations = 3
	}
	if t.CostCapUSD <= 0 {
		t.CostCapUSD = 5
	}
	t.AskedCostCapUSD = t.CostCapUSD
	return t, th, nil
}

// goOn gives a task the thread of one that is over, which is held until the end of the
// transaction: of two that go on at once, one is refused. The thread may do what the task
// may, and no more.
func (t *tx) goOn(ctx context.Context, fromID string, next *pluginsdk.Task, asked pluginsdk.Thread) error {
	from, err := t.Task.Query().Where(task.ID(fromID)).Only(ctx)
	if ent.IsNotFound(err) {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "fromTaskId: %w", notFound("task", fromID))
	}
	if err != nil {
		return err
	}
	if _, err := t.epoch(ctx, from.ThreadID); err != nil {
		return err
	}
	var open string
	var status pluginsdk.TaskStatus
	err = t.row(ctx, `SELECT id, status FROM tasks WHERE thread_id = $1
		AND NOT (status IN ('completed', 'failed', 'cancelled') AND phase = '') ORDER BY id LIMIT 1`, []any{from.ThreadID}, &open, &status)
	if err == nil {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "fromTaskId: task %s, in the same thread, is %s and not over yet", open, status)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	next.ThreadID = from.ThreadID
	if err := t.row(ctx, `UPDATE threads SET status = 'active', permission_mode = $1, model = CASE WHEN $2 = '' THEN model ELSE $2 END,
			account = CASE WHEN $3 = '' THEN account ELSE $3 END
		WHERE id = $4 RETURNING cwd, account, apart`, []any{asked.PermissionMode, asked.Model, asked.Account, from.ThreadID}, &next.Cwd, &next.Account, &next.Origin.Apart); err != nil {
		return err
	}
	if asked.Cwd == "" || asked.Cwd == next.Cwd {
		// Where a plugin or a person has moved the thread meanwhile is nobody's own.
		next.OwnDirectory = from.OwnDirectory && asked.Cwd == "" && next.Cwd == from.FirstCwd
		return nil
	}
	next.Cwd = asked.Cwd
	return t.changeCwd(ctx, from.ThreadID, asked.Cwd)
}

// accountOfTask gives a task that asks for no account, and goes on in nobody's thread, its
// parent's.
func (t *tx) accountOfTask(ctx context.Context, made *ledger.Task, th *pluginsdk.Thread) error {
	if made.Account != "" {
		return t.knownAccount(ctx, made.Account)
	}
	if made.FromTaskID != "" {
		return nil
	}
	err := t.row(ctx, `SELECT account FROM threads WHERE id = $1 OR $1 = '' AND id = (SELECT thread_id FROM tasks WHERE id = $2)`,
		[]any{made.ParentThreadID, made.ParentTaskID}, &th.Account)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	made.Account = th.Account
	return err
}

func taskName(n pluginsdk.NewTask) string {
	text := n.OriginalMessage
	if strings.TrimSpace(text) == "" {
		text = n.Prompt
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > taskNameMax {
		return string(runes[:taskNameMax-1]) + "…"
	}
	return line
}

// below checks that a task's parents exist, and sets its depth. It refuses one that is
// too deep below tasks, or below the runs that its own would be caused by.
func (t *tx) below(ctx context.Context, child *pluginsdk.Task, n ledger.NewTask) error {
	if child.ParentThreadID != "" {
		if _, err := t.epoch(ctx, child.ParentThreadID); err != nil {
			return err
		}
	}
	child.Depth = 0
	if child.ParentTaskID != "" {
		// The parent stays as it is until the end of the transaction: one that is ended looks
		// for its children afterwards.
		query := "SELECT depth, status FROM tasks WHERE id = $1"
		if t.postgres {
			query += " FOR UPDATE"
		}
		var status pluginsdk.TaskStatus
		err := t.row(ctx, query, []any{child.ParentTaskID}, &child.Depth, &status)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return notFound("task", child.ParentTaskID)
		case err != nil:
			return err
		case status.Final():
			return pluginsdk.Errorf(pluginsdk.CodeStale, "parentTaskId: task %s is %s: it gets no more tasks", child.ParentTaskID, status)
		}
		child.Depth++
	}
	if n.CauseTaskID != "" {
		var depth int
		err := t.row(ctx, "SELECT depth FROM tasks WHERE id = $1", []any{n.CauseTaskID}, &depth)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil {
			child.Depth = max(child.Depth, depth+1)
		}
	}
	if child.Depth > taskDepthMax {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s was made by a task that was made by a task, %d deep, and may make no further one",
			cmp.Or(child.ParentTaskID, n.CauseTaskID), taskDepthMax)
	}
	depth, _, err := t.causedBy(ctx, n.CauseRunID)
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid: // the run was deleted by hand
	case err != nil:
		return err
	case n.MaxDepth > 0 && depth > n.MaxDepth:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"run %s was caused by a run that was caused by a run, %d deep: no run of the task's could be", n.CauseRunID, n.MaxDepth)
	}
	return nil
}

// taskByKey finds the first task of the plugin's with t's key and checks that it is the
// same. Before keys were each plugin's own, no task said whose it was: such a one is
// found, too, when it is the same in all that a task then had, and is the plugin's from
// then on.
func (s *Store) taskByKey(ctx context.Context, t ledger.Task, fromID string) (pluginsdk.Task, error) {
	rows, err := s.read.Task.Query().Where(task.PluginIn(t.Plugin, ""), task.Key(t.Key)).All(ctx)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	for _, row := range rows {
		if first := taskOf(row); first.Plugin == t.Plugin {
			field := otherTask(first, t)
			if from, err := s.goesOn(ctx, first, fromID); err != nil {
				return pluginsdk.Task{}, err
			} else if !from && field == "" {
				field = "fromTaskId"
			}
			if field != "" {
				return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeConflict, "key %q was used before for a task with another %s", t.Key, field)
			}
			return s.Task(ctx, first.ID)
		}
	}
	for _, row := range rows {
		old := taskOf(row)
		old.AskedPermissionMode, old.AskedAllowedTools, old.AskedCwd, old.AskedLabels = t.AskedPermissionMode, t.AskedAllowedTools, t.AskedCwd, t.AskedLabels
		old.RequestedBy, old.Wake, old.AskedAccount = t.RequestedBy, t.Wake, t.AskedAccount
		old.ParentTaskID = cmp.Or(old.ParentTaskID, t.ParentTaskID)
		if otherTask(old, t) == "" {
			return s.adopt(ctx, old.ID, t.Plugin)
		}
	}
	return pluginsdk.Task{}, &ent.NotFoundError{}
}

// goesOn reports whether a task is in the thread of another one, or, when that is empty,
// the first in its thread.
func (s *Store) goesOn(ctx context.Context, t ledger.Task, fromID string) (is bool, err error) {
	query, args := "SELECT NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = $1 AND id < $2)", []any{t.ThreadID, t.ID}
	if fromID != "" {
		query, args = "SELECT EXISTS (SELECT 1 FROM tasks WHERE thread_id = $1 AND id = $2 AND id <> $3)", []any{t.ThreadID, fromID, t.ID}
	}
	err = row(ctx, s.query, query, args, &is)
	return is, err
}

// adopt makes a task of nobody's the plugin's that has asked for it again: nobody else
// could take it on.
func (s *Store) adopt(ctx context.Context, id, plugin string) (pluginsdk.Task, error) {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, "UPDATE tasks SET plugin = $1 WHERE id = $2 AND plugin = ''", plugin, id)
		return err
	})
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return s.Task(ctx, id)
}

// otherTask names what two tasks do not have in common of what is asked for when one
// is made; empty: they are the same.
func otherTask(a, b ledger.Task) (field string) {
	switch {
	case a.ParentThreadID != b.ParentThreadID:
		return "parentThreadId"
	case a.ParentTaskID != b.ParentTaskID:
		return "parentTaskId"
	case a.OriginalMessage != b.OriginalMessage:
		return "originalMessage"
	case a.Prompt != b.Prompt:
		return "prompt"
	case a.Model != b.Model:
		return "model"
	case a.AskedAccount != b.AskedAccount:
		return "account"
	case a.AskedPermissionMode != b.AskedPermissionMode:
		return "permissionMode"
	case !slices.Equal(a.AskedAllowedTools, b.AskedAllowedTools):
		return "allowedTools"
	case a.FromTaskID == "" && a.OwnDirectory != b.OwnDirectory: // else it is that of the one before
		return "ownDirectory"
	case a.AskedCwd != b.AskedCwd:
		return "cwd"
	case !maps.Equal(a.AskedLabels, b.AskedLabels):
		return "labels"
	case a.RequestedBy != b.RequestedBy:
		return "requestedBy"
	case a.Wake != b.Wake:
		return "wake"
	case a.MaxIterations != b.MaxIterations:
		return "maxIterations"
	case a.MaxValidationIterations != b.MaxValidationIterations:
		return "maxValidationIterations"
	case a.AskedCostCapUSD != b.AskedCostCapUSD:
		return "costCapUsd"
	}
	return ""
}
