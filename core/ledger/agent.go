package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// AgentRequest is one turn asked of the agent. What it leaves open is as the
// daemon has it.
type AgentRequest struct {
	// RunID is the run that the turn is of, which has one at a time: by it the turn
	// is steered, and its calls of tools know whose they are.
	RunID    string `json:"runId,omitempty"`
	ThreadID string `json:"threadId,omitempty"` // keys the conversation's warm process
	// Fresh asks for a session of the turn's own, which is forgotten: its process
	// ends with the turn, and nothing can be resumed. Such turns of one thread run
	// side by side, and beside the conversation. Resume is not for them.
	Fresh     bool   `json:"fresh,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	// Resume continues SessionID; otherwise a new session takes that id (or
	// one of the agent's choosing when it is empty).
	Resume         bool   `json:"resume,omitempty"`
	Prompt         string `json:"prompt"`
	Purpose        string `json:"purpose,omitempty"` // pipeline, task, validation, summary, ...
	Model          string `json:"model,omitempty"`
	Effort         string `json:"effort,omitempty"`
	PermissionMode string `json:"permissionMode,omitempty"`
	Cwd            string `json:"cwd,omitempty"`
	// Apart says that the turn is for people who are not to know what the workspace holds.
	Apart              bool   `json:"apart,omitempty"`
	AppendSystemPrompt string `json:"appendSystemPrompt,omitempty"`
	// AllowedTools are rules of what is allowed besides what the daemon allows. They
	// restrict nothing: what a rule of DisallowedTools names is not offered, or is
	// denied, whoever allows it.
	AllowedTools    []string `json:"allowedTools,omitempty"`
	DisallowedTools []string `json:"disallowedTools,omitempty"`
	// JSONSchema is what InvokeResult.StructuredOutput fits, which is an object. A
	// model may refuse to give one: the turn succeeds, with what it said instead in
	// its text.
	JSONSchema json.RawMessage `json:"jsonSchema,omitempty"`
	// CostCapUSD interrupts the turn once it has come to as much, at the latest when
	// the API call that reaches it has ended; 0: no cap. A turn that ends with that
	// call has its answer all the same; another fails with FailureBudget.
	CostCapUSD float64 `json:"costCapUsd,omitempty"`
	// TopUp is asked for a higher cap once the turn has come to its cap, and returns the cap from
	// then on; the same one: there is no more. It is not called twice at a time, nor once the turn
	// has ended. nil: the cap stays.
	TopUp func(ctx context.Context) (capUSD float64) `json:"-"`
	// CostMostUSD is what TopUp may bring the cap to at most; 0: any amount.
	CostMostUSD float64 `json:"-"`
	// Ask is asked about what no rule allows; nil: that is denied.
	Ask Ask `json:"-"`
	// Account is the account of the agent's that the turn is of; empty: the default one.
	Account string `json:"account,omitempty"`
	// Files came with the messages of the prompt, which names them. Images and documents
	// among them are shown to the model, as far as it takes them.
	Files []AgentFile `json:"files,omitempty"`
	// In is a directory that the agent reads unasked, Out one that it also writes to
	// unasked, for what is to go with its reply. Empty: it has none.
	In  string `json:"in,omitempty"`
	Out string `json:"out,omitempty"`
	// Timeout ends the turn; 0, or longer than the daemon's: the daemon's.
	Timeout time.Duration `json:"timeout,omitempty"` // nanoseconds
}

// AgentRun is the record of one invocation of the agent, written by the core.
type AgentRun struct {
	ID       int64           `json:"id"`
	RunID    string          `json:"runId,omitempty"`
	TaskID   string          `json:"taskId,omitempty"`
	ThreadID string          `json:"threadId,omitempty"`
	Plugin   string          `json:"plugin,omitempty"` // that asked for the turn or submitted its message; empty: a person, or a task
	Cron     string          `json:"cron,omitempty"`   // the scheduled job whose prompt it answers; empty: none
	Purpose  string          `json:"purpose"`
	Model    string          `json:"model"`
	Usage    pluginsdk.Usage `json:"usage"`
	CostUSD  float64         `json:"costUsd"`
	Account  string          `json:"account,omitempty"`
	// Notional says that the account has a plan: nobody is billed CostUSD. CostUnsure says
	// that it may be wrong.
	Notional   bool                   `json:"notional,omitempty"`
	CostUnsure bool                   `json:"costUnsure,omitempty"`
	Models     []pluginsdk.ModelUsage `json:"models,omitempty"` // only of a turn that more than one model has answered
	Duration   time.Duration          `json:"duration"`         // nanoseconds
	Success    bool                   `json:"success"`
	Error      string                 `json:"error,omitempty"`
	StartedAt  time.Time              `json:"startedAt"`
}

// NewTurn is a turn of the agent on its way into the ledger.
type NewTurn struct {
	RunID   string // made by the caller, as in Acceptance
	Plugin  string // that asks for it
	Request pluginsdk.StartTurnRequest
	// CauseRunID is the run whose hook or tool asks for it; empty: none.
	CauseRunID string
	TraceID    string
	MaxDepth   int // as in Acceptance
	// MaxWaiting, when greater than 0, refuses (CodeExhausted) a turn of a plugin that
	// has that many waiting.
	MaxWaiting int
}

// Beside reports whether the turn is at work beside its thread, if it names one: with
// a session of its own, in nobody's queue.
func (t NewTurn) Beside() bool { return t.Request.Session != pluginsdk.SessionThread }

// AcceptedTurn is what a Turn became.
type AcceptedTurn struct {
	RunID    string
	ThreadID string // where it is shown; may be empty
	Existed  bool   // the key was known
	Queue    Queue
}

// Queue is where runs wait for one another: that of a thread, of the commands of one name
// beside a thread, or of a single turn that is at work beside its thread.
type Queue struct {
	ThreadID string
	Command  string // the name of the commands beside the thread; empty: it is the thread's own
	TurnID   string // the run of the turn; the others are then empty
}

// Beside reports whether the queue's runs are beside their thread.
func (q Queue) Beside() bool { return q.TurnID != "" || q.Command != "" }

// MessageOfTurn is what a turn has in place of a message: what hooks and the prompt
// are made of. Its ID is that of the newest message of the turn's thread when it was
// asked.
func MessageOfTurn(r Run) pluginsdk.Message {
	if r.Turn == nil {
		return pluginsdk.Message{}
	}
	return pluginsdk.Message{
		ID: r.MessageID, ThreadID: r.ThreadID, RunID: r.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText,
		Source: r.Plugin, Plugin: r.Plugin, Content: r.Turn.Prompt, CreatedAt: r.QueuedAt,
	}
}
