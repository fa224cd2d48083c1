package fakeapi

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is a call of POST /v1/messages as it was received.
type Request struct {
	Model    string
	System   string // all blocks of the system prompt, joined by blank lines
	Messages []Message
	Tools    []string // names
	Stream   bool
	Header   http.Header
	Body     json.RawMessage // all of it
}

// Message is one entry of the conversation.
type Message struct {
	Role    string
	Content []Block
}

// Block is one block of a message's content. A message whose content is a
// string has one block of text.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"` // of a tool_result
}

// Main tells the turns of a conversation from the side requests that the CLI
// makes (titles, quota checks), which offer no tools. Use it as a filter.
func Main(r Request) bool { return len(r.Tools) > 0 }

// Newest returns the text blocks of the newest user message, without what the
// CLI adds to it as system reminders.
func (r Request) Newest() []string {
	message, ok := r.newest()
	if !ok {
		return nil
	}
	var texts []string
	for _, block := range message.Content {
		if block.Type == "text" && !isReminder(block.Text) {
			texts = append(texts, block.Text)
		}
	}
	return texts
}

// Prompt returns the last of the Newest texts: what the turn was asked. The
// texts before it are of turns that got no answer (interrupted, failed), which
// the CLI sends again in the same message.
func (r Request) Prompt() string {
	texts := r.Newest()
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// Says reports whether the prompt contains text.
func (r Request) Says(text string) bool { return strings.Contains(r.Prompt(), text) }

// UserTexts returns the text blocks of all user messages, oldest first.
func (r Request) UserTexts() []string {
	var texts []string
	for _, message := range r.Messages {
		if message.Role != "user" {
			continue
		}
		for _, block := range message.Content {
			if block.Type == "text" {
				texts = append(texts, block.Text)
			}
		}
	}
	return texts
}

func (r Request) newest() (Message, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i], true
		}
	}
	return Message{}, false
}

// ToolResults returns the tool results in the newest user message.
func (r Request) ToolResults() []Block {
	message, _ := r.newest()
	var results []Block
	for _, block := range message.Content {
		if block.Type == "tool_result" {
			results = append(results, block)
		}
	}
	return results
}

// isReminder reports whether the CLI has added the text: a reminder, or (2.1.330) the path of an
// image that is in the same message.
func isReminder(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<system-reminder>") || strings.HasPrefix(text, "[Image: source: ") && strings.HasSuffix(text, "]")
}

// parseRequest reads a body. Content it does not know is left out.
func parseRequest(body []byte, header http.Header) (Request, error) {
	var wire struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Stream   bool            `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []tool `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	r := Request{Model: wire.Model, Stream: wire.Stream, Header: header.Clone(), Body: body}
	var system []string
	for _, block := range blocks(wire.System) {
		system = append(system, block.Text)
	}
	r.System = strings.Join(system, "\n\n")
	for _, message := range wire.Messages {
		r.Messages = append(r.Messages, Message{Role: message.Role, Content: blocks(message.Content)})
	}
	for n, tool := range wire.Tools {
		if err := tool.refused(n); err != nil {
			return Request{}, err
		}
		r.Tools = append(r.Tools, tool.Name)
	}
	return r, nil
}

func blocks(raw json.RawMessage) []Block {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 {
		return []Block{{Type: "text", Text: text}}
	}
	var list []Block
	_ = json.Unmarshal(raw, &list)
	return list
}
