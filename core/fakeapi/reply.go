package fakeapi

import (
	"encoding/json"
	"time"
)

// DefaultText is the reply when nothing says otherwise.
const DefaultText = "Hello from the model."

// Reply is what the server answers, after Block and Delay.
type Reply struct {
	Block      string        // wait for Server.Release of this name
	Delay      time.Duration // then wait so long
	Status     int           // an error status instead of a message, when not 0
	Think      string        // a thinking block
	Text       string        // a text block
	Tools      []ToolUse     // tool calls
	Usage      Usage         // zero: DefaultUsage
	StopReason string        // default: tool_use after a tool call, else end_turn
	// Stall breaks a stream off after its first words, when not empty, until
	// Server.Release of this name: what went in has been told, what comes out not.
	Stall string
	// Windows are the plan's windows that this answer tells of; nil: those of
	// Server.SetWindows.
	Windows *Windows
}

// ToolUse is a tool call of the model.
type ToolUse struct {
	Name  string
	Input json.RawMessage // default {}
}

// Usage is the token count of a reply, which also decides what it is billed.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_input_tokens"`
	CacheWriteTokens int64 `json:"cache_creation_input_tokens"`
	CacheWriteHour   int64 `json:"-"` // of CacheWriteTokens those that are kept for an hour
}

// DefaultUsage is what a reply that names none is charged.
var DefaultUsage = Usage{InputTokens: 1200, OutputTokens: 12, CacheReadTokens: 800, CacheWriteTokens: 100}

// defaultThought is what an empty think: means.
const defaultThought = "Let me think about it."

// Directed is the reply that the directives of a request ask for. A handler may
// fall back on it.
func Directed(r Request) Reply {
	if len(r.ToolResults()) > 0 {
		return afterTool(r)
	}
	return directives(r.Prompt()).orDefault()
}

// afterTool answers a tool's result: directives that came with it (a message
// sent while the tool ran), else what then: said when the tool was called.
func afterTool(r Request) Reply {
	if reply := directives(r.Prompt()); !reply.empty() {
		return reply.orDefault()
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		message := Request{Messages: r.Messages[i : i+1]}
		if r.Messages[i].Role != "user" || len(message.ToolResults()) > 0 {
			continue
		}
		return Reply{Text: parse(message.Prompt()).then}.orDefault()
	}
	return Reply{}.orDefault()
}

func (r Reply) empty() bool {
	return r.Text == "" && r.Think == "" && len(r.Tools) == 0 && r.Status == 0 && r.Block == "" && r.Delay == 0 && r.Windows == nil
}

func (r Reply) orDefault() Reply {
	if r.Text == "" && len(r.Tools) == 0 {
		r.Text = DefaultText
	}
	return r
}
