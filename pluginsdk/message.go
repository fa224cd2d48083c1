package pluginsdk

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// MessageKind says what a message is.
type MessageKind string

// The kinds of message. Everything but MessageText is a record of what
// happened around the conversation.
const (
	MessageText         MessageKind = "text"
	MessageStatus       MessageKind = "status"
	MessageStep         MessageKind = "pipeline_step"
	MessageThinking     MessageKind = "thinking"
	MessageToolCall     MessageKind = "tool_call"
	MessageToolResult   MessageKind = "tool_result"
	MessageNotification MessageKind = "notification"
	MessageSummary      MessageKind = "summary"
)

// Message is one row of a thread. Messages are ordered by ID, never by time.
type Message struct {
	ID          int64           `json:"id"`
	ThreadID    string          `json:"threadId"`
	Role        Role            `json:"role"`
	Kind        MessageKind     `json:"kind"`
	Source      string          `json:"source"`           // who speaks: a plugin, or builtin, pipeline, agent, core
	Plugin      string          `json:"plugin,omitempty"` // the plugin that wrote the row, as the core knows it; empty: the core
	Author      string          `json:"author,omitempty"`
	Content     string          `json:"content"`
	Model       string          `json:"model,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // a JSON object, or empty
	Attachments []Attachment    `json:"attachments,omitempty"`
	RunID       string          `json:"runId,omitempty"`
	Key         string          `json:"key,omitempty"` // unique in the thread when not empty
	CreatedAt   time.Time       `json:"createdAt"`
	Scope       TokenScope      `json:"scope,omitempty"` // what the person may do who has typed it; see Submission
	// Origin is where it is from, as the core knows it: by which token the person called, or whose
	// agent, elsewhere, has caused it, and whether the thread was apart. The core fills it in.
	Origin Origin `json:"origin,omitzero"`
}

// Label says whose words the row is: a person's, a plugin's, or an agent's.
func (m Message) Label() Label {
	l := Label{Author: m.Author, Plugin: m.Plugin, Scope: m.Scope, Origin: m.Origin}
	if m.Plugin == "" && !l.OfAgent() && (m.Role == RoleAssistant || m.Source == "agent") {
		l.ThreadID, l.RunID = m.ThreadID, m.RunID
	}
	return l
}

// Attachment is a file that belongs to a message.
type Attachment struct {
	Name string `json:"name"`
	Type string `json:"type"` // media type, RFC 6838
	Size int64  `json:"size"` // bytes
	// Where is file:ID of a file that Harness keeps (Files), else whatever the source
	// calls it: its bytes reach nobody then.
	Where string `json:"where"`
}

// FileID returns the id of the file that the attachment refers to; false: it refers to
// none that Harness keeps.
func (a Attachment) FileID() (id string, ok bool) { return strings.CutPrefix(a.Where, fileReference) }

// SummaryMetadata is what a row of the kind MessageSummary may have as its Metadata.
type SummaryMetadata struct {
	// LeavesOut are the ids of messages before the row that it does not tell of, the newest 50 at most. A new session is shown
	// the row in place of what stands before it, and these as they are.
	LeavesOut []int64 `json:"leavesOut,omitempty"`
}

// NewMessage is one row of Messages.Append or of a hook's Effects. A row that
// the agent is told of (text, notification, summary) speaks for its plugin alone:
// its role is system, and its source the plugin's name. A row of another kind is a
// record, and its role and source say what it is a record of. No plugin writes in a
// person's name: a row has no author.
type NewMessage struct {
	Role        Role            `json:"role"`
	Kind        MessageKind     `json:"kind"`
	Source      string          `json:"source,omitempty"` // default the calling plugin
	Content     string          `json:"content"`
	Model       string          `json:"model,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
}

// recordKinds are the kinds of rows that the agent is never told of.
var recordKinds = []MessageKind{MessageStatus, MessageStep, MessageThinking, MessageToolCall, MessageToolResult}

// CheckFor says what is wrong with a row that a plugin wants to append
// (CodeInvalid). What the agent or people would take for somebody's words speaks
// for its plugin alone; a record may be of anybody, but for a person's.
func (m NewMessage) CheckFor(plugin string) error {
	if len(m.Metadata) > 0 && !isJSONObject(m.Metadata) {
		return Errorf(CodeInvalid, "metadata: want a JSON object")
	}
	if slices.Contains(recordKinds, m.Kind) {
		if m.Role != RoleAssistant && m.Role != RoleSystem {
			return Errorf(CodeInvalid, "role: %q is not accepted for the kind %s: want %s or %s", m.Role, m.Kind, RoleAssistant, RoleSystem)
		}
		return nil
	}
	switch m.Kind {
	case MessageText, MessageNotification, MessageSummary:
	default:
		return Errorf(CodeInvalid, "kind: %q is not one of text, notification, summary, status, pipeline_step, thinking, tool_call, tool_result", m.Kind)
	}
	switch {
	case m.Role != RoleSystem:
		return Errorf(CodeInvalid, "role: %q is not accepted for the kind %s: a plugin writes as %s", m.Role, m.Kind, RoleSystem)
	case m.Source != "" && m.Source != plugin:
		return Errorf(CodeInvalid, "source: %q is not accepted for the kind %s: it is the plugin's own name, %s", m.Source, m.Kind, plugin)
	case mayAct(m.Kind):
		_, err := actionsIn(m.Metadata)
		return err
	}
	return nil
}

// CheckEffectOf is CheckFor of a row in a plugin's Effects, which are records and
// notifications.
func (m NewMessage) CheckEffectOf(plugin string) error {
	if m.Kind == MessageText || m.Kind == MessageSummary {
		return Errorf(CodeInvalid, "kind: %q is not accepted in effects: want a record or a notification", m.Kind)
	}
	return m.CheckFor(plugin)
}

// Retry says which run a message is given again for.
type Retry struct {
	Of    string `json:"retryOf,omitempty"`    // the run that did not answer it
	Begun bool   `json:"retryBegun,omitempty"` // the agent may have acted on it in that run
	By    string `json:"retryBy,omitempty"`    // who asked for it, in words; empty: nobody but the thread
}

// Retry returns what the message's metadata says of the run that it is given
// again for; nothing when it is not.
func (m Message) Retry() (r Retry) {
	if len(m.Metadata) > 0 {
		_ = json.Unmarshal(m.Metadata, &r) // metadata of others has other fields
	}
	return r
}

// EditedAt returns when the message was amended last, as its metadata says (editedAt); zero:
// it is as it was submitted.
func (m Message) EditedAt() time.Time {
	var edited struct {
		At time.Time `json:"editedAt"`
	}
	if len(m.Metadata) > 0 {
		_ = json.Unmarshal(m.Metadata, &edited) // metadata of others has other fields
	}
	return edited.At
}

// MessageQuery selects messages of a thread, in the order of their ids unless
// BeforeRunID is set. Zero fields do not restrict. The id of the last message of a page,
// or with Last of the first one, is where the next page goes on, as After or Before.
type MessageQuery struct {
	ThreadID string        `json:"threadId"`
	After    int64         `json:"after,omitempty"`  // only what comes after the message of this id
	Before   int64         `json:"before,omitempty"` // only what comes before the message of this id
	Roles    []Role        `json:"roles,omitempty"`
	Kinds    []MessageKind `json:"kinds,omitempty"`
	// RunID restricts to the messages of one run: what it answers, what was stored on the
	// way, and its reply. A message that was merged into it is of the run that it came with.
	RunID string `json:"runId,omitempty"`
	// BeforeRunID restricts to messages of runs accepted before this one and
	// orders by run: what a conversation was when the run's message was its
	// newest. After and Before are of that order then, and CodeNotFound when they name
	// a message that is not stored any more.
	BeforeRunID string `json:"beforeRunId,omitempty"`
	// Last takes the newest Limit rows instead of the oldest. They are
	// returned oldest first all the same.
	Last  bool `json:"last,omitempty"`
	Limit int  `json:"limit,omitempty"` // default 100, at most 1000
}

// Submission is a message that asks for an answer. (Source, Key) makes it
// idempotent: repeated, the first one's ids are returned.
type Submission struct {
	ThreadID    string       `json:"threadId,omitempty"` // empty: the primary thread
	Source      string       `json:"source,omitempty"`   // one of the plugin's sources (Manifest.Sources); default the first
	Key         string       `json:"key"`                // unique for the source
	Author      string       `json:"author,omitempty"`
	Content     string       `json:"content"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// CauseRunID is the run that made this one, when a run did; its depth
	// plus one becomes the new run's depth. It is for a plugin that goes on with a run's
	// work after its hook has returned: of a call inside of a hook the host knows the run,
	// and takes no other. All that naming one does is that the new run counts as caused,
	// and ends earlier where depth is bounded.
	CauseRunID string          `json:"causeRunId,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// Unattended says that nobody is there to answer the agent's questions: what would be
	// asked is denied at once.
	Unattended bool `json:"unattended,omitempty"`
	// Scope is what the person may do who has typed it, as the plugin has found out: a
	// message needs ScopeChat, and a command may need more; else it is refused (CodeDenied), and
	// nothing is stored. Empty: the plugin
	// does not say, and nothing is refused for it. Of a message that a run causes it does not
	// count. The capabilities of the plugin are asked for all the same.
	Scope TokenScope `json:"scope,omitempty"`
	// Options say how the message's run is to be made; nil: as the thread says. They are a
	// plugin's: a message of a run or a task has none (CodeDenied), and a command neither (CodeInvalid).
	Options *RunOptions `json:"options,omitempty"`
}

// RunOptions are what a plugin wants of the run of one message. Such a run answers that message
// alone: others wait for its end, whatever the thread's busy mode. A retry has the same options, but is not quiet.
type RunOptions struct {
	// Purpose is under which usage is counted; empty: the name of the plugin.
	Purpose string `json:"purpose,omitempty"`
	// Session is SessionFresh for a session of its own, which the thread goes on with afterwards;
	// empty, or SessionThread, for the thread's. A fresh one knows nothing of what was said in
	// the thread. It needs what Threads.Update of the thread would.
	Session TurnSession `json:"session,omitempty"`
	// QuietReply keeps the reply in the thread: it is not carried to people. What is appended for
	// people meanwhile (Messages.Append) is.
	QuietReply bool `json:"quietReply,omitempty"`
	// QuietNotices keeps it in the thread that the run has failed, was cancelled, or waits for a
	// plugin or the plan: the plugin tells people of that itself.
	QuietNotices bool `json:"quietNotices,omitempty"`

	Model  string `json:"model,omitempty"`  // empty: the thread's
	Effort string `json:"effort,omitempty"` // empty: the thread's
	// PermissionMode and AllowedTools, where they go beyond the thread's, need threads.admin, and
	// are audited.
	PermissionMode  string        `json:"permissionMode,omitempty"`
	AllowedTools    []string      `json:"allowedTools,omitempty"`
	DisallowedTools []string      `json:"disallowedTools,omitempty"`
	CostCapUSD      float64       `json:"costCapUsd,omitempty"` // of all attempts together; 0: none
	Timeout         time.Duration `json:"timeout,omitempty"`    // nanoseconds, of each turn; 0: the daemon's
}

// Accepted is the answer to a Submission. It is given only after one
// transaction has stored the message and its run.
type Accepted struct {
	ThreadID  string `json:"threadId"`
	MessageID int64  `json:"messageId"`
	RunID     string `json:"runId"`
	Existed   bool   `json:"existed"` // the key was known: these are the first one's ids
}

// DeliveryState says how far a delivery has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliverySending   DeliveryState = "sending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryDead      DeliveryState = "dead"
)

// Delivery is a message on its way to a person through the plugin of its
// target. It is attempted at least once; its ID is the same at every attempt,
// so that a plugin can recognise one it has already carried out.
type Delivery struct {
	ID            string        `json:"id"`
	MessageID     int64         `json:"messageId"`
	Plugin        string        `json:"plugin"` // carries it, to Place
	Place         string        `json:"place"`  // a channel, a chat; the plugin gives it its meaning
	State         DeliveryState `json:"state"`
	Attempt       int           `json:"attempt"`
	NextAttemptAt time.Time     `json:"nextAttemptAt,omitzero"`
	LastError     string        `json:"lastError,omitempty"`
	ExternalID    string        `json:"externalId,omitempty"`
	CreatedAt     time.Time     `json:"createdAt"`
}

// DeliveryQuery selects deliveries, oldest first. Zero fields do not restrict.
type DeliveryQuery struct {
	State  DeliveryState `json:"state,omitempty"`
	Plugin string        `json:"plugin,omitempty"`
	Place  string        `json:"place,omitempty"`
	Newest bool          `json:"newest,omitempty"` // newest first
	After  string        `json:"after,omitempty"`  // id of the last delivery of the page before
	Limit  int           `json:"limit,omitempty"`  // default 100, at most 1000
}

// DeliverRequest is a Delivery with what it carries.
type DeliverRequest struct {
	Call     Call
	Delivery Delivery
	Thread   Thread // whose message it is; where it is delivered is Delivery.Place
	Message  Message
	// Approval is what the message asks people, as it is at this moment; nil: it asks
	// nothing. The plugin offers its choices, hands the answer in (Approvals.Decide), and
	// takes the offer away when it is over (EventApprovalResolved).
	Approval *Approval
}

// DeliverResponse acknowledges a delivery.
type DeliverResponse struct {
	ExternalID string // the id of the message at the target
}

// DeliverHook is implemented by plugins that carry messages to people: the
// replies in threads of the sources that Manifest.Sources names, and what is
// addressed to PLUGIN:TARGET. An error with CodeInvalid, CodeNotFound or
// CodeDenied is permanent; any other is retried.
type DeliverHook interface {
	Deliver(ctx context.Context, request *DeliverRequest) (*DeliverResponse, error)
}

// Target is where something for people goes: to a plugin that carries it, with
// the plugin's own name for the place (a channel, a chat), or to where a thread's
// people are. The zero value names nothing.
type Target struct {
	Plugin   string // carries it; empty when ThreadID is set
	Place    string // the plugin gives it its meaning; may be empty
	ThreadID string
}

const threadTarget = "thread:"

// ParseTarget reads PLUGIN:PLACE, PLUGIN, or thread:ID; CodeInvalid when text is
// none of them. The empty text is the zero Target.
func ParseTarget(text string) (Target, error) {
	if id, ok := strings.CutPrefix(text, threadTarget); ok && id != "" {
		return Target{ThreadID: id}, nil
	}
	plugin, place, _ := strings.Cut(text, ":")
	if text != "" && !pluginName.fits(plugin) || plugin == "thread" {
		return Target{}, Errorf(CodeInvalid, "target %q: want PLUGIN:PLACE, as in discord:CHANNEL, or thread:ID", text)
	}
	return Target{Plugin: plugin, Place: place}, nil
}

// String returns the target as ParseTarget reads it.
func (t Target) String() string {
	switch {
	case t.ThreadID != "":
		return threadTarget + t.ThreadID
	case t.Place != "":
		return t.Plugin + ":" + t.Place
	}
	return t.Plugin
}

// MarshalText is String, for JSON.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTarget, for JSON.
func (t *Target) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTarget(string(text))
	return err
}
