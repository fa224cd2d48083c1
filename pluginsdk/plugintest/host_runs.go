package plugintest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type runs struct{ view }

// AddRun puts a run into the host.
func (h *Host) AddRun(run pluginsdk.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, run)
}

// BeginRun begins an attempt of a run as the core does: the event that the core would
// broadcast is returned. A run that does not wait is a mistake of the test and panics.
func (h *Host) BeginRun(id string) pluginsdk.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := find(h.runs, "run", id, runID)
	if err != nil || h.runs[i].State != pluginsdk.RunQueued {
		panic("BeginRun: the run " + id + " is not there, or does not wait")
	}
	run := &h.runs[i]
	run.State, run.StartedAt = pluginsdk.RunRunning, now()
	run.Attempt++
	return h.event(pluginsdk.EventPipelineStart, run.ThreadID, pluginsdk.RunRef{
		ThreadID: run.ThreadID, RunID: id, MessageID: run.MessageID, Attempt: run.Attempt,
	})
}

// FinishRun ends a run as the core does: its reply is stored, and the event that
// the core would broadcast is returned. A run that is not there, or is over, is a
// mistake of the test and panics.
func (h *Host) FinishRun(id string, result pluginsdk.InvokeResult) pluginsdk.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := find(h.runs, "run", id, runID)
	if err != nil || h.runs[i].State.Final() {
		panic("FinishRun: the run " + id + " is not there, or is over")
	}
	run := h.runs[i]
	if result.Failure != nil {
		h.endRun(id, pluginsdk.RunFailed, result)
		return h.event(pluginsdk.EventPipelineError, run.ThreadID, pluginsdk.ErrorPayload{
			ThreadID: run.ThreadID, RunID: id, Error: result.Failure.Message,
		})
	}
	reply := h.addMessage(pluginsdk.Message{
		ThreadID: run.ThreadID, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Source: "agent",
		Content: result.Text, RunID: id, Key: id + ":reply",
	})
	h.endRun(id, pluginsdk.RunSucceeded, result)
	return h.event(pluginsdk.EventPipelineComplete, run.ThreadID, pluginsdk.CompletePayload{
		ThreadID: run.ThreadID, RunID: id, MessageID: reply.ID,
	})
}

// event is one that the core would broadcast.
func (h *Host) event(kind pluginsdk.EventType, threadID string, payload any) pluginsdk.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // the payloads are structs of texts and numbers
	}
	return pluginsdk.Event{Type: kind, ThreadID: threadID, Data: data, Timestamp: now(), Boot: boot, Seq: uint64(h.next())}
}

func (h *Host) endRun(id string, state pluginsdk.RunState, result pluginsdk.InvokeResult) {
	i, err := find(h.runs, "run", id, runID)
	if err != nil {
		return
	}
	run := &h.runs[i]
	run.State, run.Result, run.FinishedAt = state, &result, now()
	run.Usage, run.CostUSD, run.CostUnsure = result.Usage, result.CostUSD, result.CostUnsure
	if result.Notional {
		run.NotionalUSD = result.CostUSD
	}
	h.tellWaiters()
	if result.Failure != nil {
		run.Error = result.Failure.Message
	}
	h.charge(*run)
}

// charge adds what a run has cost to its task, which is the newest of its thread unless the run
// names one, and to all tasks above that.
func (h *Host) charge(run pluginsdk.Run) {
	id := run.TaskID
	for _, task := range h.tasks {
		if run.TaskID == "" && task.ThreadID == run.ThreadID {
			id = task.ID
		}
	}
	for id != "" {
		n, err := find(h.tasks, "task", id, taskID)
		if err != nil {
			return
		}
		task := &h.tasks[n]
		task.CostUSD, task.NotionalUSD = task.CostUSD+run.CostUSD, task.NotionalUSD+run.NotionalUSD
		task.CostUnsure = task.CostUnsure || run.CostUnsure
		id = task.ParentTaskID
	}
}

func runID(r pluginsdk.Run) string { return r.ID }

func (s runs) Get(ctx context.Context, request *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.runs, "run", request.ID, runID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.GetRunResponse{Run: s.h.runs[i]}, nil
}

func (s runs) List(ctx context.Context, request *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := after(ordered(s.h.runs, query.Newest), func(r pluginsdk.Run) bool { return r.ID == query.After })
	found := page(filter(rest, func(r pluginsdk.Run) bool {
		return (len(query.IDs) == 0 || slices.Contains(query.IDs, r.ID)) &&
			(query.ThreadID == "" || r.ThreadID == query.ThreadID) &&
			(query.CauseRunID == "" || r.CauseRunID == query.CauseRunID) &&
			(len(query.States) == 0 || slices.Contains(query.States, r.State))
	}), query.Limit)
	for i := range found {
		found[i].Events, found[i].Hooks = nil, nil
	}
	return &pluginsdk.ListRunsResponse{Runs: found}, nil
}

func (s runs) Cancel(ctx context.Context, request *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Cancel")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.runs, "run", request.ID, runID)
	if err != nil {
		return nil, err
	}
	if run := &s.h.runs[i]; !run.State.Final() {
		s.cancel(run, request.Author)
	}
	return &pluginsdk.CancelRunResponse{Run: s.h.runs[i]}, nil
}

// Wait waits until the run is over, or the context: for FinishRun, say.
func (s runs) Wait(ctx context.Context, request *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Wait")
	if err != nil {
		return nil, err
	}
	for {
		i, err := find(s.h.runs, "run", request.ID, runID)
		if err != nil || s.h.runs[i].State.Final() {
			defer leave()
			if err != nil {
				return nil, err
			}
			return &pluginsdk.WaitRunResponse{Run: s.h.runs[i]}, nil
		}
		if s.h.runOver == nil {
			s.h.runOver = make(chan struct{})
		}
		over := s.h.runOver
		leave()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.h.mu.Lock()
		leave = s.h.mu.Unlock
	}
}

// tellWaiters is called with the lock held when a run is over.
func (h *Host) tellWaiters() {
	if h.runOver != nil {
		close(h.runOver)
		h.runOver = nil
	}
}

// cancel ends a run, which says who wanted it.
func (s runs) cancel(run *pluginsdk.Run, author string) {
	if author == "" {
		author = s.manifest.Name
	}
	run.State, run.Error, run.FinishedAt = pluginsdk.RunCancelled, "cancelled by "+author, now()
	s.h.tellWaiters()
}

// Retry hands the message of a run in once more, as the daemon does: the new
// run is queued, and nothing executes it.
func (s runs) Retry(ctx context.Context, request *pluginsdk.RetryRunRequest) (*pluginsdk.RetryRunResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Retry")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.runs, "run", request.ID, runID)
	if err != nil {
		return nil, err
	}
	run := s.h.runs[i]
	if err := s.mayRepeat(run, request.Scope); err != nil {
		return nil, err
	}
	if run.State != pluginsdk.RunFailed && run.State != pluginsdk.RunCancelled {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"run %s is %s: only one that failed or was cancelled can be tried again", request.ID, run.State)
	}
	accepted, repeated, err := once(s.h, "retry "+request.ID, nil, func() pluginsdk.Accepted { return s.again(run, request.Author) })
	accepted.Existed = repeated
	return &pluginsdk.RetryRunResponse{Accepted: accepted}, err
}

// mayRepeat refuses a command that was added with a scope (AddCommand) to somebody with less.
func (s runs) mayRepeat(run pluginsdk.Run, scope pluginsdk.TokenScope) error {
	i := slices.IndexFunc(s.h.messages, func(m pluginsdk.Message) bool { return m.ID == run.MessageID })
	if run.Kind != pluginsdk.RunCommand || i < 0 || scope == "" {
		return nil
	}
	name, _, _ := pluginsdk.ParseCommand(s.h.messages[i].Content)
	for _, command := range s.h.commands {
		if command.Name == name && command.Scope != "" && !scope.Has(command.Scope) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "/%s needs the right %s, and you have %s", name, command.Scope, scope)
		}
	}
	return nil
}

func (s runs) again(run pluginsdk.Run, author string) pluginsdk.Accepted {
	retry := pluginsdk.Run{
		ID: s.h.nextID("run"), ThreadID: run.ThreadID, Kind: run.Kind, State: pluginsdk.RunQueued, QueuedAt: now(),
	}
	message := pluginsdk.Message{ThreadID: run.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText}
	if i := slices.IndexFunc(s.h.messages, func(m pluginsdk.Message) bool { return m.ID == run.MessageID }); i >= 0 {
		message = s.h.messages[i]
	}
	message.ID, message.RunID, message.Key, message.CreatedAt = 0, retry.ID, "", now()
	message.Metadata, _ = json.Marshal(pluginsdk.Retry{Of: run.ID, Begun: run.Step == pluginsdk.StepInvoking, By: cmp.Or(author, s.manifest.Name)})
	retry.MessageID = s.h.addMessage(message).ID
	s.h.runs = append(s.h.runs, retry)
	return pluginsdk.Accepted{ThreadID: run.ThreadID, MessageID: retry.MessageID, RunID: retry.ID}
}

// ParkRun parks a run as the core does when a window of its account's plan is used up, and
// returns the event that the core would broadcast. A run that is over, or not there, is a
// mistake of the test and panics.
func (h *Host) ParkRun(id string, parked pluginsdk.Parked) pluginsdk.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := find(h.runs, "run", id, runID)
	if err != nil || h.runs[i].State.Final() {
		panic("ParkRun: the run " + id + " is not there, or is over")
	}
	run := &h.runs[i]
	run.State, run.Parked, run.NextAttemptAt = pluginsdk.RunQueued, &parked, parked.Until
	return h.event(pluginsdk.EventPipelineParked, run.ThreadID, pluginsdk.ParkedPayload{ThreadID: run.ThreadID, RunID: id, Parked: parked})
}

// Resume leaves a parked run queued, with what was said of it in Override; nothing executes
// it. The fallback is that of the account that the run was parked for.
func (s runs) Resume(ctx context.Context, request *pluginsdk.ResumeRunRequest) (*pluginsdk.ResumeRunResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Resume")
	if err != nil {
		return nil, err
	}
	defer leave()
	if call, _ := pluginsdk.CallFrom(ctx); call.RunID != "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "only a person has a parked run go on, and this comes from %s", call.RunID)
	}
	if cmp.Or(pluginsdk.PersonFrom(ctx), request.Author) == "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "author: name the person who has the parked run go on")
	}
	if (request.Model != "" || request.Fallback) && request.Scope != "" && !request.Scope.Has(pluginsdk.ScopeApprove) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "another model or the fallback needs the right %s, and you have %s", pluginsdk.ScopeApprove, request.Scope)
	}
	i, err := find(s.h.runs, "run", request.RunID, runID)
	if err != nil {
		return nil, err
	}
	run := &s.h.runs[i]
	if run.Parked == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is not parked: it is %s", run.ID, run.State)
	}
	override := pluginsdk.RunOverride{Model: request.Model}
	if request.Fallback {
		if override.Account = s.h.fallbackOf(run.Parked.Account); override.Account == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: the account %s has none with a daily limit", run.Parked.Account)
		}
	}
	run.Parked, run.NextAttemptAt, run.Override = nil, time.Time{}, &override
	return &pluginsdk.ResumeRunResponse{Run: *run}, nil
}

func (s runs) Stop(ctx context.Context, request *pluginsdk.StopThreadRequest) (*pluginsdk.StopThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Runs.Stop")
	if err != nil {
		return nil, err
	}
	defer leave()
	if request.Queue != pluginsdk.KeepQueue && request.Queue != pluginsdk.DropQueue {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "queue: %q is neither keep nor drop", request.Queue)
	}
	var stopped pluginsdk.Stopped
	for i := range s.h.runs {
		run := &s.h.runs[i]
		switch {
		case run.ThreadID != request.ThreadID || run.State.Final():
			continue
		case run.State != pluginsdk.RunQueued:
			stopped.RunID = run.ID
		case request.Queue == pluginsdk.DropQueue:
			stopped.Dropped = append(stopped.Dropped, run.ID)
		default:
			continue
		}
		s.cancel(run, request.Author)
	}
	return &pluginsdk.StopThreadResponse{Stopped: stopped}, nil
}
