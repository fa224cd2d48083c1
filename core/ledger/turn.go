package ledger

import (
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Turn is a turn of the agent on its way into the ledger.
type Turn struct {
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
func (t Turn) Beside() bool { return t.Request.Session != pluginsdk.SessionThread }

// AcceptedTurn is what a Turn became.
type AcceptedTurn struct {
	RunID    string
	ThreadID string // where it is shown; may be empty
	Existed  bool   // the key was known
	Queue    Queue
}

// Queue is where runs wait for one another: that of a thread, or of a single turn that
// is at work beside its thread.
type Queue struct {
	ThreadID string
	TurnID   string // the run of the turn; ThreadID is then empty
}

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
