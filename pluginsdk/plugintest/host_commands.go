package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type commands struct{ view }

// AddCommand puts a command among those that people can type.
func (h *Host) AddCommand(command pluginsdk.Command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, command)
}

func (s commands) List(ctx context.Context, _ *pluginsdk.ListCommandsRequest) (*pluginsdk.ListCommandsResponse, error) {
	leave, err := s.h.enter(ctx, "Commands.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.ListCommandsResponse{Commands: slices.Clone(s.h.commands)}, nil
}
