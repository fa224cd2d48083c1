package pluginsdk

import (
	"encoding/json"
	"time"
)

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

// known reports whether this version of the contract has the kind.
func (k RunKind) known() bool {
	switch k {
	case RunMessage, RunCommand, RunTurn:
		return true
	}
	return false
}

// RunState says where a run is in its life.
type RunState string

// The states of a run. Succeeded, failed, cancelled and merged are final.
const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting" // for a person's answer (Approval), without a process of the agent
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
	OnBehalfOf    OnBehalf       `json:"onBehalfOf,omitzero"` // who stands at the root of the causes; zero: nothing has caused the run
	Step          RunStep        `json:"step"`
	Attempt       int            `json:"attempt"` // 1 for the first
	NextAttemptAt time.Time      `json:"nextAttemptAt,omitzero"`
	TraceID       string         `json:"traceId,omitempty"`
	SessionID     string         `json:"sessionId,omitempty"`
	Result        *InvokeResult  `json:"result,omitempty"`
	Events        []StreamEvent  `json:"events,omitempty"`
	Steps         []PipelineStep `json:"steps,omitempty"`
	Hooks         []HookCall     `json:"hooks,omitempty"`    // what plugins were asked, in the order in which it began; only of a single run
	Outcomes      []Outcome      `json:"outcomes,omitempty"` // of the commands in the result, by index
	Failures      []Failed       `json:"failures,omitempty"` // the attempts that failed, the last few
	Error         string         `json:"error,omitempty"`
	Usage         Usage          `json:"usage"`
	CostUSD       float64        `json:"costUsd"`               // of all attempts
	NotionalUSD   float64        `json:"notionalUsd,omitempty"` // what of CostUSD is of turns on a plan: nobody is billed that
	CostUnsure    bool           `json:"costUnsure,omitempty"`  // CostUSD may be wrong: that of at least one of its turns may
	QueuedAt      time.Time      `json:"queuedAt"`
	StartedAt     time.Time      `json:"startedAt,omitzero"`
	FinishedAt    time.Time      `json:"finishedAt,omitzero"`

	// These are a turn's. Its MessageID is the newest message of its thread when it was
	// asked for, which is where it stands among the thread's runs.
	Plugin  string `json:"plugin,omitempty"`  // that has asked for it
	Purpose string `json:"purpose,omitempty"` // as in StartTurnRequest; of a message's run as in RunOptions, and empty without
	TaskID  string `json:"taskId,omitempty"`

	// Beside says that the run is in no thread's queue: it waits for no other run of its thread, and
	// none waits for it. That are turns with a session of their own, and typed commands that concern
	// no conversation (CommandSpec.Beside).
	Beside bool `json:"beside,omitempty"`

	// Parked says why and until when a queued run waits for a window of the account's plan;
	// nil: it does not.
	Parked *Parked `json:"parked,omitempty"`
	// Override is what a person has said of the run when it was parked; nil: nothing.
	Override *RunOverride `json:"override,omitempty"`
	// Account is the one that its last turn of the agent was of; empty: it has had none.
	Account string `json:"account,omitempty"`
}

// OnBehalf is where a chain of runs began that have caused one another.
type OnBehalf struct {
	// Source is that of the first run's message (Submission.Source), or of a turn the plugin that
	// asked for it.
	Source string `json:"source"`
	Author string `json:"author,omitempty"` // of that message; empty: no person's
}

// Parked says what a run waits for that the plan of its account does not let through, or a gate
// (Wait). It goes on by itself.
type Parked struct {
	Reason  string `json:"reason"` // a sentence for people
	Account string `json:"account"`
	Window  string `json:"window"`          // PlanWindow.Name
	Model   string `json:"model,omitempty"` // that the window is of; empty: all models
	// Plugin is whose gate does not let the run through; empty: the plan does not.
	Plugin string `json:"plugin,omitempty"`
	// Budget is what the run waits for that such a gate does not let through (Wait.For).
	Budget string    `json:"budget,omitempty"`
	Until  time.Time `json:"until,omitzero"` // it is tried again then; zero, of a budget: when that is raised
	Since  time.Time `json:"since,omitzero"` // it was parked then, for the first time of those that followed one another
}

// RunOverride is what a person has said of a parked run: it goes on at once, with another
// model, with another account, or (the zero one) as it is. What is known of the plan stands in
// its way no more: whether it is let through, the agent finds out.
type RunOverride struct {
	Model   string `json:"model,omitempty"`   // empty: the one that it has
	Account string `json:"account,omitempty"` // a fallback; empty: the one that it has
}

// PipelineStep records that a run came past a step.
type PipelineStep struct {
	Step      string    `json:"step"` // onMessage, onBeforeInvoke, invoking, onAfterInvoke
	Detail    string    `json:"detail,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// CallState says how a hook call ended, or that it has not.
type CallState string

// The states of a hook call.
const (
	CallAnswered   CallState = "answered"
	CallDenied     CallState = "denied"      // by a gate, in its own words
	CallRefused    CallState = "refused"     // a command that the plugin does not carry out, in its own words: see Code.Refuses
	CallFailed     CallState = "failed"      // an error, a deadline, a death; or it was not asked although it must not be passed over
	CallPassedOver CallState = "passed_over" // it was not asked: it does not serve, or the run's time for hooks was used up
	CallWaiting    CallState = "waiting"     // it has not ended: the run waits for it, and does nothing else
)

// HookCall is a call of a plugin in a run. A run keeps the first 200 calls of all its
// attempts, or fewer when they have long errors; the last element then says, in Omitted
// alone, how many calls came after them. The calls are stored with the run's commits: of an
// attempt that ended with the daemon, those since the last one are missing.
type HookCall struct {
	Hook      Hook          `json:"hook"`
	Plugin    string        `json:"plugin"`
	Attempt   int           `json:"attempt"` // of the run
	StartedAt time.Time     `json:"startedAt"`
	Duration  time.Duration `json:"duration"` // nanoseconds, with the wait for a plugin that was about to serve
	State     CallState     `json:"state"`
	Error     string        `json:"error,omitempty"`   // why it was denied, refused, failed or passed over: the first 200 bytes
	Omitted   int           `json:"omitted,omitempty"` // 0 but for the last element
}

// Outcome is what became of one command of a run.
type Outcome struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Plugin  string `json:"plugin,omitempty"` // that handled it; empty also when the core did
	Handled bool   `json:"handled"`
	Reply   string `json:"reply,omitempty"`
	Error   string `json:"error,omitempty"`
	// Refused says that Error is the answer to who gave the command, and no fault of the plugin: see Code.Refuses.
	Refused bool `json:"refused,omitempty"`
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
	IDs        []string   `json:"ids,omitempty"` // these, at most 100; those that are not there are left out
	ThreadID   string     `json:"threadId,omitempty"`
	States     []RunState `json:"states,omitempty"`
	CauseRunID string     `json:"causeRunId,omitempty"` // only those that this run caused
	Newest     bool       `json:"newest,omitempty"`     // newest first
	After      string     `json:"after,omitempty"`      // id of the last run of the page before
	Limit      int        `json:"limit,omitempty"`      // default 100, at most 1000
}

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
	FailureParked         FailureKind = "parked"          // the turn was ended until a person has answered what it asked
	FailurePlan           FailureKind = "plan"            // a window of the account's plan is used up
	FailureOther          FailureKind = "other"
)

// Failure is why a turn has no answer.
type Failure struct {
	Kind      FailureKind `json:"kind"`
	Message   string      `json:"message"` // words a person can read
	APIStatus int         `json:"apiStatus,omitempty"`
	Retryable bool        `json:"retryable"`
	Parked    *Parked     `json:"parked,omitempty"` // of FailurePlan: what is used up, and until when; nil for others
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
	Demo             bool            `json:"demo,omitempty"` // the demo agent has answered: no model has
	Account          string          `json:"account,omitempty"`
	Notional         bool            `json:"notional,omitempty"`   // the account has a plan: nobody is billed CostUSD
	CostUnsure       bool            `json:"costUnsure,omitempty"` // CostUSD may be wrong, as of a turn that was killed
	Models           []ModelUsage    `json:"models,omitempty"`     // only of a turn that more than one model has answered
}

// ModelUsage is what one model had of a turn.
type ModelUsage struct {
	Model   string  `json:"model"`
	Usage   Usage   `json:"usage"`
	CostUSD float64 `json:"costUsd"`
}
