package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const workbenchName = "workbench"

// workbench is a plugin with tools, of which one never ends by itself and one
// calls itself.
type workbench struct{ host pluginsdk.Host }

func runWorkbench() { serve.Main(&workbench{}) }

func (*workbench) Manifest() pluginsdk.Manifest {
	tool := func(name, schema string) pluginsdk.ToolSpec {
		return pluginsdk.ToolSpec{Name: name, Description: name, InputSchema: json.RawMessage(schema)}
	}
	return pluginsdk.Manifest{
		Name: workbenchName, Version: "1.0.0",
		Tools: []pluginsdk.ToolSpec{
			tool("echo", `{"type":"object","properties":{"n":{"type":"integer"}}}`),
			tool("dig", `{}`), tool("fail", `{}`), tool("stuck", `{}`), tool("nest", `{}`), tool("die", `{}`), tool("hang", `{}`),
			tool("odd", `{"type":"object","properties":{"a":{"pattern":"("}}}`),
		},
	}
}

func (w *workbench) Start(_ context.Context, host pluginsdk.Host) error {
	w.host = host
	return nil
}

func (w *workbench) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	result, err := w.call(ctx, call)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: result}, nil
}

func (w *workbench) call(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
	switch call.Name {
	case "echo":
		return pluginsdk.ToolResult{Text: fmt.Sprintf("echo %s in thread %s, run %s", call.Input, call.ThreadID, call.Call.RunID)}, nil
	case "dig":
		for done := range 20 {
			pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Done: float64(done), Total: 20, Message: "digging"})
		}
		return pluginsdk.ToolResult{Text: "dug"}, nil
	case "fail":
		return pluginsdk.ToolResult{Text: "the door is locked", IsError: true}, nil
	case "stuck":
		return w.stuck(ctx, call)
	case "nest":
		deeper, err := w.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: workbenchName + "__nest"})
		if err != nil {
			return pluginsdk.ToolResult{Text: string(pluginsdk.CodeOf(err))}, nil
		}
		return pluginsdk.ToolResult{Text: "in " + deeper.Result.Text}, nil
	case "die":
		os.Exit(3)
	case "hang":
		select {}
	}
	return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
}

// stuck goes on until its call is cancelled, and then tries to write into the
// thread and to call a tool all the same. What it was told is in late.txt.
func (w *workbench) stuck(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
	_ = os.WriteFile(beside("stuck.txt"), []byte(call.Call.RunID), 0o600)
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	_, wrote := w.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: call.ThreadID, Key: "late",
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "written too late"}},
	})
	_, called := w.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: workbenchName + "__echo"})
	_ = os.WriteFile(beside("late.txt"), []byte(string(pluginsdk.CodeOf(wrote))+" "+string(pluginsdk.CodeOf(called))), 0o600)
	return pluginsdk.ToolResult{Text: "too late"}, nil
}
