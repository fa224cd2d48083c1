package walk

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// driver is the name of the plugin that drives workflows. Its name is kept for a plugin of the daemon's own directory: here
// the plugin of the tests has its place.
const driver = "workflow"

// placeDriver puts the plugin of the tests into the daemon's directory as the one that drives workflows, with made-up reports.
func placeDriver(dir string) error {
	home := filepath.Join(dir, driver)
	tools := map[string]any{"workflow_status": reports()}
	manifest := object{
		"name": driver, "version": "1.0.0", "description": "Builds what is asked for in stages", "commands": []object{{"name": driver, "scope": "approve"}, {"name": "labelled"}},
		"tools":        []object{{"name": "workflow_status", "description": "Where workflows are", "inputSchema": object{"type": "object"}}},
		"capabilities": []object{{"capability": "tasks.write", "reason": "makes the tasks of the stages"}},
	}
	program, err := os.ReadFile(stage)
	if err != nil {
		return err
	}
	files := map[string][]byte{driver: program}
	for name, value := range map[string]any{"stage.json": manifest, "tools.json": tools} {
		if files[name], err = json.Marshal(value); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), text, 0o700); err != nil { //nolint:gosec // one is a program
			return err
		}
	}
	return os.Symlink(filepath.Join(home, driver), filepath.Join(bin, "plugins", driver))
}

// The workflows of the made-up reports: one at work, one that waits, one that is over, and one that is just beginning.
const (
	flowRunning = "0199aaaa-0000-7000-8000-000000000001"
	flowWaiting = "0199aaaa-0000-7000-8000-000000000002"
	flowDone    = "0199aaaa-0000-7000-8000-000000000003"
	flowNew     = "0199aaaa-0000-7000-8000-000000000004"
)

// reports are what the tool answers, by its input.
func reports() map[string]any {
	now := time.Now().UTC()
	ago := func(minutes int) string { return now.Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	said := func(verdict string, score int, summary string, issues ...string) object {
		return object{
			"verdict": verdict, "score": score, "summary": summary, "issues": issues, "patternsCompliance": "The errors are wrapped as PATTERNS.md wants it.", "source": "output",
			"tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "runId": flowDone, "checks": []string{"make build: exit code 0", "go test ./... -count=1 -race -timeout 5m: exit code 0", "go vet ./...: exit code 1"},
			"at": ago(9), "costUsd": 0.1834, "seconds": 73.4,
		}
	}
	stage := func(agent, role, batch, status string, more object) object {
		one := object{"agent": agent, "role": role, "batch": batch, "status": status, "attempt": 1, "round": 1, "startedAt": ago(40), "costUsd": 0.3142, "seconds": 252.0, "verdicts": []object{}}
		if status == "pending" {
			one = object{"agent": agent, "role": role, "batch": batch, "status": status, "verdicts": []object{}}
		} else if role != "reviewer" {
			one["taskId"], one["threadId"], one["runId"] = flowDone, flowDone, flowDone
			one["validation"] = object{"passed": true, "tries": 1, "at": ago(30)}
		}
		for name, value := range more {
			one[name] = value
		}
		return one
	}
	approved := object{"verdicts": []object{said("APPROVE", 9, "The batch does what the plan says, and its tests fail without it.")}}
	begun := []object{
		stage("scout", "scout", "", "completed", nil), stage("architect", "architect", "", "completed", object{"attempt": 2, "validation": object{"passed": true, "tries": 2, "reason": "At the first try the tasks were numbered 1, 2, 4."}}),
		stage("builder", "builder", "Tasks 1-3", "completed", nil), stage("reviewer", "reviewer", "Tasks 1-3", "completed", approved),
	}
	back := object{"attempt": 3, "round": 3, "verdicts": []object{
		said("REVISE", 3, "Nothing of it is tested."), said("REVISE", 4, "The tests pass without the code."),
		said("REVISE", 5, "The list is lost when two programs write it at the same time.\nWhoever writes has to lock the file first.",
			"store/store.go:41 opens the file without a lock, and "+strings.Repeat("the same again ", 12), "todo_test.go does not test an empty list", "/a/path/without/any/space/that/is/longer/than/the/column/in/which/it/is/shown/store_test.go:12"),
	}}
	whole := func(id, title, state string, stages []object) object {
		return object{
			"id": id, "title": title, "request": title + "\n\n- `todo add WORDS` adds a line\n- `todo list` prints them\n- it survives a crash", "dir": "/srv/projects/a-directory-with-a-long-name/todo", "parentThreadId": "", "threadId": flowDone,
			"state": state, "git": true, "branch": "task/" + id, "why": "There is nothing yet, so that it is planned first; seven tasks are three batches.",
			"acceptance": []string{"`todo add milk` prints the number of the line", "`todo list` prints every line that was added, in order", "killed at any point, the file has all lines or all but the last"},
			"stages":     stages, "limits": object{"rounds": 3, "redesigns": 1, "tries": 3}, "redesigns": 1, "batchSize": 3, "startedAt": ago(58),
			"cost": object{"usd": 3.4831, "buildingUsd": 2.2714, "verifyingUsd": 1.2117, "notionalUsd": 1, "unsure": true, "capUsd": 20}, "time": object{"buildingSeconds": 1930, "verifyingSeconds": 614},
		}
	}
	running := whole(flowRunning, "Build a todo list for the terminal, with a file that survives a crash, and تخطيط الرحلة إلى مراكش", "running", append(begun[:4:4],
		stage("builder", "builder", "Tasks 4-6", "reviewing", object{"attempt": 2, "round": 2}), stage("reviewer", "reviewer", "Tasks 4-6", "running", object{"round": 2, "verdicts": back["verdicts"].([]object)[:1]}),
		stage("builder", "builder", "Task 7", "pending", nil), stage("reviewer", "reviewer", "Task 7", "pending", nil), stage("documentation-writer", "other", "", "pending", nil)))
	running["estimate"] = object{"seconds": 900, "usd": 0.9, "text": "about 15 min and $0.90 for 2 more batches"}
	waiting := whole(flowWaiting, "Build a clock", "waiting", append(begun[:4:4], stage("builder", "builder", "Tasks 4-6", "reviewing", object{"attempt": 3, "round": 3}), stage("reviewer", "reviewer", "Tasks 4-6", "failed", back), stage("builder", "builder", "Task 7", "pending", nil), stage("reviewer", "reviewer", "Task 7", "pending", nil)))
	waiting["waits"] = "The reviewer has asked for changes of Tasks 4-6 three times, which is the limit. Continue with more rounds, accept the batch as it is, or abandon the workflow."
	done := whole(flowDone, "Build a bell", "completed", begun)
	person := said("APPROVE", 0, "")
	person["by"], person["checks"], person["source"] = "فاطمة", []string{}, ""
	done["final"], done["endedAt"] = []object{said("REVISE", 6, "The help does not name all commands."), person}, ago(3)
	fresh := whole(flowNew, "Build a door", "queued", []object{})
	fresh["git"], fresh["branch"], fresh["acceptance"] = false, "", []string{}
	answers := map[string]any{"{}": object{"workflows": []object{fresh, running, waiting, done}}}
	for _, one := range []object{running, waiting, done, fresh} {
		answers[`{"workflow":"`+one["id"].(string)+`"}`] = one
	}
	return answers
}

// flows turns the plugin on that drives workflows, and makes the task of a stage.
func (l *lived) flows(t *testing.T) {
	t.Helper()
	l.MustRun(t, "plugin", "grant", driver, "tasks.write")
	l.MustRun(t, "plugin", "enable", driver)
	eventually(t, "the plugin that drives workflows", func() bool {
		var plugin struct{ State string }
		l.call(t, http.MethodGet, "/api/plugins/"+driver, nil, &plugin)
		return plugin.State == "serving"
	})
	l.MustRun(t, "labelled", "workflow.id="+flowRunning, "Build", "Tasks", "4-6")
	var found struct{ Tasks []pluginsdk.Task }
	l.call(t, http.MethodGet, "/api/tasks?plugin="+driver, nil, &found)
	if len(found.Tasks) != 1 {
		t.Fatalf("tasks %+v", found.Tasks)
	}
	l.flowing = found.Tasks[0].ID
}
