package plugintest

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type tasks struct{ h *Host }

// AddTask puts a task into the host.
func (h *Host) AddTask(task pluginsdk.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, task)
}

func (s tasks) find(id string) (int, error) {
	i := slices.IndexFunc(s.h.tasks, func(t pluginsdk.Task) bool { return t.ID == id })
	if i < 0 {
		return i, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no task %q", id)
	}
	return i, nil
}

func (s tasks) Create(ctx context.Context, key string, task pluginsdk.NewTask) (pluginsdk.Task, error) {
	leave, err := s.h.enter(ctx, "Tasks.Create")
	if err != nil {
		return pluginsdk.Task{}, err
	}
	defer leave()
	created, _, err := once(s.h, "task "+key, task, func() string { return s.create(key, task) })
	if err != nil {
		return pluginsdk.Task{}, err
	}
	i, err := s.find(created)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return s.h.tasks[i], nil
}

func (s tasks) create(key string, task pluginsdk.NewTask) string {
	t := pluginsdk.Task{
		ID: s.h.nextID("task"), ThreadID: s.h.nextID("thread"), ParentThreadID: task.ParentThreadID,
		ParentTaskID: task.ParentTaskID, Key: key, Status: pluginsdk.TaskPending,
		OriginalMessage: task.OriginalMessage, Prompt: task.Prompt, Model: task.Model,
		MaxIterations:           cmp.Or(task.MaxIterations, 5),
		MaxValidationIterations: cmp.Or(task.MaxValidationIterations, 3),
		CostCapUSD:              cmp.Or(task.CostCapUSD, 5),
		CreatedAt:               now(),
	}
	s.h.tasks = append(s.h.tasks, t)
	s.h.threads = append(s.h.threads, pluginsdk.Thread{
		ID: t.ThreadID, Source: "task", SourceID: t.ID, Kind: pluginsdk.ThreadTask,
		ParentThreadID: t.ParentThreadID, Status: pluginsdk.ThreadActive, CreatedAt: t.CreatedAt,
	})
	return t.ID
}

func (s tasks) Get(ctx context.Context, id string) (pluginsdk.Task, error) {
	leave, err := s.h.enter(ctx, "Tasks.Get")
	if err != nil {
		return pluginsdk.Task{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return s.h.tasks[i], nil
}

func (s tasks) List(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	leave, err := s.h.enter(ctx, "Tasks.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	rest := after(s.h.tasks, func(t pluginsdk.Task) bool { return t.ID == query.After })
	return page(filter(rest, func(t pluginsdk.Task) bool {
		return (query.ParentThreadID == "" || t.ParentThreadID == query.ParentThreadID) &&
			(len(query.Statuses) == 0 || slices.Contains(query.Statuses, t.Status))
	}), query.Limit), nil
}

func (s tasks) Update(ctx context.Context, id string, patch pluginsdk.TaskPatch) (pluginsdk.Task, error) {
	leave, err := s.h.enter(ctx, "Tasks.Update")
	if err != nil {
		return pluginsdk.Task{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Task{}, err
	}
	t := &s.h.tasks[i]
	set(&t.Status, patch.Status)
	set(&t.CurrentIteration, patch.CurrentIteration)
	set(&t.ValidationIterations, patch.ValidationIterations)
	set(&t.Result, patch.Result)
	set(&t.Feedback, patch.Feedback)
	return *t, nil
}
