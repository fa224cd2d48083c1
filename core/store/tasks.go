package store

import (
	"context"
	"maps"
	"slices"
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

// taskByKey finds the first task of the plugin's with t's key and checks that it is the
// same. Before keys were each plugin's own, no task said whose it was: such a one is
// found, too, when it is the same in all that a task then had.
func (s *Store) taskByKey(ctx context.Context, t pluginsdk.Task) (pluginsdk.Task, error) {
	rows, err := s.read.Task.Query().Where(task.PluginIn(t.Plugin, ""), task.Key(t.Key)).All(ctx)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	for _, row := range rows {
		if first := taskOf(row); first.Plugin == t.Plugin {
			if field := otherTask(first, t); field != "" {
				return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeConflict, "key %q was used before for a task with another %s", t.Key, field)
			}
			return first, nil
		}
	}
	for _, row := range rows {
		old := taskOf(row)
		old.PermissionMode, old.AllowedTools, old.Cwd, old.Labels = t.PermissionMode, t.AllowedTools, t.Cwd, t.Labels
		old.RequestedBy, old.Wake = t.RequestedBy, t.Wake
		if otherTask(old, t) == "" {
			return taskOf(row), nil
		}
	}
	return pluginsdk.Task{}, &ent.NotFoundError{}
}

// otherTask names what two tasks do not have in common of what is asked for when one
// is made; empty: they are the same.
func otherTask(a, b pluginsdk.Task) (field string) {
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
	case a.PermissionMode != b.PermissionMode:
		return "permissionMode"
	case !slices.Equal(a.AllowedTools, b.AllowedTools):
		return "allowedTools"
	case a.Cwd != b.Cwd:
		return "cwd"
	case !maps.Equal(a.Labels, b.Labels):
		return "labels"
	case a.RequestedBy != b.RequestedBy:
		return "requestedBy"
	case a.Wake != b.Wake:
		return "wake"
	case a.MaxIterations != b.MaxIterations:
		return "maxIterations"
	case a.MaxValidationIterations != b.MaxValidationIterations:
		return "maxValidationIterations"
	case a.CostCapUSD != b.CostCapUSD:
		return "costCapUsd"
	}
	return ""
}
