package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// reported is a workflow that waits for a person in its second batch, with all that a report has. It is a list of
// workflows too, of which it is the second.
func reported(t *testing.T) string {
	t.Helper()
	report := map[string]any{
		"id": "W1", "title": "A todo list " + hostile, "request": "Build a **todo** list " + hostile, "dir": "/srv/todo " + hostile, "parentThreadId": "T", "threadId": "T2",
		"state": "waiting", "waits": "Tasks 4-6 was sent back 3 times " + hostile, "git": true, "branch": "task/W1", "why": "it is new " + hostile, "unreviewed": "docs-writer",
		"acceptance": []string{"todo add puts a line into the file " + hostile},
		"stages": []map[string]any{
			{"agent": "architect", "role": "architect", "status": "completed", "attempt": 2, "taskId": "K1", "threadId": "T3", "runId": "R1", "validation": map[string]any{"passed": true, "tries": 2, "reason": "the headings were not 1..N at first"}, "costUsd": 0.25, "seconds": 90},
			{"agent": "builder", "role": "builder", "batch": "Tasks 1-3", "status": "completed", "attempt": 1, "taskId": "K2"},
			{"agent": "reviewer", "role": "reviewer", "batch": "Tasks 1-3", "status": "completed", "attempt": 1, "verdicts": []map[string]any{{"verdict": "APPROVE", "score": 9, "summary": "well made", "checks": []string{"go test ./...: exit code 0", "go vet ./... (exit 1)"}, "tree": "7aee7aee7aee7aee", "runId": "R7", "costUsd": 0.12, "seconds": 40, "source": "output"}}},
			{"agent": "builder", "role": "builder", "batch": "Tasks 4-6", "status": "reviewing", "attempt": 3},
			{"agent": "reviewer", "role": "reviewer", "batch": "Tasks 4-6", "status": "pending", "attempt": 3, "round": 3, "verdicts": []map[string]any{
				{"verdict": "REVISE", "score": 3, "summary": "the first time"}, {"verdict": "REVISE", "score": 4, "summary": "the second time", "source": "the file says APPROVE, the output REVISE"},
				{"verdict": "REVISE", "score": 5, "summary": "still no test " + hostile, "issues": []string{"todo.go:12 panics " + hostile}, "patternsCompliance": "good"},
			}},
			{"agent": "docs-writer", "role": "other", "status": "pending"},
		},
		"final":  []map[string]any{{"verdict": "REDESIGN", "by": "Cleo", "batch": "Tasks 1-3"}},
		"limits": map[string]any{"rounds": 3, "redesigns": 1, "tries": 3}, "redesigns": 1, "batchSize": 3,
		"cost": map[string]any{"usd": 1.5, "buildingUsd": 1, "verifyingUsd": 0.5, "notionalUsd": 0, "capUsd": 20}, "time": map[string]any{"buildingSeconds": 600, "verifyingSeconds": 240},
		"estimate": map[string]any{"seconds": 900, "usd": 0.9, "text": "about 15 min and $0.90 for 2 more batches"},
	}
	report["workflows"] = []map[string]any{
		{"id": "W2", "title": "A clock", "dir": "/srv/clock", "state": "running", "stages": []map[string]any{{"agent": "builder", "status": "completed"}, {"agent": "reviewer", "status": "running"}}},
		{"id": "W1", "title": "A todo list " + hostile, "dir": "/srv/todo", "state": "waiting", "waits": "Tasks 4-6 was sent back 3 times", "stages": []map[string]any{}, "cost": map[string]any{"usd": 1.5}},
	}
	raw, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A person sees where each stage is, what was said of it and what that rests on, what is left of the limits, and what
// verifying costs beside building; what agents have written is text.
func TestThePagesOfWorkflows(t *testing.T) {
	s := demanding(t)
	s.remembers(reported(t))
	sees := []string{
		"Needs you", "Nobody reviews the work of the stage docs-writer", "Tasks 4-6 was sent back 3 times", "3 of 6 stages done", "$1.50", "of $20", "left: about 15 min and $0.90 for 2 more batches", `href="/workflows/W1#stage-4"`, "In review", "Approved, 9/10", "Changes requested, 5/10",
		"attempt 2", "round 3", `id="stage-1"`, "Checks passed", "after 2 tries", "the headings were not 1..N at first", `href="/tasks/K1"`, `href="/chat/T3"`, `href="/runs/R1"`, `href="/runs/R7"`, "still no test", "todo.go:12 panics", "Earlier verdicts (2)",
		"the file says APPROVE, the output REVISE", "<code>go test ./...</code>", "passed", "<code>go vet ./...</code>", "exit code 1", `<code title="7aee7aee7aee7aee">7aee7aee7aee…</code>`, "Accepted as is", "by Cleo", "about Tasks 1-3",
		"todo add puts a line", "Build a <strong>todo</strong> list", "50 %", "40 %", "10 min", "Tasks 4-6: 0 of 3 left", "0 of 1 left", "$18.50 of $20.00 left", "task/W1", "it is new", `href="/chat/T2"`, `href="/tasks/W1"`, `data-live="task:"`,
	}
	eve := s.logIn("Eve", pluginsdk.ScopeRead)
	eve.reads("/workflows/W1", append(sees, "scope approve"), hostile, `name="do"`, `id="stage-6"`)
	list := eve.reads("/workflows", []string{"A todo list", "A clock", "1 of 2 stages done", `href="/workflows/W2"`, `data-live="task:"`, `href="/workflows" data-key="w" aria-current="page"`}, hostile, "/workflows/new")
	if strings.Index(list, "A todo list") > strings.Index(list, "A clock") {
		t.Error("what needs a person does not come first")
	}
	ann := s.logIn("Ann", pluginsdk.ScopeApprove)
	ann.reads("/workflows/W1", append(sees, "More rounds for each batch", "More redesigns", "More tries for each stage", "New cost limit", "1 of 1 used", "Continue", "Accept as is", "Abandon", `data-confirm="Abandon this workflow?`), hostile, `value="stop"`)
}

// What a person decides on the page is the command that they could have typed; why it was refused stands beside what they
// have typed.
func TestAPersonDecidesOnAWorkflow(t *testing.T) {
	s := demanding(t)
	r := s.remembers(reported(t))
	ann := s.logIn("Ann", pluginsdk.ScopeApprove)
	last := func() pluginsdk.Submission { return r.typed[len(r.typed)-1] }
	for _, c := range []struct {
		form  []string
		typed string
		says  string
	}{
		{[]string{"do", "continue", "rounds", "2", "redesigns", "", "tries", "4", "cost", "30", "note", "use port 80"}, "/workflow continue W1 rounds=2 tries=4 cost=30 use port 80", "goes on"},
		{[]string{"do", "accept"}, "/workflow continue W1 accept=yes", "accepted as it is"},
		{[]string{"do", "stop"}, "/workflow stop W1", "is stopped"},
		{[]string{"do", "abandon"}, "/workflow abandon W1", "is abandoned"},
	} {
		page := ann.leads(c.typed, ann.post("/workflows/W1", c.form...), "/workflows/W1")
		if said := last(); said.Content != c.typed || said.Author != "Ann" || said.Scope != pluginsdk.ScopeApprove || !strings.Contains(page, c.says) {
			t.Errorf("%v: typed %+v", c.form, said)
		}
	}
	typed := len(r.typed)
	s.expect("numbers that are none", ann.post("/workflows/W1", "do", "continue", "rounds", "-2", "cost", "much"), http.StatusUnprocessableEntity, "Give a number from 0 to 100", "Give an amount in US dollars", `value="much"`)
	s.expect("nothing", ann.post("/workflows/W1"), http.StatusUnprocessableEntity, "does not say what is to be done")
	eve := s.logIn("Eve", pluginsdk.ScopeChat)
	s.expect("who may not", eve.post("/workflows/W1", "do", "abandon"), http.StatusForbidden, "approve")
	if len(r.typed) != typed {
		t.Errorf("typed %+v", r.typed[typed:])
	}
	r.refuses = "the new limit must be more than the $1.50 that are spent"
	s.expect("refused", ann.post("/workflows/W1", "do", "continue", "cost", "1", "note", "go on <b>"), http.StatusUnprocessableEntity, "Nothing was done: the new limit must be more", `value="1"`, "go on &lt;b&gt;")

	r.refuses, r.log = "", strings.Replace(r.log, `"state":"waiting"`, `"state":"running"`, 2)
	ann.reads("/workflows/W1", []string{`value="stop"`, "Abandon"}, `value="continue"`, `value="accept"`)
	r.log = strings.Replace(r.log, `"state":"running"`, `"state":"completed"`, 3)
	ann.reads("/workflows/W1", []string{"Completed"}, `name="do"`)
}

func TestAWorkflowIsStartedOnThePage(t *testing.T) {
	s := demanding(t)
	r := s.remembers(reported(t))
	ann := s.logIn("Ann", pluginsdk.ScopeWork)
	ann.reads("/workflows", []string{`href="/workflows/new"`})
	ann.reads("/workflows/new", []string{"What is to be built", "Tasks of a batch", "Start workflow", "Somebody with the scope admin"}, `name="dir"`)
	root := s.logIn("Root", pluginsdk.ScopeAdmin)
	root.reads("/workflows/new", []string{`name="dir"`})
	s.expect("nothing to build", root.post("/workflows/new", "text", " ", "batch", "no", "cost", "-1"), http.StatusUnprocessableEntity, "Say what is to be built", "Give a number from 1", "Give an amount")
	s.expect("a directory that is none", root.post("/workflows/new", "text", "Build it", "dir", "todo"), http.StatusUnprocessableEntity, `id="w-dir"`)
	if len(r.typed) > 0 {
		t.Fatalf("typed %+v", r.typed)
	}
	s.expect("one that does not begin", root.post("/workflows/new", "text", "Build it", "dir", "/srv/todo", "stages", "builder, reviewer", "batch", "2", "cost", "5", "git", "yes"), http.StatusUnprocessableEntity, "no workflow has begun by it", "builder, reviewer")
	if said := r.typed[0]; said.Content != "/workflow start dir=/srv/todo stages=builder,reviewer batch=2 cost=5 git=yes Build it" || said.Author != "Root" {
		t.Errorf("typed %+v", said)
	}
	r.refuses = "no agent is called plumber"
	s.expect("refused", root.post("/workflows/new", "text", "Build <it>", "stages", "plumber"), http.StatusUnprocessableEntity, "no agent is called plumber", "Build &lt;it&gt;")
}

// Where nobody drives workflows the pages say so, and how that is turned on; nothing else is different.
func TestWhereNobodyDrivesWorkflows(t *testing.T) {
	s := taskSite(t)
	s.host.AddTask(pluginsdk.Task{ID: "W1", ThreadID: "t8", Plugin: "workflow", Status: pluginsdk.TaskRunning, OriginalMessage: "Build a todo list", Labels: map[string]string{"workflow.root": "yes"}})
	s.remembers("")
	b := s.logIn("Ann", pluginsdk.ScopeAdmin)
	for _, path := range []string{"/workflows", "/workflows/W1", "/workflows/new"} {
		b.reads(path, []string{"The plugin for workflows does not serve", "harness plugin enable workflow"}, "<form id=")
	}
	b.reads("/tasks/W1", []string{"Build a todo list", "Its stages cannot be shown", "harness plugin enable workflow", "Cancel the task"})
	b.reads("/tasks/runs", []string{"Write the tests"}, "Workflow</h2>")
}

// The page of a task that is a workflow's has its stages; for the page of another task nothing is asked.
func TestATaskOfAWorkflowHasItsStages(t *testing.T) {
	s := taskSite(t)
	r := s.remembers(reported(t))
	s.host.AddTask(pluginsdk.Task{ID: "W1", ThreadID: "t8", Plugin: "workflow", Status: pluginsdk.TaskRunning, OriginalMessage: "Build a todo list", Labels: map[string]string{"workflow.root": "yes"}})
	s.host.AddTask(pluginsdk.Task{ID: "K2", ThreadID: "t9", Plugin: "workflow", Status: pluginsdk.TaskRunning, OriginalMessage: "Build Tasks 1-3", Labels: map[string]string{"workflow.id": "W1", "workflow.stage": "1"}})
	b := s.logIn("Ann", pluginsdk.ScopeRead)
	for _, path := range []string{"/tasks/W1", "/tasks/K2?tab=iterations"} {
		r.called = nil
		b.reads(path, []string{"Open the workflow", `href="/workflows/W1"`, "Needs you", "Approved, 9/10", "Changes requested, 5/10", `href="/workflows/W1#stage-4"`})
		if len(r.called) != 1 || r.called[0] != `workflow__workflow_status {"workflow":"W1"}` {
			t.Errorf("%s asks %v", path, r.called)
		}
	}
	r.called = nil
	b.reads("/tasks/waits", []string{"Somebody with the scope approve decides on it"}, "Open the workflow")
	if len(r.called) > 0 {
		t.Errorf("for another task is asked %v", r.called)
	}
}
