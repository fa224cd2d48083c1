package fakeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The message as it goes over the wire, whole or as a stream
// (https://docs.anthropic.com/en/api/messages-streaming).

type message struct {
	ID           string      `json:"id"`
	Type         string      `json:"type"`
	Role         string      `json:"role"`
	Model        string      `json:"model"`
	Content      []wireBlock `json:"content"`
	StopReason   *string     `json:"stop_reason"`
	StopSequence *string     `json:"stop_sequence"`
	Usage        wireUsage   `json:"usage"`
}

// wireUsage says of what is written to the cache for how long that is kept.
type wireUsage struct {
	Usage
	CacheCreation struct {
		Short int64 `json:"ephemeral_5m_input_tokens"`
		Hour  int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

func compose(reply Reply, model string, number int) message {
	m := message{
		ID: fmt.Sprintf("msg_%d", number), Type: "message", Role: "assistant", Model: model,
	}
	if m.Usage.Usage = reply.Usage; reply.Usage == (Usage{}) {
		m.Usage.Usage = DefaultUsage
	}
	m.Usage.CacheCreation.Hour = min(m.Usage.CacheWriteHour, m.Usage.CacheWriteTokens)
	m.Usage.CacheCreation.Short = m.Usage.CacheWriteTokens - m.Usage.CacheCreation.Hour
	stop := "end_turn"
	if reply.Think != "" {
		signature := "signed"
		m.Content = append(m.Content, wireBlock{Type: "thinking", Thinking: &reply.Think, Signature: &signature})
	}
	if reply.Text != "" {
		m.Content = append(m.Content, wireBlock{Type: "text", Text: &reply.Text})
	}
	for i, tool := range reply.Tools {
		stop = "tool_use"
		input := tool.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		m.Content = append(m.Content, wireBlock{
			Type: "tool_use", ID: fmt.Sprintf("toolu_%d_%d", number, i), Name: tool.Name, Input: input,
		})
	}
	if reply.StopReason != "" {
		stop = reply.StopReason
	}
	m.StopReason = &stop
	return m
}

// stream writes a message as server-sent events, words one by one, until the caller has
// gone. After the first word it asks whether to go on. It bills what it has told: the
// input at the start, the whole output before the caller knows it, else a token for each
// piece.
func stream(ctx context.Context, w http.ResponseWriter, m message, charge func(Usage, bool), goOn func() bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	events := eventWriter{w: w}
	told := m.started().Usage.Usage
	charge(told, true)
	events.send("message_start", map[string]any{"message": m.started()})
	pieces := int64(0)
	for i, block := range m.Content {
		events.send("content_block_start", map[string]any{"index": i, "content_block": block.started()})
		for n, delta := range block.deltas() {
			events.send("content_block_delta", map[string]any{"index": i, "delta": delta})
			pieces++
			told.OutputTokens = max(told.OutputTokens, min(pieces, m.Usage.OutputTokens))
			charge(told, true)
			if first := n == 0 && i == 0; ctx.Err() != nil || first && !goOn() {
				return
			}
		}
		events.send("content_block_stop", map[string]any{"index": i})
	}
	charge(m.Usage.Usage, false)
	events.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": map[string]int64{"output_tokens": m.Usage.OutputTokens},
	})
	events.send("message_stop", map[string]any{})
}

// started is the message as message_start has it: nothing said yet.
func (m message) started() message {
	m.Content = []wireBlock{}
	m.StopReason = nil
	m.Usage.OutputTokens = 1
	return m
}

// started is the block as content_block_start has it.
func (b wireBlock) started() wireBlock {
	empty := ""
	switch b.Type {
	case "thinking":
		b.Thinking, b.Signature = &empty, &empty
	case "text":
		b.Text = &empty
	case "tool_use":
		b.Input = json.RawMessage("{}")
	}
	return b
}

func (b wireBlock) deltas() []map[string]string {
	var deltas []map[string]string
	switch b.Type {
	case "thinking":
		for _, word := range strings.SplitAfter(*b.Thinking, " ") {
			deltas = append(deltas, map[string]string{"type": "thinking_delta", "thinking": word})
		}
		deltas = append(deltas, map[string]string{"type": "signature_delta", "signature": *b.Signature})
	case "text":
		for _, word := range strings.SplitAfter(*b.Text, " ") {
			deltas = append(deltas, map[string]string{"type": "text_delta", "text": word})
		}
	case "tool_use":
		deltas = append(deltas, map[string]string{"type": "input_json_delta", "partial_json": string(b.Input)})
	}
	return deltas
}

type eventWriter struct{ w http.ResponseWriter }

func (e eventWriter) send(name string, fields map[string]any) {
	fields["type"] = name
	data, err := json.Marshal(fields)
	if err != nil {
		return
	}
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, data)
	if flusher, ok := e.w.(http.Flusher); ok {
		flusher.Flush()
	}
}
