package pluginsdk

import (
	"encoding/json"
	"time"
)

// StreamEventType says what a StreamEvent holds.
type StreamEventType string

// The types of stream event. Deltas are shown and not stored; the whole block
// follows them.
const (
	StreamText          StreamEventType = "text"
	StreamThinking      StreamEventType = "thinking"
	StreamTextDelta     StreamEventType = "text_delta"
	StreamThinkingDelta StreamEventType = "thinking_delta"
	StreamToolCall      StreamEventType = "tool_call"
	StreamToolResult    StreamEventType = "tool_result"
	StreamRetry         StreamEventType = "retry"  // the agent repeats a failed API call by itself
	StreamDenied        StreamEventType = "denied" // a tool was denied for want of permission
)

// StreamEvent is one thing an agent did in a turn, in order.
type StreamEvent struct {
	Type      StreamEventType `json:"type"`
	Text      string          `json:"text,omitempty"`
	Offset    int             `json:"offset,omitempty"` // bytes of deltas of this type before this one, in this turn
	ToolName  string          `json:"toolName,omitempty"`
	ToolUseID string          `json:"toolUseId,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Timestamp time.Time       `json:"timestamp"`
}

// Delta reports whether the event is a fragment of a block that follows whole.
func (e StreamEvent) Delta() bool {
	return e.Type == StreamTextDelta || e.Type == StreamThinkingDelta
}

// Usage counts tokens, as the Messages API reports them
// (https://docs.anthropic.com/en/api/messages, usage).
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens"`
	CacheWriteTokens int64 `json:"cacheWriteTokens"`
}

// FailureKind says why a turn failed.
type FailureKind string

// The kinds of failure of a turn.
const (
	FailureAPI            FailureKind = "api"             // the Messages API answered an error
	FailureUnknownSession FailureKind = "unknown_session" // the session to resume does not exist
	FailureInterrupted    FailureKind = "interrupted"     // a person stopped the turn
	FailureCrashed        FailureKind = "crashed"         // the agent's process ended in mid-turn
	FailureSilent         FailureKind = "silent"          // no output for longer than the watchdog allows
	FailureTimeout        FailureKind = "timeout"         // the turn took longer than it may
	FailureMissing        FailureKind = "missing"         // the agent cannot be started
	FailureBudget         FailureKind = "budget"          // the turn's cost or turn limit
	FailureOther          FailureKind = "other"
)

// Failure is why a turn has no answer.
type Failure struct {
	Kind      FailureKind `json:"kind"`
	Message   string      `json:"message"` // words a person can read
	APIStatus int         `json:"apiStatus,omitempty"`
	Retryable bool        `json:"retryable"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// InvokeResult is how a turn of the agent ended. When Failure is not nil, Text
// is empty: an error is never the assistant's words.
type InvokeResult struct {
	Text             string          `json:"text"`
	SessionID        string          `json:"sessionId,omitempty"`
	Model            string          `json:"model,omitempty"`
	Usage            Usage           `json:"usage"`
	CostUSD          float64         `json:"costUsd"`
	Duration         time.Duration   `json:"duration"` // nanoseconds
	Turns            int             `json:"turns"`
	StructuredOutput json.RawMessage `json:"structuredOutput,omitempty"`
	Failure          *Failure        `json:"failure,omitempty"`
}
