package plugintest

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type agent struct{ h *Host }

// Start runs the turn at once, with Host.Agent.
func (s agent) Start(ctx context.Context, key string, request pluginsdk.AgentRequest) (string, error) {
	leave, err := s.h.enter(ctx, "Agent.Start")
	if err != nil {
		return "", err
	}
	defer leave()
	id, _, err := once(s.h, "turn "+key, request, func() string {
		id := s.h.nextID("turn")
		s.h.turns[id] = pluginsdk.InvokeResult{}
		if s.h.Agent != nil {
			s.h.turns[id] = s.h.Agent(request)
		}
		return id
	})
	return id, err
}

func (s agent) Wait(ctx context.Context, id string) (pluginsdk.InvokeResult, error) {
	leave, err := s.h.enter(ctx, "Agent.Wait")
	if err != nil {
		return pluginsdk.InvokeResult{}, err
	}
	defer leave()
	result, ok := s.h.turns[id]
	if !ok {
		return result, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no turn %q", id)
	}
	return result, nil
}

// Cancel finds a turn that is over, and leaves it as it is.
func (s agent) Cancel(ctx context.Context, id string) error {
	leave, err := s.h.enter(ctx, "Agent.Cancel")
	if err != nil {
		return err
	}
	defer leave()
	if _, ok := s.h.turns[id]; !ok {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no turn %q", id)
	}
	return nil
}
