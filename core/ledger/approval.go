package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ToolAsk is a question of the agent's process in the middle of a turn: may it call the
// tool so.
type ToolAsk struct {
	Tool      string
	ToolUseID string
	Input     json.RawMessage
	Cwd       string // where the agent works
	About     string // what the agent says of the call
	Reason    string // why the agent's process asks; empty: nothing allows it
	// Guarded says that the call changes what decides about permissions: no rule allows
	// it.
	Guarded bool
}

// AgentCall is a call of a tool that the agent's process may be about to run without a question.
type AgentCall struct {
	Tool     string
	Input    json.RawMessage
	Cwd      string   // where the agent works
	Readable []string // directories whose files it may read beside that
	Rules    []string // of operators, that allow, as the agent's program writes them
}

// ToolAnswer answers a ToolAsk.
type ToolAnswer struct {
	Allow bool
	Input json.RawMessage // what the tool is called with instead; empty: as it was asked
	Words string          // to the agent, when it is denied
	Asked bool            // people were asked
	// Park says that there is no answer yet, and that the turn is to end without one: the
	// run waits, and another attempt goes on with the answer.
	Park bool
}

// ErrWithdrawn is the cause with which the context of a question ends that the agent's
// process has taken back.
var ErrWithdrawn = errors.New("the question was taken back")

// Ask asks people, and returns when there is an answer or ctx ends: the question is
// withdrawn then. Several of a turn may be asked at a time.
type Ask func(ctx context.Context, ask ToolAsk) ToolAnswer

// Asking is a turn that asks: whose questions they are.
type Asking struct {
	Thread     pluginsdk.Thread
	Fence      Fence
	RunID      string
	Attempt    int
	Turn       bool // a plugin has asked for it
	Unattended bool // nobody is there to answer
}

// Approval is an approval with what the core keeps of it.
type Approval struct {
	pluginsdk.Approval

	Digest  string // of the tool and its input: the same call has the same
	Attempt int    // of the run, in which it was asked
	// Offers are the rules that its choices make, by the choice.
	Offers map[string]pluginsdk.ApprovalRule
	// MessageID is the row of the thread that tells people of it.
	MessageID int64
}

// MaxAnswerWords is how long the words of an answer may be, in bytes.
const MaxAnswerWords = 16 << 10

// ApprovalDecision is an answer to an approval that is open.
type ApprovalDecision struct {
	ID      string
	State   pluginsdk.ApprovalState
	Choice  string
	Answers []pluginsdk.QuestionAnswer
	Words   string
	By      By
	// Rule is what the answer allows from now on; nil: nothing.
	Rule *pluginsdk.ApprovalRule
	Who  string // as the audit log says it
	// Said is the line about it in the thread.
	Said string
	At   time.Time
}

// ApprovalDecided is what became of an approval. Requeued says that its run waited for
// it, and goes on.
type ApprovalDecided struct {
	Approval pluginsdk.Approval
	Requeued bool
}
