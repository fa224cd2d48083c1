package invoker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// synthetic is the model of messages that the CLI writes itself, such as the text of an
// API error.
const synthetic = "<synthetic>"

// echoEnd is the end of an echo of a line that was sent to the CLI. No other line ends
// so.
var echoEnd = []byte(`"isReplay":true}`)

// line handles one line of the CLI. It ignores a line that is no JSON object, and lines
// of unknown types.
func (t *turn) line(line []byte) {
	if bytes.HasSuffix(line, echoEnd) && !t.session.interjected.pending() {
		return // the echo of the prompt, which may be long
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil && h.Type == "" {
		t.session.log.Debug("the agent wrote a line that is not JSON", "bytes", len(line))
		return
	}
	sub := h.ParentToolUseID != ""
	switch h.Type {
	case "system":
		t.system(h.Subtype, line)
	case "stream_event":
		if !sub {
			t.delta(line)
		}
	case "assistant":
		t.assistant(line, sub)
	case "user":
		if h.IsReplay {
			t.took(h.UUID)
			return
		}
		t.user(line)
	case "control_request":
		t.control(line)
	case "control_cancel_request":
		t.cancelled(line)
	case "rate_limit_event":
		t.limits(line)
	case "control_response":
		var response controlResponse
		if !t.session.tookUsage(line) && t.decode(line, &response) {
			t.answeredControl(response)
		}
	case "result":
		var result resultLine
		if t.decode(line, &result) {
			t.ended(result)
		}
	}
}

func (t *turn) system(subtype string, line []byte) {
	t.session.noteMode(line)
	switch subtype {
	case "init":
		var start initLine
		if !t.decode(line, &start) {
			return
		}
		t.model, t.begun = start.Model, true
		t.leftOut = len(t.schema) > 0 && !slices.Contains(start.Tools, outputTool)
		t.began()
		t.begunWith(line)
		if t.session.turns == 0 {
			t.session.watch.look(start.Version, start.Tools)
			t.outdated = t.config.Catalog.Correct(t.session.binary, start.Version)
		}
		for _, server := range start.Servers {
			if server.Status != "connected" {
				t.session.log.Warn("an MCP server is not connected", "server", server.Name, "status", server.Status)
			}
		}
	case "model_refusal_no_fallback":
		t.refusal(line)
	case "api_retry":
		var retry retryLine
		if t.decode(line, &retry) {
			t.retry(retry)
		}
	}
}

func (t *turn) retry(retry retryLine) {
	t.retryDelay = time.Duration(retry.RetryDelayMS * float64(time.Millisecond))
	t.event(pluginsdk.StreamEvent{
		Type: pluginsdk.StreamRetry,
		Text: fmt.Sprintf("API error %d (%s): attempt %d of %d follows in %s",
			retry.ErrorStatus, cmp.Or(retry.Error, "unknown"), retry.Attempt, retry.MaxRetries,
			t.retryDelay.Round(100*time.Millisecond)),
	})
}

func (t *turn) delta(line []byte) {
	var stream streamLine
	if !t.decode(line, &stream) {
		return
	}
	if stream.Event.Type != "content_block_delta" {
		t.calls.streamed(stream)
		t.checkPrice(t.calls.open.model, t.calls.open.usage)
		return
	}
	t.retryDelay = 0
	switch delta := stream.Event.Delta; delta.Type {
	case "text_delta":
		t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: delta.Text, Offset: t.textBytes})
		t.textBytes += len(delta.Text)
	case "thinking_delta":
		t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamThinkingDelta, Text: delta.Thinking, Offset: t.thinkingBytes})
		t.thinkingBytes += len(delta.Thinking)
	}
}

// assistant handles complete blocks. Of a sub-agent only the tool calls are shown: its
// words are for the agent, which gets them as the result of its own call.
func (t *turn) assistant(line []byte, sub bool) {
	var message messageLine
	if !t.decode(line, &message) {
		return
	}
	if message.Message.Model == synthetic {
		t.apiError = message.Error
		return
	}
	t.retryDelay = 0
	switch {
	case sub:
		t.calls.subAgent(message)
		t.checkPrice(message.Message.Model, message.Message.Usage)
	case message.Message.Model != "":
		t.model = message.Message.Model
	}
	for _, b := range message.Message.Content {
		switch {
		case b.Type == "tool_use" || b.Type == "server_tool_use":
			t.call(b)
		case sub:
		case b.Type == "text" && b.Text != "":
			t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: b.Text})
		case b.Type == "thinking" && b.Thinking != "":
			t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamThinking, Text: b.Thinking})
		}
	}
}

func (t *turn) call(b block) {
	if b.Type == "tool_use" {
		t.tools[b.ID] = b.Name
	}
	if b.Name == planTool {
		if t.plans == nil {
			t.plans = map[string]json.RawMessage{}
		}
		t.plans[b.ID] = b.Input
	}
	t.event(pluginsdk.StreamEvent{
		Type: pluginsdk.StreamToolCall, ToolName: b.Name, ToolUseID: b.ID, Input: b.Input,
	})
}

// user handles the results of tools. Text that the CLI itself adds to the conversation is
// not shown.
func (t *turn) user(line []byte) {
	var message messageLine
	if !t.decode(line, &message) {
		return
	}
	for _, b := range message.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		t.event(pluginsdk.StreamEvent{
			Type: pluginsdk.StreamToolResult, ToolName: t.tools[b.ToolUseID], ToolUseID: b.ToolUseID,
			Text: b.Content.text(), IsError: b.IsError,
		})
		if t.tools[b.ToolUseID] == outputTool && !b.IsError {
			t.calls.last = true
		}
		delete(t.tools, b.ToolUseID)
	}
}

func (t *turn) event(event pluginsdk.StreamEvent) {
	event.Timestamp = time.Now()
	t.emit(event)
}
