package pluginsdk

import (
	"encoding/json"
	"time"
)

// EventType names an event.
type EventType string

// The event types of the core. Each has a payload type below. A plugin
// publishes events of its own only under its name (NAME:...).
const (
	EventChatMessage       EventType = "chat:message"       // ChatMessage
	EventChatAmended       EventType = "chat:amended"       // ChatMessage
	EventPipelineStart     EventType = "pipeline:start"     // RunRef
	EventPipelineStep      EventType = "pipeline:step"      // StepEvent
	EventPipelineStream    EventType = "pipeline:stream"    // StreamPayload
	EventPipelineComplete  EventType = "pipeline:complete"  // CompletePayload
	EventPipelineError     EventType = "pipeline:error"     // ErrorPayload
	EventPipelineRetry     EventType = "pipeline:retry"     // RetryPayload
	EventPipelineMerged    EventType = "pipeline:merged"    // MergedPayload
	EventPipelineWaiting   EventType = "pipeline:waiting"   // WaitingPayload
	EventPipelineParked    EventType = "pipeline:parked"    // ParkedPayload
	EventPlanWindow        EventType = "plan:window"        // PlanPayload
	EventDelivery          EventType = "delivery:state"     // DeliveryPayload
	EventThreadCreated     EventType = "thread:created"     // ThreadPayload
	EventThreadUpdated     EventType = "thread:updated"     // ThreadPayload
	EventThreadDeleted     EventType = "thread:deleted"     // ThreadPayload
	EventThreadMessage     EventType = "thread:message"     // MessagePayload
	EventTaskCreated       EventType = "task:created"       // TaskPayload
	EventTaskProgress      EventType = "task:progress"      // TaskPayload
	EventTaskEvaluated     EventType = "task:evaluated"     // TaskPayload
	EventTaskValidated     EventType = "task:validated"     // TaskPayload
	EventTaskFailed        EventType = "task:failed"        // TaskPayload
	EventTaskCancelled     EventType = "task:cancelled"     // TaskPayload
	EventApprovalRequested EventType = "approval:requested" // ApprovalPayload
	EventApprovalResolved  EventType = "approval:resolved"  // ApprovalPayload
	EventCronChanged       EventType = "cron:changed"       // CronPayload
	EventPluginState       EventType = "plugin:state"       // PluginStatePayload
	EventTokenRevoked      EventType = "token:revoked"      // TokenPayload
	EventResync            EventType = "resync"             // no payload: events were missed, read the database
)

// Position is a place in the stream of events. Positions of different boots
// cannot be compared.
type Position struct {
	Boot string `json:"boot"`
	Seq  uint64 `json:"seq"`
}

// EventRule selects events. The fields that are set must all match; an empty field matches
// anything. What a daemon cannot find out of an event, such as the kind of a thread that is
// gone, matches.
type EventRule struct {
	// Types are event types, as in Manifest.Events: a trailing * matches any rest.
	Types []string `json:"types,omitempty"`
	// Threads are ids: events of one of these threads.
	Threads []string `json:"threads,omitempty"`
	// ThreadKinds matches events of a thread of one of the kinds. Threads of tasks are of the kind ThreadTask.
	ThreadKinds []ThreadKind `json:"threadKinds,omitempty"`
	// RunKinds matches events about a run of one of the kinds: those whose payload says the
	// kind of a run (pipeline:*).
	RunKinds []RunKind `json:"runKinds,omitempty"`
	// Own matches events of threads of the sources that the manifest names
	// (Manifest.SpeaksFor), whoever has them.
	Own bool `json:"own,omitempty"`
}

// Event is one thing that happened.
type Event struct {
	Type      EventType       `json:"event"`
	ThreadID  string          `json:"threadId,omitempty"` // for filtering; empty when of no thread
	Data      json.RawMessage `json:"data,omitempty"`
	Timestamp time.Time       `json:"timestamp"`
	Boot      string          `json:"boot"`
	Seq       uint64          `json:"seq"`
}

// Delta reports whether the event is a fragment of the agent's output that a
// later event repeats whole: what a slow reader can do without.
func (e Event) Delta() bool {
	if e.Type != EventPipelineStream {
		return false
	}
	var payload struct {
		Event struct {
			Type StreamEventType `json:"type"`
		} `json:"event"`
	}
	return json.Unmarshal(e.Data, &payload) == nil && StreamEvent{Type: payload.Event.Type}.Delta()
}

// ChatMessage is the payload of EventChatMessage, and of EventChatAmended: the message says
// this from now on.
type ChatMessage struct {
	ThreadID  string `json:"threadId"`
	MessageID int64  `json:"messageId"`
	RunID     string `json:"runId"`
	Source    string `json:"source"`
	Author    string `json:"author,omitempty"`
	Content   string `json:"content"`
}

// RunRef is the payload of EventPipelineStart.
type RunRef struct {
	ThreadID  string `json:"threadId"`
	RunID     string `json:"runId"`
	MessageID int64  `json:"messageId"`
	Attempt   int    `json:"attempt"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p RunRef) OfRun() RunKind { return p.Kind }

// StepEvent is the payload of EventPipelineStep.
type StepEvent struct {
	ThreadID  string    `json:"threadId"`
	RunID     string    `json:"runId"`
	Step      string    `json:"step"`
	Detail    string    `json:"detail,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p StepEvent) OfRun() RunKind { return p.Kind }

// StreamPayload is the payload of EventPipelineStream.
type StreamPayload struct {
	ThreadID string      `json:"threadId"`
	RunID    string      `json:"runId"`
	Event    StreamEvent `json:"event"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p StreamPayload) OfRun() RunKind { return p.Kind }

// CompletePayload is the payload of EventPipelineComplete. It is broadcast
// after the reply is committed, never before.
type CompletePayload struct {
	ThreadID        string `json:"threadId"`
	RunID           string `json:"runId"`
	MessageID       int64  `json:"messageId"` // the reply; 0 when there is none
	CommandsHandled int    `json:"commandsHandled"`
	DurationMS      int64  `json:"durationMs"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p CompletePayload) OfRun() RunKind { return p.Kind }

// ErrorPayload is the payload of EventPipelineError: the run has finally
// failed, been denied or been cancelled.
type ErrorPayload struct {
	ThreadID  string `json:"threadId"`
	RunID     string `json:"runId"`
	MessageID int64  `json:"messageId"` // the status row that says so
	Error     string `json:"error"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p ErrorPayload) OfRun() RunKind { return p.Kind }

// RetryPayload is the payload of EventPipelineRetry: an attempt failed and
// another follows.
type RetryPayload struct {
	ThreadID string    `json:"threadId"`
	RunID    string    `json:"runId"`
	Attempt  int       `json:"attempt"`
	Error    string    `json:"error"`
	NextAt   time.Time `json:"nextAt"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p RetryPayload) OfRun() RunKind { return p.Kind }

// MergedPayload is the payload of EventPipelineMerged: the run's message is
// answered by another run.
type MergedPayload struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	Into     string `json:"into"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p MergedPayload) OfRun() RunKind { return p.Kind }

// WaitingPayload is the payload of EventPipelineWaiting: the run waits for a
// plugin that is slow.
type WaitingPayload struct {
	ThreadID string    `json:"threadId"`
	RunID    string    `json:"runId"`
	Plugin   string    `json:"plugin"`
	Hook     Hook      `json:"hook"`
	Since    time.Time `json:"since"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p WaitingPayload) OfRun() RunKind { return p.Kind }

// ParkedPayload is the payload of EventPipelineParked: the run waits for a window of its
// account's plan.
type ParkedPayload struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	Parked   Parked `json:"parked"`
	// Kind is the kind of the run; empty when it is not known.
	Kind RunKind `json:"kind,omitempty"`
}

// OfRun returns the kind of the run that the event is about.
func (p ParkedPayload) OfRun() RunKind { return p.Kind }

// PlanPayload is the payload of EventPlanWindow: a window of a plan has changed its status,
// has passed 75 or 90 %, or has begun anew.
type PlanPayload struct {
	Window PlanWindow `json:"window"`
}

// CronPayload is the payload of EventCronChanged: a scheduled job was made, changed, turned on or
// off, or removed, by whomever. The event comes within about a second.
type CronPayload struct{}

// DeliveryPayload is the payload of EventDelivery: a delivery has reached the
// person, waits for another attempt, or is dead.
type DeliveryPayload struct {
	DeliveryID string        `json:"deliveryId"`
	ThreadID   string        `json:"threadId"`
	MessageID  int64         `json:"messageId"`
	Plugin     string        `json:"plugin"`
	State      DeliveryState `json:"state"`
	Attempt    int           `json:"attempt"`
	Error      string        `json:"error,omitempty"`
}

// ThreadPayload is the payload of the thread events.
type ThreadPayload struct {
	ThreadID string `json:"threadId"`
	Name     string `json:"name,omitempty"`
}

// MessagePayload is the payload of EventThreadMessage.
type MessagePayload struct {
	ThreadID  string      `json:"threadId"`
	MessageID int64       `json:"messageId"`
	Role      Role        `json:"role"`
	Kind      MessageKind `json:"kind"`
}

// TaskPayload is the payload of the task events: a task was made; has begun, was
// iterated, handed in, suspended, decided on, or waits for a plugin (progress); was accepted,
// rejected, or left to a person (evaluated); is completed (validated); has failed or was
// cancelled, which its parent was told.
type TaskPayload struct {
	TaskID   string     `json:"taskId"`
	ThreadID string     `json:"threadId"`
	Status   TaskStatus `json:"status"`
	Detail   string     `json:"detail,omitempty"`
	// Plugin is the one that has made the task, and ParentTaskID the task above it, if there
	// is one.
	Plugin       string `json:"plugin,omitempty"`
	ParentTaskID string `json:"parentTaskId,omitempty"`
}

// PluginStatePayload is the payload of EventPluginState.
type PluginStatePayload struct {
	Name      string      `json:"name"`
	State     PluginState `json:"state"`
	LastError string      `json:"lastError,omitempty"`
}
