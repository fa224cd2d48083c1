package pluginsdk

import "time"

// RunKind says which way a run takes through the pipeline.
type RunKind string

// The kinds of run. A command run is one that a person typed and a plugin or
// the core answers: no agent. A turn is one that a plugin asked of the agent
// (Agent.Start).
const (
	RunMessage RunKind = "message"
	RunCommand RunKind = "command"
	RunTurn    RunKind = "turn"
)

// RunState says where a run is in its life.
type RunState string

// The states of a run. Succeeded, failed, cancelled and merged are final.
const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"
	RunSucceeded RunState = "succeeded"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
	RunMerged    RunState = "merged"
)

// Final reports whether nothing more happens to a run in this state, but for one
// case: a merged run whose message the other run's agent was never told is queued
// again.
func (s RunState) Final() bool {
	switch s {
	case RunSucceeded, RunFailed, RunCancelled, RunMerged:
		return true
	case RunQueued, RunRunning, RunWaiting:
		return false
	}
	return false
}

// RunStep is how far a run is known, durably, to have come.
type RunStep string

// The durable steps. A run found at StepAccepted is run again; at
// StepInvoking the agent may have acted; at StepInvoked its result is stored
// and it is not called again.
const (
	StepAccepted RunStep = ""
	StepInvoking RunStep = "invoking"
	StepInvoked  RunStep = "invoked"
)

// Run is one trip of a message through the pipeline.
type Run struct {
	ID            string         `json:"id"`
	ThreadID      string         `json:"threadId"`
	MessageID     int64          `json:"messageId"`
	Kind          RunKind        `json:"kind"`
	State         RunState       `json:"state"`
	MergedInto    string         `json:"mergedInto,omitempty"` // the run that answers this one's message too
	Absorbed      []int64        `json:"absorbed,omitempty"`   // ids of the messages of the runs merged into this one, in order
	CauseRunID    string         `json:"causeRunId,omitempty"`
	Depth         int            `json:"depth"`
	Step          RunStep        `json:"step"`
	Attempt       int            `json:"attempt"` // 1 for the first
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"`
	TraceID       string         `json:"traceId,omitempty"`
	SessionID     string         `json:"sessionId,omitempty"`
	Result        *InvokeResult  `json:"result,omitempty"`
	Events        []StreamEvent  `json:"events,omitempty"`
	Steps         []PipelineStep `json:"steps,omitempty"`
	Outcomes      []Outcome      `json:"outcomes,omitempty"` // of the commands in the result, by index
	Failures      []Failed       `json:"failures,omitempty"` // the attempts that failed, the last few
	Error         string         `json:"error,omitempty"`
	Usage         Usage          `json:"usage"`
	CostUSD       float64        `json:"costUsd"`
	QueuedAt      time.Time      `json:"queuedAt"`
	StartedAt     time.Time      `json:"startedAt,omitzero"`
	FinishedAt    time.Time      `json:"finishedAt,omitzero"`

	// These are a turn's. Its MessageID is the newest message of its thread when it was
	// asked for, which is where it stands among the thread's runs.
	Plugin  string `json:"plugin,omitempty"`  // that has asked for it
	Purpose string `json:"purpose,omitempty"` // as in StartTurnRequest
	TaskID  string `json:"taskId,omitempty"`
}

// PipelineStep records that a run came past a step.
type PipelineStep struct {
	Step      string    `json:"step"` // onMessage, onBeforeInvoke, invoking, onAfterInvoke
	Detail    string    `json:"detail,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// Outcome is what became of one command of a run.
type Outcome struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Plugin  string `json:"plugin,omitempty"` // that handled it; empty also when the core did
	Handled bool   `json:"handled"`
	Reply   string `json:"reply,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Failed is an attempt of a run that failed and was followed by another.
type Failed struct {
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
	At      time.Time `json:"at"`
}

// Queue says what becomes of the messages that wait in a thread when it is
// stopped.
type Queue string

// What Runs.Stop does with what waits.
const (
	KeepQueue Queue = "keep" // it is answered next
	DropQueue Queue = "drop" // it is cancelled
)

// Stopped is what Runs.Stop did.
type Stopped struct {
	// RunID is the run that was interrupted, or that waited to be tried again
	// and was given up; empty when there was none. An interrupted one ends a
	// moment later.
	RunID   string   `json:"runId,omitempty"`
	Dropped []string `json:"dropped,omitempty"` // ids of the runs that were cancelled in the queue
}

// RunQuery selects runs, oldest first unless Newest is set. Zero fields do not restrict.
type RunQuery struct {
	ThreadID   string     `json:"threadId,omitempty"`
	States     []RunState `json:"states,omitempty"`
	CauseRunID string     `json:"causeRunId,omitempty"` // only those that this run caused
	Newest     bool       `json:"newest,omitempty"`     // newest first
	After      string     `json:"after,omitempty"`      // id of the last run of the page before
	Limit      int        `json:"limit,omitempty"`      // default 100, at most 1000
}
