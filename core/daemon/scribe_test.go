package daemon_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const scribeName = "scribe"

// scribe is the hands of the demo agent, which edits nothing by itself: a plugin with a tool
// that writes a file into the directory of the task in whose run it is called.
type scribe struct{ host pluginsdk.Host }

func runScribe() { serve.Main(&scribe{}) }

func (*scribe) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: scribeName, Version: "1.0.0",
		Tools: []pluginsdk.ToolSpec{{Name: "write", Description: "write a file", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapTasksRead, Reason: "find the directory"},
		},
	}
}

func (s *scribe) Start(_ context.Context, host pluginsdk.Host) error {
	s.host = host
	return nil
}

func (s *scribe) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	var input struct{ File, Text string }
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	of, err := s.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: call.TaskID})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(of.Task.Cwd, input.File), []byte(input.Text+"\n"), 0o600); err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "written"}}, nil
}
