package store

import (
	"context"
	"strings"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/task"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// taskNameMax is how many characters of its message name a task's thread.
const taskNameMax = 60

// Task returns a task, or CodeNotFound.
func (s *Store) Task(ctx context.Context, id string) (pluginsdk.Task, error) {
	row, err := s.read.Task.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Task{}, notFound("task", id)
	}
	if err != nil {
		return pluginsdk.Task{}, wrap("read task", err)
	}
	return taskOf(row), nil
}

// Tasks returns the selected tasks, oldest first unless q.Newest is set.
func (s *Store) Tasks(ctx context.Context, q pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	query := s.read.Task.Query().Limit(page(q.Limit))
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
	return all(rows, taskOf), nil
}

// CreateTask makes a task of a plugin (empty: the core) and its thread (source task,
// the task's id as its source id). A key that the plugin has used returns the first
// task with created false, or CodeConflict when it was another one. An empty key is
// never known.
func (s *Store) CreateTask(ctx context.Context, plugin, key string, n pluginsdk.NewTask) (t pluginsdk.Task, created bool, err error) {
	t, th, err := s.newTask(plugin, clean(key), n)
	if err != nil {
		return pluginsdk.Task{}, false, err
	}
	if key != "" {
		if first, err := s.taskByKey(ctx, t); err == nil || !ent.IsNotFound(err) {
			return first, false, wrap("find task", err)
		}
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.below(ctx, &t); err != nil {
			return err
		}
		if err := insertThread(tx.Thread, ledger.Thread{Thread: th}).Exec(ctx); err != nil {
			return err
		}
		return insertTask(tx.Task, t).Exec(ctx)
	})
	if duplicate(err) { // somebody was faster
		first, err := s.taskByKey(ctx, t)
		return first, false, wrap("find task", err)
	}
	return t, err == nil, wrap("create task", err)
}

// newTask fills in what a task and its thread start with.
func (s *Store) newTask(plugin, key string, n pluginsdk.NewTask) (t pluginsdk.Task, th pluginsdk.Thread, err error) {
	if strings.TrimSpace(n.Prompt) == "" {
		return t, th, pluginsdk.Errorf(pluginsdk.CodeInvalid, "prompt: a task needs one")
	}
	id, err := newID()
	if err != nil {
		return t, th, err
	}
	th, err = s.newThread(pluginsdk.NewThread{
		Source: "task", SourceID: id, Kind: pluginsdk.ThreadTask, Name: taskName(n),
		ParentThreadID: n.ParentThreadID, Model: n.Model, PermissionMode: n.PermissionMode, Cwd: n.Cwd,
	})
	if err != nil {
		return t, th, err
	}
	t = pluginsdk.Task{
		ID: id, ThreadID: th.ID, ParentThreadID: n.ParentThreadID, ParentTaskID: n.ParentTaskID, Plugin: plugin, Key: key,
		Status: pluginsdk.TaskPending, OriginalMessage: clean(n.OriginalMessage), Prompt: clean(n.Prompt),
		Model: th.Model, PermissionMode: th.PermissionMode, AllowedTools: n.AllowedTools, Cwd: th.Cwd, Labels: n.Labels,
		RequestedBy: clean(n.RequestedBy), Wake: n.Wake, MaxIterations: n.MaxIterations, MaxValidationIterations: n.MaxValidationIterations,
		CostCapUSD: n.CostCapUSD, CreatedAt: th.CreatedAt,
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
	return t, th, nil
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

// below checks that a task's parents exist, and sets its depth.
func (t *tx) below(ctx context.Context, child *pluginsdk.Task) error {
	if child.ParentThreadID != "" {
		if _, err := t.epoch(ctx, child.ParentThreadID); err != nil {
			return err
		}
	}
	if child.ParentTaskID == "" {
		return nil
	}
	parent, err := t.Task.Get(ctx, child.ParentTaskID)
	if ent.IsNotFound(err) {
		return notFound("task", child.ParentTaskID)
	}
	if err == nil {
		child.Depth = parent.Depth + 1
	}
	return err
}

// taskByKey finds the first task of the plugin's with t's key and checks that it is the same.
func (s *Store) taskByKey(ctx context.Context, t pluginsdk.Task) (pluginsdk.Task, error) {
	row, err := s.read.Task.Query().Where(task.Plugin(t.Plugin), task.Key(t.Key)).Only(ctx)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	first := taskOf(row)
	if first.ParentThreadID != t.ParentThreadID || first.ParentTaskID != t.ParentTaskID ||
		first.OriginalMessage != t.OriginalMessage || first.Prompt != t.Prompt || first.Model != t.Model || first.PermissionMode != t.PermissionMode {
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeConflict, "key %q was used before for another task", t.Key)
	}
	return first, nil
}
