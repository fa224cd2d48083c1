package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	waitingTask = "01990000-0000-7000-8000-0000aaaaaaaa"
	runningTask = "01990000-0000-7000-8000-0000bbbbbbbb"
	failedTask  = "01990000-0000-7000-8000-0000cccccccc"
)

func withTasks(t *testing.T) *clienttest.Daemon {
	t.Helper()
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("I did it.") })
	t.Setenv("HARNESS_URL", daemon.URL())
	for _, task := range []pluginsdk.Task{
		{ID: waitingTask, Status: pluginsdk.TaskWaiting, OriginalMessage: "merge it", Error: "a conflict", CurrentIteration: 2, Result: "done"},
		{ID: runningTask, Status: pluginsdk.TaskRunning, OriginalMessage: "look it up", ParentThreadID: "T", CurrentIteration: 1},
		{ID: failedTask, Status: pluginsdk.TaskFailed, OriginalMessage: "try it", CompletedAt: time.Now()},
	} {
		task.ThreadID, task.MaxIterations, task.CreatedAt = clienttest.Primary, 5, time.Now().Add(-time.Hour)
		daemon.AddTask(client.TaskHistory{Task: task, Answers: []pluginsdk.TaskAnswer{
			{ID: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "gate", Answer: "reject", Feedback: "first"},
			{ID: 2, Round: 2, Hook: pluginsdk.HookTaskComplete, Plugin: "gate", Answer: "reject", Feedback: "second"},
		}})
	}
	return daemon
}

func TestTaskList(t *testing.T) {
	daemon := withTasks(t)
	daemon.Shorten(1) // pages are short
	for line, want := range map[string][]string{
		"task list":       {waitingTask, runningTask},
		"task list --all": {waitingTask, runningTask, failedTask},
		"task list --status waiting --status failed": {waitingTask, failedTask},
		"task list --thread T":                       {runningTask},
		"task list --status completed":               nil,
	} {
		got := harness(t, "", strings.Fields(line)...)
		for _, id := range []string{waitingTask, runningTask, failedTask} {
			if strings.Contains(got.out, id) != slices.Contains(want, id) {
				t.Errorf("%s: %+v", line, got)
			}
		}
		if want == nil && got.out != "There are no such tasks; --all lists those that are over, too.\n" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	harness(t, "", "task", "list", "--status", "done").want(t, exitFailed, "", `--status: "done" is not accepted; it is pending`)
	var tasks []pluginsdk.Task
	if got := harness(t, "", "task", "list", "--json"); json.Unmarshal([]byte(got.out), &tasks) != nil || len(tasks) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestTaskShow(t *testing.T) {
	withTasks(t)
	got := harness(t, "", "task", "show", "aaaaaaaa")
	got.want(t, 0, "waiting for a person\n  a conflict", "")
	got.want(t, 0, "harness task approve "+waitingTask+" --iteration 2", "")
	got.want(t, 0, "    first", "")
	got.want(t, 0, "    second", "") // all pages are read
	var history client.TaskHistory
	asJSON := harness(t, "", "task", "show", waitingTask, "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &history); err != nil || len(history.Answers) != 2 || history.Task.Result != "done" {
		t.Errorf("%v: %+v", err, asJSON)
	}
	for part, want := range map[string]string{
		"0199000":                              "is part of more than one id: " + failedTask + ", " + runningTask + ", " + waitingTask,
		"aaaaa":                                "names no task: an id is given whole",
		"dddddd":                               "`harness task list --all` lists those that there are",
		"01990000-0000-7000-8000-0000dddddddd": "`harness task list --all` lists those that there are",
	} {
		harness(t, "", "task", "show", part).want(t, exitFailed, "", want)
	}
	harness(t, "", "task", "show").want(t, exitUsage, "", "ID is missing")
	harness(t, "", "task", "show", waitingTask, "--url", "http://127.0.0.1:1").want(t, exitUnreachable, "", "no daemon answers")
}

// A person decides on the iteration that they have seen, and on no later one.
func TestTasksAreDecidedOn(t *testing.T) {
	daemon := withTasks(t)
	harness(t, "", "task", "reject", "aaaaaaaa").want(t, exitUsage, "", "harness task reject ID WORDS...")
	harness(t, "", "task", "approve", "aaaaaaaa", "--iteration", "-1").want(t, exitFailed, "", "--iteration: -1 is not accepted")
	harness(t, "", "task", "reject", "aaaaaaaa", "no", "tests").want(t, 0, "Task "+waitingTask+" (merge it) goes on with your words.", "")
	harness(t, "", "task", "approve", "aaaaaaaa").want(t, exitFailed, "", "cannot be approved")
	withWaiting := func(id string) {
		daemon.AddTask(client.TaskHistory{Task: pluginsdk.Task{ID: id, Status: pluginsdk.TaskWaiting, OriginalMessage: "merge it", CurrentIteration: 3}})
	}
	withWaiting(waitingTask)
	harness(t, "", "task", "approve", "aaaaaaaa", "--iteration", "2", "fine").want(t, 0, "is accepted as it was at iteration 2", "")
	withWaiting(waitingTask)
	harness(t, "", "task", "retry", "aaaaaaaa", "port", "80").want(t, 0, "Task "+waitingTask+" (merge it) goes on.", "")
	want := []string{
		`decide {"verdict":"reject","iteration":2,"feedback":"no tests"}`, `decide {"verdict":"accept","iteration":2}`,
		`decide {"verdict":"accept","iteration":2,"feedback":"fine"}`,
	}
	worded := daemon.Worded()
	if len(worded) != 4 || !slices.Equal(worded[:3], want) || !strings.HasPrefix(worded[3], `retry {"text":"port 80","iteration":3,"idempotencyKey":"`) {
		t.Errorf("said:\n%s", strings.Join(worded, "\n"))
	}
}

func TestTasksAreTriedAgainAndCancelled(t *testing.T) {
	daemon := withTasks(t)
	harness(t, "", "task", "retry", "bbbbbbbb").want(t, exitFailed, "", "it goes on by itself")
	harness(t, "", "task", "retry", "cccccccc", "once more").want(t, 0, "Task "+failedTask+"-2 goes on from "+failedTask+" (try it).", "")
	harness(t, "", "task", "cancel", "bbbbbbbb", "too", "late").want(t, 0, "Task "+runningTask+" (look it up) is cancelled; its agent ends within seconds.", "")
	harness(t, "", "task", "cancel", runningTask).want(t, 0, "is over: it is cancelled", "")
	worded := daemon.Worded()
	if got := worded[len(worded)-1]; got != `cancel {"reason":"too late"}` {
		t.Errorf("said: %s", got)
	}
}

func TestTaskLog(t *testing.T) {
	daemon := withTasks(t)
	harness(t, "", "send", "count to ten").want(t, 0, "I did it.", "")
	harness(t, "", "task", "log", "bbbbbbbb").want(t, 0, "cli> count to ten\nI did it.\n", "")
	harness(t, "", "task", "log", "-f", "cccccccc").want(t, exitFailed, "task "+failedTask+" is failed", "")
	daemon.AddTask(client.TaskHistory{Task: pluginsdk.Task{ID: failedTask, ThreadID: clienttest.Primary, Status: pluginsdk.TaskCompleted, CompletedAt: time.Now()}})
	harness(t, "", "task", "log", "-f", "cccccccc").want(t, 0, "is completed", "")
}

func TestTaskIDsAreCompleted(t *testing.T) {
	withTasks(t)
	for line, want := range map[string][]string{
		"task show ": {failedTask + "\tfailed: try it", runningTask, waitingTask}, "task approve ": {waitingTask}, "task reject ": {waitingTask},
		"task cancel ": {runningTask, waitingTask}, "task retry 0199": {failedTask, runningTask, waitingTask}, "task log ": {failedTask, runningTask, waitingTask},
	} {
		got := harness(t, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		lines := strings.Split(got.out, "\n")
		if len(lines) < len(want) || !strings.HasPrefix(lines[len(want)], ":") {
			t.Errorf("%s: %q", line, got.out)
			continue
		}
		for n := range want {
			if !strings.HasPrefix(lines[n], want[n]) {
				t.Errorf("%s: %q", line, got.out)
			}
		}
	}
}
