package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type runs struct{ h *Host }

// AddRun puts a run into the host.
func (h *Host) AddRun(run pluginsdk.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, run)
}

func (s runs) find(id string) (int, error) {
	i := slices.IndexFunc(s.h.runs, func(r pluginsdk.Run) bool { return r.ID == id })
	if i < 0 {
		return i, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no run %q", id)
	}
	return i, nil
}

func (s runs) Get(ctx context.Context, id string) (pluginsdk.Run, error) {
	leave, err := s.h.enter(ctx, "Runs.Get")
	if err != nil {
		return pluginsdk.Run{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Run{}, err
	}
	return s.h.runs[i], nil
}

func (s runs) List(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	leave, err := s.h.enter(ctx, "Runs.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	rest := after(s.h.runs, func(r pluginsdk.Run) bool { return r.ID == query.After })
	return page(filter(rest, func(r pluginsdk.Run) bool {
		return (query.ThreadID == "" || r.ThreadID == query.ThreadID) &&
			(len(query.States) == 0 || slices.Contains(query.States, r.State))
	}), query.Limit), nil
}

func (s runs) Cancel(ctx context.Context, id string) (pluginsdk.Run, error) {
	leave, err := s.h.enter(ctx, "Runs.Cancel")
	if err != nil {
		return pluginsdk.Run{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Run{}, err
	}
	if run := &s.h.runs[i]; !run.State.Final() {
		run.State, run.FinishedAt = pluginsdk.RunCancelled, now()
	}
	return s.h.runs[i], nil
}
