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
// that writes a file, or several by their names, into the directory of the task in whose run it is called.
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
	var input struct {
		File, Text string
		Files      map[string]string
	}
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	of, err := s.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: call.TaskID})
	if err != nil {
		return nil, err
	}
	if input.File != "" {
		input.Files = map[string]string{input.File: input.Text + "\n"}
	}
	for name, text := range input.Files {
		path := filepath.Join(of.Task.Cwd, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "written"}}, nil
}
