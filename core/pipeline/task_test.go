package pipeline

import (
	"slices"
	"testing"
)

// A task's turn has the tools that the task allows, and is paid for by the task: a cap
// holds only if turns say whose they are.
func TestATurnOfATaskIsTheTasks(t *testing.T) {
	b := newBench()
	b.claim.TaskID, b.claim.AllowedTools = "K", []string{"Bash(make:*)"}
	if _, err := b.line.Handle(t.Context(), t.Context(), b.claim); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0].AllowedTools; !slices.Equal(got, b.claim.AllowedTools) {
		t.Errorf("the agent was allowed %q", got)
	}
	if got := b.store.results[0].AgentRun.TaskID; got != "K" {
		t.Errorf("paid for by %q", got)
	}
}
