package pipeline

import (
	"context"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
)

// questions are what the agent has asked people in a trip.
type questions struct {
	mu    sync.Mutex
	any   bool            // there was one; people need not have been asked
	asked map[string]bool // those that people know of, by the id of the tool's use
}

// begin notes that there is a question.
func (q *questions) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.any = true
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

// none reports whether there was no question.
func (q *questions) none() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.any
}

// ask asks people whether the agent may make a call. It is called beside the turn, and
// several times at once.
func (p *Pipeline) ask(ctx context.Context, t *trip, ask ledger.ToolAsk) ledger.ToolAnswer {
	t.questions.begin() // one that a stop cuts off is open, and has no answer
	answer := p.approvals.Ask(ctx, ledger.Asking{
		Thread: t.thread.Thread, Fence: t.fence, RunID: t.run.ID, Attempt: t.run.Attempt,
		Turn: t.run.Turn != nil, Unattended: t.run.Unattended,
	}, ask)
	if answer.Asked {
		t.questions.note(ask.ToolUseID)
	}
	return answer
}

// takeQuestionsBack takes back what a run that is over has asked, if this attempt or an
// earlier one has asked anything.
func (p *Pipeline) takeQuestionsBack(t *trip) {
	if t.interrupted || !t.questions.none() {
		p.questionsOver(t)
	}
}

// questionsOver takes back what a run that is over has asked. What is left after an error
// the sweep of the approvals finds.
func (p *Pipeline) questionsOver(t *trip) {
	if err := p.approvals.Over(t.work, t.run.ID); err != nil {
		p.config.Log.Warn("what a run has asked cannot be taken back yet", "run", t.run.ID, "err", err)
	}
}
