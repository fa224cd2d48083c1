package approvals

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the room counts.
type figures struct {
	tally.Set

	asked, ended, ruled *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	f.asked = f.Counter("harness_approvals_asked_total", "What the agent asked people.", "kind")
	f.ended = f.Counter("harness_approvals_ended_total", "How what was asked ended.", "state")
	f.ruled = f.Counter("harness_approvals_ruled_total", "Calls that a rule allowed, so that nobody was asked.")
	for _, kind := range []pluginsdk.ApprovalKind{pluginsdk.ApprovalTool, pluginsdk.ApprovalQuestion, pluginsdk.ApprovalPlan} {
		f.asked.Add(0, string(kind))
	}
	for _, state := range []pluginsdk.ApprovalState{pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied, pluginsdk.ApprovalExpired, pluginsdk.ApprovalWithdrawn} {
		f.ended.Add(0, string(state))
	}
	return f
}

// Figures returns what was counted since New.
func (a *Approvals) Figures() []pluginsdk.Figure { return a.figures.Figures() }
