// Package transcript writes messages down for people and programs to keep.
package transcript

import (
	"encoding/json"
	"io"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Writer writes threads, each followed by its messages.
type Writer interface {
	Thread(pluginsdk.Thread) error
	Message(pluginsdk.Message) error
}

// Line is a message in JSON Lines.
type Line struct {
	ThreadID    string                 `json:"threadId"`
	Thread      string                 `json:"thread,omitempty"` // its name
	ID          int64                  `json:"id"`
	Role        pluginsdk.Role         `json:"role"`
	Kind        pluginsdk.MessageKind  `json:"kind"`
	Source      string                 `json:"source,omitempty"`
	Author      string                 `json:"author,omitempty"`
	Content     string                 `json:"content"`
	Model       string                 `json:"model,omitempty"`
	CreatedAt   time.Time              `json:"createdAt"`
	Attachments []pluginsdk.Attachment `json:"attachments,omitempty"`
	Metadata    json.RawMessage        `json:"metadata,omitempty"`
	RunID       string                 `json:"runId,omitempty"`
	By          string                 `json:"by"` // whose words it is, as the core knows it
}

// JSONLines writes a Line for each message.
type JSONLines struct {
	encoder *json.Encoder
	thread  pluginsdk.Thread
}

// NewJSONLines writes to out.
func NewJSONLines(out io.Writer) *JSONLines {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &JSONLines{encoder: encoder}
}

// Thread begins a thread; it writes nothing by itself.
func (j *JSONLines) Thread(t pluginsdk.Thread) error {
	j.thread = t
	return nil
}

// Message writes one line.
func (j *JSONLines) Message(m pluginsdk.Message) error {
	return j.encoder.Encode(Line{
		ThreadID: m.ThreadID, Thread: j.thread.Name, ID: m.ID, Role: m.Role, Kind: m.Kind, Source: m.Source,
		Author: m.Author, Content: m.Content, Model: m.Model, CreatedAt: m.CreatedAt,
		Attachments: m.Attachments, Metadata: m.Metadata, RunID: m.RunID, By: m.Label().String(),
	})
}
