package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const callTool = "call-tool"

// toolDeadline bounds a request that calls a tool. How long a tool may take is
// the core's to say; this is for one that it lets take longer still.
const toolDeadline = time.Hour

// Tool is a plugin's tool as clients see it.
type Tool struct {
	Name        string          `json:"name" doc:"PLUGIN__TOOL"`
	Plugin      string          `json:"plugin"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema" doc:"JSON Schema of the input"`
}

type toolsOutput struct {
	Body struct {
		Tools []Tool `json:"tools" nullable:"false"`
	}
}

type toolInput struct {
	Name string `path:"name" maxLength:"200"`
	Body struct {
		Input map[string]json.RawMessage `json:"input,omitempty" doc:"What the tool is called with; absent: {}"`
	}
}

type toolOutput struct {
	Body pluginsdk.ToolResult
}

func (h *handlers) registerTools(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-tools", "/api/tools", "The tools of the enabled plugins")), h.listTools)
	call := needs(pluginsdk.ScopeAdmin, post(callTool, "/api/tools/{name}", "Call a tool, outside of any run, and wait for its result", http.StatusOK))
	huma.Register(api, call, h.callTool)
}

func (h *handlers) listTools(ctx context.Context, _ *struct{}) (*toolsOutput, error) {
	output := &toolsOutput{}
	output.Body.Tools = []Tool{}
	for request := (pluginsdk.ListToolsRequest{}); ; {
		answer, err := h.host.Tools.List(ctx, &request)
		if err != nil {
			return nil, h.fail("list-tools", err)
		}
		for _, spec := range answer.Tools {
			plugin, _, _ := strings.Cut(spec.Name, "__")
			output.Body.Tools = append(output.Body.Tools, Tool{Name: spec.Name, Plugin: plugin, Description: spec.Description, InputSchema: spec.InputSchema})
			request.After = spec.Name
		}
		if !answer.More || len(answer.Tools) == 0 {
			return output, nil
		}
	}
}

func (h *handlers) callTool(ctx context.Context, input *toolInput) (*toolOutput, error) {
	raw, err := json.Marshal(input.Body.Input)
	if err != nil {
		return nil, h.fail(callTool, err)
	}
	if input.Body.Input == nil {
		raw = json.RawMessage("{}")
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: input.Name, Input: raw})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeInternal {
		// A fault of the plugin whose tool it is, which who calls it has to know.
		return nil, huma.NewError(http.StatusBadGateway, err.Error())
	}
	if err != nil {
		return nil, h.fail(callTool, err)
	}
	return &toolOutput{Body: answer.Result}, nil
}
