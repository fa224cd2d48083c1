package pipeline

import (
	"context"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
)

// questions are what the agent has asked people in a trip.
type questions struct {
	mu    sync.Mutex
	asked map[string]bool // by the id of the tool's use
}

// note notes that people are asked about a tool's use.
func (q *questions) note(toolUseID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asked == nil {
		q.asked = make(map[string]bool)
	}
	q.asked[toolUseID] = true
}

// people reports whether people were asked about a tool's use, and know of it.
func (q *questions) people(toolUseID string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.asked[toolUseID]
}

func (q *questions) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.asked) > 0
}

// ask asks people whether the agent may make a call. It is called beside the turn, and
// several times at once.
func (p *Pipeline) ask(ctx context.Context, t *trip, ask ledger.ToolAsk) ledger.ToolAnswer {
	answer := p.approvals.Ask(ctx, ledger.Asking{
		Thread: t.thread.Thread, Fence: t.fence, RunID: t.run.ID, Attempt: t.run.Attempt,
		Turn: t.run.Turn != nil, Unattended: t.run.Unattended,
	}, ask)
	if answer.Asked {
		t.questions.note(ask.ToolUseID)
	}
	return answer
}

// takeQuestionsBack takes back what a run that is over has asked, in this attempt or an
// earlier one. What is left, after an error too, the sweep of the approvals finds.
func (p *Pipeline) takeQuestionsBack(t *trip) {
	if !t.interrupted && !t.questions.any() {
		return
	}
	if err := p.approvals.Over(t.work, t.run.ID); err != nil {
		p.config.Log.Warn("what a run has asked cannot be taken back yet", "run", t.run.ID, "err", err)
	}
}
