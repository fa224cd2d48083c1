package invoker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
)

// wary objects to what names a file outside, and to a configuration of git.
type wary struct{ runs string }

func (wary) Tools([]string) []string { return []string{"Bash"} }

func (wary) Objection(call ledger.AgentCall) string {
	if strings.Contains(string(call.Input), "outside") {
		return "It reaches outside."
	}
	return ""
}

func (w wary) Repository(string) (stamp, runs string) { return "stamp", w.runs }

// What the CLI takes for harmless, and what a rule allows, is asked about where the guard
// objects, and nothing else is.
func TestRealGuardIsAskedBeforeACommandRuns(t *testing.T) {
	h := startHousehold(t, func(c *Config) {
		c.Guard, c.AllowedTools = wary{}, []string{"Bash(sort:*)", "Bash(mkdir:*)"}
	})
	lay(t, filepath.Dir(h.workspace), map[string]string{"outside": secret})
	lay(t, h.workspace, map[string]string{"inside": "ours"})
	attempts := bashes("cat < ../outside", "tac ../outside", "tac "+filepath.Dir(h.workspace)+"/outside", "sort ../outside", "cat inside", "tac inside", "mkdir made && ls")
	var mu sync.Mutex
	var asked []string
	ask := func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		mu.Lock() // calls of one turn ask at the same time
		defer mu.Unlock()
		asked = append(asked, ask.Reason)
		return ledger.ToolAnswer{Words: "no"}
	}
	for i, result := range h.tries(t, ledger.AgentRequest{Ask: ask}, attempts) {
		if objected := strings.Contains(attempts[i].input, "outside"); result.IsError != objected || told(string(result.Content)) {
			t.Errorf("%s: %s", attempts[i].input, result.Content)
		}
	}
	if len(asked) != 4 || slices.ContainsFunc(asked, func(reason string) bool { return !strings.Contains(reason, "It reaches outside.") }) {
		t.Errorf("asked: %q", asked)
	}
	if _, err := os.Stat(filepath.Join(h.workspace, "made")); err != nil {
		t.Error("what a rule allows did not run")
	}
}
