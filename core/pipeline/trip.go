package pipeline

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// trip is the state of one attempt of a run on its way through the steps.
type trip struct {
	thread  ledger.Thread
	tools   []string // that the thread's task allows the agent
	message pluginsdk.Message
	run     ledger.Run
	fence   ledger.Fence
	work    context.Context // ends when the daemon stops

	absorbed []pluginsdk.Message // of the runs merged into this one
	steering steering

	on hooks.Occasion
	// beside is on for messages that are put into the running turn. The time that
	// plugins take for them is not the run's, whose own hooks come later. It is bounded
	// all the same: step 6 waits for what is then still told.
	beside  hooks.Occasion
	pending pending

	began       time.Time
	start       *telling // nil: no OnPipelineStart is under way
	started     bool     // OnPipelineStart was fired, so OnPipelineComplete must be
	interrupted bool     // an earlier attempt may have reached the agent

	sessionID      string // the session of this turn
	resume         bool   // it exists already
	sessionDropped bool   // the agent did not know it; also in an earlier attempt
	seen           int64  // newest message that the prompt tells of

	prompt     string
	steps      []pluginsdk.PipelineStep
	events     []pluginsdk.StreamEvent
	eventBytes int
	result     *pluginsdk.InvokeResult
	answered   bool // 5b has stored an answer
	invokedAt  time.Time
	costCap    float64 // in USD, the lowest that the gate has set; 0: none
	reserved   []ledger.Reservation
	capLeft    float64 // of the run's cap, for this attempt; 0: there is none

	commands []ledger.Command
	outcomes []pluginsdk.Outcome
	reply    string
	// emptied is the plugin that left nothing of a reply that there was.
	emptied string
}

func newTrip(work context.Context, now time.Time, claim ledger.Claim) *trip {
	t := &trip{
		thread: claim.Thread, tools: claim.AllowedTools, message: claim.Message, run: claim.Run, fence: claim.Fence, work: work,
		absorbed:    claim.Absorbed,
		began:       now,
		interrupted: claim.Run.Step == pluginsdk.StepInvoking || claim.Message.Retry().Begun,
		outcomes:    claim.Run.Outcomes,
		sessionID:   claim.Thread.SessionID,
		resume:      claim.Thread.SessionID != "",
	}
	// 5a notes the run's session, and only who drops it takes it off again.
	t.sessionDropped = claim.Run.Step == pluginsdk.StepInvoking && claim.Run.SessionID == "" && t.sessionID == ""
	t.steering.turn, t.steering.endTurn = context.WithCancel(work)
	if t.fence.Beside() { // a session of its own, asked anew after a crash
		t.sessionID, t.resume, t.interrupted, t.sessionDropped = "", false, false, false
	}
	t.on.Origin = ledger.Origin{RunID: t.run.ID, Attempt: t.run.Attempt, Fence: t.fence, TaskID: cmp.Or(claim.Run.TaskID, claim.TaskID)}
	t.on.Call = pluginsdk.Call{ID: t.run.ID, RunID: t.run.ID, Attempt: t.run.Attempt, TraceID: t.run.TraceID}
	t.beside.Origin, t.beside.Call, t.beside.Beside = t.on.Origin, t.on.Call, true
	if t.interrupted && t.sessionID == "" && !t.fence.Beside() && claim.Run.SessionID != "" {
		// The attempt that died had begun a session of its own.
		t.sessionID, t.resume = claim.Run.SessionID, true
		t.thread.SessionID, t.thread.SessionOpen = claim.Run.SessionID, true
	}
	return t
}

// takeUpResult goes on from a result that an earlier attempt stored.
func (t *trip) takeUpResult() {
	t.started, t.answered = true, true
	t.result, t.events, t.steps = t.run.Result, t.run.Events, t.run.Steps
	if t.result == nil {
		t.result = &pluginsdk.InvokeResult{}
	}
	t.reply = t.result.Text
}

// dropSession makes the next exchange begin a new session.
func (t *trip) dropSession() {
	t.sessionDropped, t.resume, t.sessionID = true, false, ""
	t.thread.SessionID, t.thread.SessionOpen, t.thread.SeenMessageID = "", false, 0
	t.events, t.eventBytes = nil, 0
	t.beginAnother()
}
