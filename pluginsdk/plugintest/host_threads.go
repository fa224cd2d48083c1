package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type threads struct{ h *Host }

// AddThread puts a thread into the host.
func (h *Host) AddThread(thread pluginsdk.Thread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.threads = append(h.threads, thread)
}

func (s threads) Get(ctx context.Context, id string) (pluginsdk.Thread, error) {
	leave, err := s.h.enter(ctx, "Threads.Get")
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return s.h.threads[i], nil
}

func (s threads) find(id string) (int, error) {
	i := slices.IndexFunc(s.h.threads, func(t pluginsdk.Thread) bool { return t.ID == id })
	if i < 0 {
		return i, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no thread %q", id)
	}
	return i, nil
}

func (s threads) List(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	leave, err := s.h.enter(ctx, "Threads.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	rest := after(s.h.threads, func(t pluginsdk.Thread) bool { return t.ID == query.After })
	return page(filter(rest, func(t pluginsdk.Thread) bool {
		return (query.Source == "" || t.Source == query.Source) &&
			(query.SourceID == "" || t.SourceID == query.SourceID) &&
			(query.Kind == "" || t.Kind == query.Kind) &&
			(query.Status == "" || t.Status == query.Status)
	}), query.Limit), nil
}

func (s threads) Create(ctx context.Context, thread pluginsdk.NewThread) (pluginsdk.Thread, error) {
	leave, err := s.h.enter(ctx, "Threads.Create")
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	defer leave()
	for _, t := range s.h.threads {
		if t.Source == thread.Source && t.SourceID == thread.SourceID {
			return t, nil
		}
	}
	if thread.Kind == "" {
		thread.Kind = pluginsdk.ThreadGeneral
	}
	if thread.BusyMode == "" {
		thread.BusyMode = pluginsdk.BusyQueue
	}
	t := pluginsdk.Thread{
		ID: s.h.nextID("thread"), Source: thread.Source, SourceID: thread.SourceID, ReportTo: thread.ReportTo,
		Name: thread.Name, Kind: thread.Kind, ParentThreadID: thread.ParentThreadID, Status: pluginsdk.ThreadActive,
		Model: thread.Model, Effort: thread.Effort, PermissionMode: thread.PermissionMode, Cwd: thread.Cwd,
		Instructions: thread.Instructions, BusyMode: thread.BusyMode, CreatedAt: now(), LastActivity: now(),
	}
	s.h.threads = append(s.h.threads, t)
	return t, nil
}

func (s threads) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	leave, err := s.h.enter(ctx, "Threads.Update")
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	t := &s.h.threads[i]
	set(&t.Name, patch.Name)
	set(&t.ReportTo, patch.ReportTo)
	set(&t.Status, patch.Status)
	set(&t.Model, patch.Model)
	set(&t.Effort, patch.Effort)
	set(&t.PermissionMode, patch.PermissionMode)
	set(&t.Cwd, patch.Cwd)
	set(&t.Instructions, patch.Instructions)
	set(&t.BusyMode, patch.BusyMode)
	set(&t.LastReadMessageID, patch.LastReadMessageID)
	return *t, nil
}
