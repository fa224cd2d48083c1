package taskview

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func before(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }

// conflict is a task that was rejected once, accepted, and could not be merged.
func conflict() client.TaskHistory {
	tree := []pluginsdk.Evidence{
		{Kind: "tree", Tree: "7ree", Command: "git write-tree"},
		{Kind: "base", Tree: "ba5e"},
		{Kind: "paths", Output: "a.go\nb.go\n"},
		{Kind: "diff", Diff: "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n-old\n+new\n"},
		{Kind: "patch-id", Output: "1d"},
	}
	return client.TaskHistory{
		Task: pluginsdk.Task{
			ID: "0199-task", ThreadID: "0199-thread", ParentThreadID: "0199-parent", Plugin: "delegation", RequestedBy: "ann",
			Status: pluginsdk.TaskWaiting, Marks: []string{"conflict"}, Error: "a.go was changed on both sides",
			OriginalMessage: "Fix the parser\nand test it", Model: "sonnet", Cwd: "/repo/.claude/worktrees/0199-task",
			Labels: map[string]string{
				"worktree.repository": "/my repo", "worktree.path": "/my repo/.claude/worktrees/0199-task", "worktree.branch": "task/0199-task",
				"worktree.target": "main", "worktree.base": "ba5e", "team": "core",
			},
			CurrentIteration: 2, MaxIterations: 5, ValidationIterations: 1, MaxValidationIterations: 3, CostUSD: 0.5, CostCapUSD: 5,
			Result: "The parser is fixed.\nDONE:", CreatedAt: before(30),
		},
		Iterations: []pluginsdk.TaskIteration{
			{Iteration: 1, RunID: "0199-run1", State: pluginsdk.RunSucceeded, CostUSD: 0.2, QueuedAt: before(30), FinishedAt: before(25)},
			{Iteration: 2, RunID: "0199-run2", State: pluginsdk.RunRunning, CostUSD: 0.3, QueuedAt: before(20)},
		},
		Answers: []pluginsdk.TaskAnswer{
			{ID: 1, Hook: pluginsdk.HookTaskCreate, Plugin: "worktree", Answer: "told", At: before(30)},
			{ID: 2, Iteration: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "worktree", Evidence: []pluginsdk.Evidence{{Kind: "diff", Diff: "+older"}}, At: before(25)},
			{ID: 3, Iteration: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "validation", Answer: "reject", Feedback: "a test fails:\nTestParse", At: before(24),
				Evidence: []pluginsdk.Evidence{{Kind: "command", Command: "go test ./...", ExitCode: 1, Output: "FAIL\n"}}},
			{ID: 4, Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskComplete, Plugin: "worktree", Evidence: tree, At: before(10)},
			{ID: 5, Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskComplete, Plugin: "validation", Answer: "accept", At: before(9), Evidence: []pluginsdk.Evidence{
				{Kind: "command", Command: "go test ./..."},
				{Kind: "file", File: "a.go", Line: 12, Output: "new()"},
				{Kind: "answer", Command: "tests pass", Output: "yes, all of them"},
			}},
			{ID: 6, Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskValidated, Plugin: "worktree", Answer: "wait", Feedback: "both sides are kept", At: before(8)},
		},
	}
}

func shownAs(t *testing.T, history client.TaskHistory) string {
	t.Helper()
	var out bytes.Buffer
	if err := Show(&out, terminal.Style{}, history, now); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Who has to decide must see at once where the task stands and what can be done, then
// everything that the decision rests on.
func TestATaskThatWaitsIsShown(t *testing.T) {
	want := `Fix the parser (0199-task)
waiting (conflict) for a person
  a.go was changed on both sides

  harness task approve 0199-task --iteration 2       accept its result as it is
  harness task reject 0199-task --iteration 2 WORDS  have its worker go on, with these words
  harness task cancel 0199-task                      end it

thread      0199-thread
made for    thread 0199-parent
made        30 minutes ago, by ann, through delegation
branch      task/0199-task, merged into main of /my repo
worktree    /my repo/.claude/worktrees/0199-task
model       sonnet
cost        0.50 of 5.00 USD
rejections  1 of 3
labels      team=core

ITERATION  STATE      COST  TOOK       AGE         RUN        ERROR
1          succeeded  0.20  5 min 0 s  30 minutes  0199-run1  -
2          running    0.30  -          20 minutes  0199-run2  -

Round 1 (iteration 1)
  validation: reject 24 minutes ago
    a test fails:
    TestParse
    · go test ./...: exit code 1

Round 2 (iteration 2)
  validation: accept 9 minutes ago
    · go test ./...: exit code 0
    · a.go:12: new()
    · tests pass: yes, all of them
  worktree: a person has to do something first 8 minutes ago
    both sides are kept

Result of iteration 2
  The parser is fixed.
  DONE:

Changes, as they were in round 2
  a.go
  b.go

  diff --git a/a.go b/a.go
  --- a/a.go
  +++ b/a.go
  -old
  +new
  once more: git -C '/my repo' diff ba5e 7ree
`
	if got := shownAs(t, conflict()); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

func TestWhatCanBeDoneNow(t *testing.T) {
	for status, want := range map[pluginsdk.TaskStatus]string{
		pluginsdk.TaskPending: "log -f T|cancel T", pluginsdk.TaskRunning: "log -f T|cancel T", pluginsdk.TaskEvaluating: "log -f T|cancel T",
		pluginsdk.TaskWaiting:   "reject T --iteration 3 WORDS|cancel T", // without a result there is nothing to accept
		pluginsdk.TaskCompleted: "log T|retry T WORDS", pluginsdk.TaskFailed: "log T|retry T WORDS", pluginsdk.TaskCancelled: "log T|retry T WORDS",
	} {
		var words []string
		for _, next := range remedies(pluginsdk.Task{ID: "T", Status: status, CurrentIteration: 3}) {
			words = append(words, next.words)
		}
		if got := strings.Join(words, "|"); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
}

// What is long is cut with a word on how to see all of it, and what a stranger wrote does
// not play with the terminal.
func TestLongAndHostileWordsAreCut(t *testing.T) {
	history := conflict()
	var patch strings.Builder
	for n := range diffLines + 7 {
		fmt.Fprintf(&patch, "+line %d\x1b[31m\n", n)
	}
	history.Answers[3].Evidence[3].Diff = patch.String()
	history.Answers[4].Author, history.Answers[4].Feedback = "eve\x1b[2J", strings.Repeat("no\n", feedbackLines+3)
	history.Task.OriginalMessage = strings.Repeat("x", 100)
	history.Task.RequestedBy, history.Task.Labels["worktree.target"] = "eve\ncost  0 USD\t", "main\nRound 3\n  ann: accept"
	got := shownAs(t, history)
	if strings.Contains(got, "\ncost  0") || strings.Contains(got, "\nRound 3") {
		t.Errorf("a stranger's words stand as facts:\n%s", got)
	}
	holds(t, got, "… 7 lines more; all of it: git -C '/my repo' diff ba5e 7ree", "eve[2J, through validation: accept",
		"… 3 lines more; --json has all of them", strings.Repeat("x", titleLimit-1)+"…")
	if strings.Contains(got, "\x1b") {
		t.Error("an escape sequence gets through")
	}
}

func TestWhatBecameOfOtherTasks(t *testing.T) {
	alone := client.TaskHistory{Task: pluginsdk.Task{
		ID: "T", Status: pluginsdk.TaskCompleted, Marks: []string{"unvalidated"}, Prompt: "look it up", OwnDirectory: true, Cwd: "/data/tasks/T",
		FromTaskID: "S", ParentTaskID: "P", CreatedAt: before(3), CompletedAt: before(1),
	}}
	holds(t, shownAs(t, alone), "look it up (T)\ncompleted (unvalidated)\n", "directory     /data/tasks/T (its own)", "goes on from  task S",
		"made for      task P, in thread -", "over          1 minute ago")
	alone.Task.Status, alone.Task.CompletedAt = pluginsdk.TaskCancelled, time.Time{}
	alone.Answers = []pluginsdk.TaskAnswer{
		{Round: 1, Iteration: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "web", Author: "ann", Feedback: "port 80"},
		{Round: 2, Iteration: 1, Hook: pluginsdk.HookTaskValidated, Plugin: "worktree", Answer: "again"},
		{Round: 3, Iteration: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "licence", Answer: "passed", Feedback: "it crashed",
			Evidence: []pluginsdk.Evidence{{Kind: "odd", Command: "c", File: "f", Output: "o"}}},
		{Round: 3, Iteration: 1, Hook: pluginsdk.HookTaskFailed, Plugin: "worktree", Answer: "told"},
	}
	got := shownAs(t, alone)
	holds(t, got, "cancelled (unvalidated): its agent and the tasks below it are being ended", "ann, through web: go on", "    port 80",
		"worktree: again: what it was made for has moved", "licence: was passed over: it has failed as often as it may", "· odd: c: f: o")
	if strings.Contains(got, "told") || strings.Contains(got, "Changes") {
		t.Errorf("shown:\n%s", got)
	}
}

// An iteration without a run has none to look up, and no cost of its own.
func TestAnOwnIterationIsShown(t *testing.T) {
	flow := client.TaskHistory{
		Task: pluginsdk.Task{ID: "T", Plugin: "workflow", Status: pluginsdk.TaskRunning, Prompt: "build it", CurrentIteration: 1, MaxIterations: 5, CreatedAt: before(3)},
		Iterations: []pluginsdk.TaskIteration{
			{Iteration: 1, Own: true, State: pluginsdk.RunRunning, QueuedAt: before(3)},
		},
	}
	holds(t, shownAs(t, flow), "running: the plugin workflow is at iteration 1 of 5\n", `
ITERATION  STATE    COST  TOOK  AGE        RUN                     ERROR
1          running  -     -     3 minutes  none: work of workflow  -
`)
}

func TestTasksAreListedAsATable(t *testing.T) {
	var out bytes.Buffer
	if err := List(&out, []pluginsdk.Task{conflict().Task, {ID: "T", Status: pluginsdk.TaskRunning, Prompt: "p", CreatedAt: before(1)}}, now); err != nil {
		t.Fatal(err)
	}
	want := `ID         STATUS              ITERATION  COST  AGE         TASK            REASON
0199-task  waiting (conflict)  2/5        0.50  30 minutes  Fix the parser  a.go was changed on both sides
T          running             0/0        0.00  1 minute    p               -
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// Dollars that nobody is billed, or that may be wrong, must not be taken for a bill.
func TestCostOf(t *testing.T) {
	for want, got := range map[string]string{
		"1.50": costOf(1.5, 0, false), "≈ 1.50": costOf(1.5, 0, true), "1.50 notional": costOf(1.5, 1.5, false), "≈ 1.50 (0.50 notional)": costOf(1.5, 0.5, true),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
