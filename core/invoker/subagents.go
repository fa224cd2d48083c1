package invoker

import (
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// Sub-agents. The CLI starts as many as the model wants, and each calls the API for itself. So
// every session has a rule that asks about the tool that starts them (agentsAsked), and the
// invoker answers by itself up to Config.SubAgents in a turn. Verified with 2.1.197 and
// 2.1.330: the CLI asks about each, also about those that sub-agents start, before it starts
// them, and also when a rule allows the tool; they run in the foreground, so that none
// outlives its turn. (What a skill of the CLI runs as a sub-agent is not asked about.)

// startsSubAgent reports whether a tool starts a sub-agent.
func startsSubAgent(tool string) bool { return slices.Contains(cli.AgentTools, tool) }

// agentsAllowed reports whether a rule allows sub-agents, by either name of the tool.
func (s *session) agentsAllowed() bool {
	return slices.ContainsFunc(cli.AgentTools, func(tool string) bool { return allowedBy(s.rules(), tool, nil) })
}

// mayStartAgent reports whether the turn may start one more sub-agent without a question, and
// counts it.
func (s *session) mayStartAgent() bool {
	if int(s.agents.Load()) >= s.agentsMost {
		return false
	}
	s.agents.Add(1)
	return true
}

// denialOfAgent returns the words that the agent gets when nobody can be asked for another
// sub-agent.
func denialOfAgent(most int) string {
	if most <= 0 {
		return "Sub-agents are not started here without a person's yes, and nobody can be asked. Do the work yourself."
	}
	return fmt.Sprintf("This turn has started %d sub-agents, as many as it may without a person's yes, and nobody can be asked for more. "+
		"Do the rest yourself, or say in your reply what is left to do.", most)
}

// reasonForAgent says to people why they are asked about a sub-agent.
func reasonForAgent(number, most int) string {
	return fmt.Sprintf("This would be sub-agent number %d of this turn. The first %d start without a question (HARNESS_SUBAGENTS); each one after that is asked about.", number, most)
}
