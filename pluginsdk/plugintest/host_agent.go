package plugintest

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type agent struct{ view }

// turn is a turn of the agent that a plugin asked for.
type turn struct {
	cancel context.CancelFunc
	over   chan struct{} // closed when the turn has ended
}

// Turns returns the runs of the turns that were asked for.
func (h *Host) Turns() []pluginsdk.Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	return filter(h.runs, func(r pluginsdk.Run) bool { return r.Kind == pluginsdk.RunTurn })
}

// Start begins the turn, which Host.Agent answers.
func (s agent) Start(ctx context.Context, request *pluginsdk.StartTurnRequest) (*pluginsdk.StartTurnResponse, error) {
	leave, err := s.h.enter(ctx, "Agent.Start")
	if err != nil {
		return nil, err
	}
	defer leave()
	if request.Key == "" {
		return &pluginsdk.StartTurnResponse{RunID: s.begin(*request)}, nil
	}
	id, existed, err := once(s.h, s.key("turn", request.Key), request, func() string { return s.begin(*request) })
	return &pluginsdk.StartTurnResponse{RunID: id, Existed: existed}, err
}

// begin is called with the lock held. A turn outlives the call that asked for
// it, and the plugin.
func (s agent) begin(request pluginsdk.StartTurnRequest) string {
	ctx, cancel := context.WithCancel(context.Background())
	t := &turn{cancel: cancel, over: make(chan struct{})}
	run := pluginsdk.Run{
		ID: s.h.nextID("turn"), ThreadID: request.ThreadID, Kind: pluginsdk.RunTurn, State: pluginsdk.RunRunning,
		Attempt: 1, QueuedAt: now(), StartedAt: now(), Plugin: s.manifest.Name, Purpose: request.Purpose, TaskID: request.TaskID,
	}
	s.h.runs = append(s.h.runs, run)
	s.h.turns[run.ID] = t
	answer := s.h.Agent
	if answer == nil {
		answer = func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
			return pluginsdk.InvokeResult{}
		}
	}
	go func() {
		defer close(t.over)
		defer cancel()
		result := answer(ctx, request)
		s.h.mu.Lock()
		defer s.h.mu.Unlock()
		state := pluginsdk.RunSucceeded
		switch {
		case ctx.Err() != nil:
			state = pluginsdk.RunCancelled
		case result.Failure != nil:
			state = pluginsdk.RunFailed
		}
		s.h.endRun(run.ID, state, result)
	}()
	return run.ID
}

// Wait waits for the turn, or the context.
func (s agent) Wait(ctx context.Context, request *pluginsdk.WaitTurnRequest) (*pluginsdk.WaitTurnResponse, error) {
	t, err := s.turn(ctx, "Agent.Wait", request.RunID)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	i, err := find(s.h.runs, "turn", request.RunID, runID)
	if err != nil {
		return nil, err
	}
	run := s.h.runs[i]
	return &pluginsdk.WaitTurnResponse{State: run.State, Error: run.Error, Result: run.Result}, nil
}

func (s agent) turn(ctx context.Context, method, id string) (*turn, error) {
	leave, err := s.h.enter(ctx, method)
	if err != nil {
		return nil, err
	}
	defer leave()
	t, ok := s.h.turns[id]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no turn %q", id)
	}
	return t, nil
}

// Cancel ends the context of the turn's Host.Agent; a turn that is over stays as
// it is.
func (s agent) Cancel(ctx context.Context, request *pluginsdk.CancelTurnRequest) (*pluginsdk.CancelTurnResponse, error) {
	t, err := s.turn(ctx, "Agent.Cancel", request.RunID)
	if err != nil {
		return nil, err
	}
	t.cancel()
	return &pluginsdk.CancelTurnResponse{}, nil
}
