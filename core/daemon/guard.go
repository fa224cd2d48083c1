package daemon

import (
	"github.com/seed-706843ae/harness/core/approvals/rules"
	"github.com/seed-706843ae/harness/core/ledger"
)

// callGuard looks at the agent's calls for the invoker.
type callGuard struct{}

func (callGuard) Tools(allowed []string) []string { return rules.Looked(allowed) }

func (callGuard) Objection(call ledger.AgentCall) string {
	return rules.Objection(rules.Command{
		Call: rules.Call{Tool: call.Tool, Input: call.Input, Cwd: call.Cwd}, Readable: call.Readable, Rules: call.Rules,
	})
}

func (callGuard) Repository(directory string) (stamp, runs string) {
	return rules.RepositoryStamp(directory), rules.RunsPrograms(directory)
}
