package plugintest

import (
	"context"
	"encoding/json"
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

// Retry hands the message of a run in once more, as the daemon does: the new
// run is queued, and nothing executes it.
func (s runs) Retry(ctx context.Context, id string) (pluginsdk.Accepted, error) {
	leave, err := s.h.enter(ctx, "Runs.Retry")
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	defer leave()
	i, err := s.find(id)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	run := s.h.runs[i]
	if run.State != pluginsdk.RunFailed && run.State != pluginsdk.RunCancelled {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"run %s is %s: only one that failed or was cancelled can be tried again", id, run.State)
	}
	accepted, repeated, err := once(s.h, "retry "+id, nil, func() pluginsdk.Accepted { return s.again(run) })
	accepted.Repeated = repeated
	return accepted, err
}

func (s runs) again(run pluginsdk.Run) pluginsdk.Accepted {
	retry := pluginsdk.Run{
		ID: s.h.nextID("run"), ThreadID: run.ThreadID, Kind: run.Kind, State: pluginsdk.RunQueued, QueuedAt: now(),
	}
	message := pluginsdk.Message{ThreadID: run.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText}
	if i := slices.IndexFunc(s.h.messages, func(m pluginsdk.Message) bool { return m.ID == run.MessageID }); i >= 0 {
		message = s.h.messages[i]
	}
	message.ID, message.RunID, message.Key, message.CreatedAt = 0, retry.ID, "", now()
	message.Metadata, _ = json.Marshal(pluginsdk.Retry{Of: run.ID, Begun: run.Step == pluginsdk.StepInvoking})
	retry.MessageID = s.h.addMessage(message).ID
	s.h.runs = append(s.h.runs, retry)
	return pluginsdk.Accepted{ThreadID: run.ThreadID, MessageID: retry.MessageID, RunID: retry.ID}
}

func (s runs) Stop(ctx context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	leave, err := s.h.enter(ctx, "Runs.Stop")
	if err != nil {
		return pluginsdk.Stopped{}, err
	}
	defer leave()
	if queue != pluginsdk.KeepQueue && queue != pluginsdk.DropQueue {
		return pluginsdk.Stopped{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "queue: %q is neither keep nor drop", queue)
	}
	var stopped pluginsdk.Stopped
	for i := range s.h.runs {
		run := &s.h.runs[i]
		switch {
		case run.ThreadID != threadID || run.State.Final():
			continue
		case run.State != pluginsdk.RunQueued:
			stopped.RunID = run.ID
		case queue == pluginsdk.DropQueue:
			stopped.Dropped = append(stopped.Dropped, run.ID)
		default:
			continue
		}
		run.State, run.FinishedAt = pluginsdk.RunCancelled, now()
	}
	return stopped, nil
}
