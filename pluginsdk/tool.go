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

// ToolCall is one call of a tool.
type ToolCall struct {
	Call     Call            `json:"-"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	ThreadID string          `json:"threadId,omitempty"`
	TaskID   string          `json:"taskId,omitempty"`
	// Progress, when not nil, may be called any number of times before the
	// handler returns. It is set by the SDK.
	Progress func(ToolProgress) `json:"-"`
}

// ToolProgress reports how far a tool's call has come.
type ToolProgress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0: unknown
	Message string  `json:"message,omitempty"`
}

// ToolResult is what the agent is told. A failure of the tool's own work is a
// result with IsError; an error returned by CallTool is a fault of the plugin.
type ToolResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// ToolProvider is implemented by plugins that offer tools. The tools
// themselves are declared in Manifest.Tools.
type ToolProvider interface {
	CallTool(ctx context.Context, call ToolCall) (ToolResult, error)
}
