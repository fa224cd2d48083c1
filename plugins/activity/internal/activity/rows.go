package activity

import (
	"encoding/json"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	sourcePipeline = "pipeline"
	sourceBuiltin  = "builtin"
)

type startMetadata struct {
	Event string `json:"event"`
}

type stepMetadata struct {
	Step   string  `json:"step"`
	Detail *string `json:"detail"`
}

type toolCallMetadata struct {
	ToolName  string          `json:"toolName"`
	ToolUseID string          `json:"toolUseId"`
	Input     json.RawMessage `json:"input"`
}

// toolResultMetadata has no durationMs when that is not known.
type toolResultMetadata struct {
	ToolUseID  string `json:"toolUseId"`
	Success    bool   `json:"success"`
	DurationMS *int64 `json:"durationMs,omitempty"`
}

type completeMetadata struct {
	Event        string  `json:"event"`
	Outcome      *string `json:"outcome"`
	DurationMS   *int64  `json:"durationMs"`
	InputTokens  *int64  `json:"inputTokens"`
	OutputTokens *int64  `json:"outputTokens"`
	ToolCalls    int     `json:"toolCalls"`
}

func startRow() pluginsdk.NewMessage {
	return statusRow("Pipeline started", startMetadata{Event: "pipeline_start"})
}

// completeRows are the steps, then what the agent did, then the outcome.
func completeRows(complete *pluginsdk.OnPipelineCompleteRequest) []pluginsdk.NewMessage {
	limit := rowLimit(complete.Events)
	rows := make([]pluginsdk.NewMessage, 0, len(complete.Steps)+len(complete.Events)+1)
	for _, step := range complete.Steps {
		rows = append(rows, stepRow(step))
	}
	calls, called := 0, make(map[string]time.Time) // when, by the call's id
	for _, event := range complete.Events {
		row, ok := eventRow(event, called[event.ToolUseID], limit)
		if !ok {
			continue
		}
		if event.Type == pluginsdk.StreamToolCall {
			calls++
			if event.ToolUseID != "" {
				called[event.ToolUseID] = event.Timestamp
			}
		}
		rows = append(rows, row)
	}
	return append(rows, outcomeRow(complete, calls))
}

func stepRow(step pluginsdk.PipelineStep) pluginsdk.NewMessage {
	metadata := stepMetadata{Step: valid(step.Step)}
	if step.Detail != "" {
		detail := cut(step.Detail, maxRowBytes)
		metadata.Detail = &detail
	}
	return pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStep, Source: sourcePipeline,
		Content: metadata.Step, Metadata: encode(metadata),
	}
}

// eventRow returns the row of a stream event, and whether it has one: text is
// the reply's own, thinking may be empty, and other types are not recorded. Called is
// when a result's tool was called, zero if that is not known.
func eventRow(event pluginsdk.StreamEvent, called time.Time, limit int) (pluginsdk.NewMessage, bool) {
	switch event.Type { //nolint:exhaustive // the others have no row
	case pluginsdk.StreamThinking:
		return pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Source: sourceBuiltin,
			Content: cut(event.Text, limit),
		}, event.Text != ""
	case pluginsdk.StreamToolCall:
		name := cut(event.ToolName, maxNameBytes)
		return pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageToolCall, Source: toolSource(name),
			Content: name,
			Metadata: encode(toolCallMetadata{
				ToolName: name, ToolUseID: valid(event.ToolUseID), Input: cutInput(event.Input, limit),
			}),
		}, event.ToolName != ""
	case pluginsdk.StreamToolResult:
		return pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageToolResult, Source: sourceBuiltin,
			Content: cut(event.Text, limit),
			Metadata: encode(toolResultMetadata{
				ToolUseID: valid(event.ToolUseID), Success: !event.IsError, DurationMS: took(called, event.Timestamp),
			}),
		}, true
	}
	return pluginsdk.NewMessage{}, false
}

// took is how long a call lasted, from when the agent asked for it: what people took to
// allow it is in it. It is nil when that is not known.
func took(called, answered time.Time) *int64 {
	if called.IsZero() || answered.Before(called) {
		return nil
	}
	return new(answered.Sub(called).Milliseconds())
}

// outcomeRow is the last row of an attempt, in which so many calls of tools were recorded.
func outcomeRow(complete *pluginsdk.OnPipelineCompleteRequest, calls int) pluginsdk.NewMessage {
	metadata := completeMetadata{Event: "pipeline_complete", ToolCalls: calls}
	if complete.Outcome != "" {
		outcome := string(complete.Outcome)
		metadata.Outcome = &outcome
	}
	if complete.Duration > 0 {
		ms := complete.Duration.Milliseconds()
		metadata.DurationMS = &ms
	}
	if complete.Usage != nil {
		metadata.InputTokens = &complete.Usage.InputTokens
		metadata.OutputTokens = &complete.Usage.OutputTokens
	}
	if complete.Outcome == pluginsdk.OutcomeParked {
		return statusRow("Pipeline parked", metadata)
	}
	return statusRow("Pipeline completed", metadata)
}

func statusRow(content string, metadata any) pluginsdk.NewMessage {
	return pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: sourcePipeline,
		Content: content, Metadata: encode(metadata),
	}
}

// encode returns metadata as JSON. The types above hold nothing that cannot be
// encoded; cutInput sees to the one field that is given as JSON.
func encode(metadata any) json.RawMessage {
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return nil
	}
	return encoded
}
