package pluginsdk

import (
	"context"
	"encoding/json"
)

// ToolSpec describes a tool to the agent, which sees it as PLUGIN__NAME.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"` // JSON Schema of an object
}

// CallToolRequest is one call of a tool.
type CallToolRequest struct {
	Call     Call
	Name     string // without the plugin's name
	Input    json.RawMessage
	ThreadID string
	TaskID   string
}

// CallToolResponse is what the agent is told.
type CallToolResponse struct {
	Result ToolResult
}

// ToolResult is what a tool says. A failure of the tool's own work is a result
// with IsError; an error returned by CallTool is a fault of the plugin.
type ToolResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// ToolProvider is implemented by plugins that offer tools. The tools
// themselves are declared in Manifest.Tools. A call may report progress
// (ReportProgress).
type ToolProvider interface {
	CallTool(ctx context.Context, request *CallToolRequest) (*CallToolResponse, error)
}
