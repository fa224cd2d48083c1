package invoker

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// DemoTools are the plugins' tools as the demo agent calls them.
type DemoTools interface {
	// Answer calls PLUGIN__TOOL in the turn of a run, and returns what an agent
	// would be told.
	Answer(ctx context.Context, runID, name string, input json.RawMessage) pluginsdk.ToolResult
}

// callTool plays the rule's tool call, or makes it.
func (t *demoTurn) callTool(ctx context.Context) {
	if t.rule.ToolName == "" {
		return
	}
	input := t.rule.ToolInput
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	name, plugins := t.pluginTool()
	id := "demo_" + uuid.NewString()
	t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: name, ToolUseID: id, Input: input})
	result := pluginsdk.ToolResult{Text: t.rule.ToolResult, IsError: t.rule.ToolError}
	if plugins {
		result = t.tools.Answer(ctx, t.request.RunID, strings.TrimPrefix(name, toolPrefix), input)
	}
	t.event(pluginsdk.StreamEvent{
		Type: pluginsdk.StreamToolResult, ToolName: name, ToolUseID: id, Text: resultText(result), IsError: result.IsError,
	})
}

// pluginTool returns the name of the rule's tool, as the CLI would say it, and
// whether it is a plugin's and has to be called.
func (t *demoTurn) pluginTool() (name string, plugins bool) {
	name = t.rule.ToolName
	if t.tools == nil || t.rule.ToolResult != "" || t.rule.ToolError {
		return name, false
	}
	local, ours := strings.CutPrefix(name, toolPrefix)
	if !ours && strings.HasPrefix(name, "mcp__") || !strings.Contains(local, "__") {
		return name, false
	}
	return toolPrefix + local, true
}

// resultText is all that a result says.
func resultText(result pluginsdk.ToolResult) string {
	if result.Text != "" && result.Structured != nil {
		return result.Text + "\n" + string(result.Structured)
	}
	return result.Text + string(result.Structured)
}
