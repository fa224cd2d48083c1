package toolserver

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// failedResult is what the agent is told of a call that failed: the code, what was
// wrong, and what to do.
func failedResult(err error) pluginsdk.ToolResult {
	code := pluginsdk.CodeOf(err)
	words := strings.TrimRight(err.Error(), ". \n")
	return pluginsdk.ToolResult{IsError: true, Text: string(code) + ": " + words + ". " + advice(code)}
}

func advice(code pluginsdk.Code) string {
	switch code {
	case pluginsdk.CodeInvalid:
		return "Correct the input and call the tool again."
	case pluginsdk.CodeNotFound:
		return "Call only tools of the list that you have; go on without this one."
	case pluginsdk.CodeUnavailable:
		return "Nothing was done. Go on without it, or try again later; an operator can see why with `harness plugin list`."
	case pluginsdk.CodeDeadline:
		return "It may have done a part of its work: look before you call it again."
	case pluginsdk.CodeCancelled, pluginsdk.CodeStale:
		return "It may have done a part of its work. Do not call it again in this turn."
	case pluginsdk.CodeExhausted:
		return "Do not repeat the call; go on without it."
	case pluginsdk.CodeDenied:
		return "An operator has to permit it; go on without it, or ask the person."
	case pluginsdk.CodeConflict, pluginsdk.CodeUnimplemented, pluginsdk.CodeInternal:
	}
	return "This is a fault of the tool, not of your input. It may have done a part of its work; go on without it. An operator finds the reason in the daemon's log."
}

// tidy makes a plugin's result one that can be handed on.
func tidy(tool *tool, result pluginsdk.ToolResult) (pluginsdk.ToolResult, error) {
	if len(result.Structured) == 0 || string(result.Structured) == "null" {
		result.Structured = nil
		return result, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(result.Structured, &object); err != nil {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeInternal,
			"the plugin %s answered %s with structured content that is not a JSON object", tool.plugin, tool.spec.Name)
	}
	return result, nil
}

// mcpResult is a result as the agent gets it. Claude Code (2.1.197) shows the
// model structured content instead of the text beside it: where there are
// both, both go as text.
func mcpResult(result pluginsdk.ToolResult) *mcp.CallToolResult {
	made := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: result.IsError}
	if result.Text != "" {
		made.Content = append(made.Content, &mcp.TextContent{Text: result.Text})
	}
	if result.Structured != nil {
		made.Content = append(made.Content, &mcp.TextContent{Text: string(result.Structured)})
		if result.Text == "" {
			made.StructuredContent = result.Structured
		}
	}
	return made
}
