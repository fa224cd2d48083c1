package invoker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	for name, want := range map[string]string{"GIT_CONFIG_COUNT": "7", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_KEY_1": "core.fsmonitor", "GIT_CONFIG_VALUE_1": "false", "GIT_OPTIONAL_LOCKS": "0"} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// What shows a difference runs no hook: git diff would write the index anew where a file's times
// have changed alone, whatever GIT_OPTIONAL_LOCKS says.
func TestGitRunsNoHookWhenItShows(t *testing.T) {
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git := func(env []string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", arguments...)
		command.Dir, command.Env = dir, env
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", arguments, err, output)
		}
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(env, "init", "-q", ".")
	git(env, "add", "a")
	hook := filepath.Join(dir, ".git", "hooks", "post-index-change")
	if err := os.MkdirAll(filepath.Dir(hook), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil { //nolint:gosec // a hook
		t.Fatal(err)
	}
	for _, command := range []string{"status", "diff", "log", "show"} {
		if err := os.Chtimes(filepath.Join(dir, "a"), time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		arguments := []string{command}
		if command == "log" || command == "show" {
			arguments = append(arguments, "--all")
		}
		git(withGit(env), arguments...)
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("git %s has run a hook", command)
		}
	}
}
