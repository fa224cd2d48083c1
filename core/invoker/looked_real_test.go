package invoker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
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

// Before people have been asked about a git configuration, the CLI runs no git either.
func TestRealNothingOfARepositoryRunsBeforeTheQuestion(t *testing.T) {
	h := startHousehold(t, func(c *Config) { c.Guard = wary{runs: "It runs x."} })
	ran, root := filepath.Join(realDir(t), "ran"), filepath.Dir(h.workspace)
	for _, arguments := range [][]string{{"config", "filter.x.clean", "touch " + ran + "; cat"}, {"config", "core.attributesFile", filepath.Join(root, ".git", "x")}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, arguments...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", arguments, err, out)
		}
	}
	lay(t, root, map[string]string{".git/x": "* filter=x\n"})
	if err := os.Chtimes(filepath.Join(h.workspace, "CLAUDE.md"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	ask := func(context.Context, ledger.ToolAsk) ledger.ToolAnswer {
		if _, err := os.Stat(ran); err == nil {
			t.Error("what people are asked about has run")
		}
		return ledger.ToolAnswer{Words: "no"}
	}
	result := h.invoke(t.Context(), ledger.AgentRequest{ThreadID: "t", Prompt: "say:hello", Ask: ask, Cwd: h.workspace}, func(pluginsdk.StreamEvent) {})
	if result.Failure == nil || !strings.Contains(result.Failure.Message, "It runs x.") {
		t.Errorf("%+v", result)
	}
}
