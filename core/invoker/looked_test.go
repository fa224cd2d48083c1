package invoker

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
)

// The agent works in a directory whose git configuration runs programs only when a person
// says so, and is asked once.
func TestAskedAboutAGitConfiguration(t *testing.T) {
	asked, allow := 0, false
	turn := &turn{
		session: &session{guard: wary{"It runs x."}, repositories: &repositories{}, threadID: "a"}, waiting: func(bool) {},
		asking: newAsking(func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
			asked++
			return ledger.ToolAnswer{Allow: allow, Words: "never"}
		}),
	}
	if failure := turn.beginIn(t.Context()); failure == nil || !strings.Contains(failure.Message, "It runs x. never") {
		t.Errorf("a turn that a person denied begins: %v", failure)
	}
	allow = true
	for range 2 {
		if failure := turn.beginIn(t.Context()); failure != nil {
			t.Errorf("a turn that a person allowed does not begin: %v", failure)
		}
	}
	if turn.session.threadID = "b"; asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if _ = turn.beginIn(t.Context()); asked != 3 {
		t.Error("another thread's people are not asked")
	}
	turn.session.threadID, turn.asking = "c", newAsking(nil)
	if failure := turn.beginIn(t.Context()); failure == nil {
		t.Error("a turn begins although nobody can be asked")
	}
	turn.session.allowed = repositoryTool
	if failure := turn.beginIn(t.Context()); failure != nil {
		t.Errorf("an operator's rule does not count: %v", failure)
	}
}

// What the operator has told git by the environment holds on, before what every session gets.
func TestGitIsToldBehindTheOperator(t *testing.T) {
	env := withGit([]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=A"})
	for name, want := range map[string]string{"GIT_CONFIG_COUNT": "6", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_KEY_1": "core.fsmonitor", "GIT_CONFIG_VALUE_1": "false", "GIT_OPTIONAL_LOCKS": "0"} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
