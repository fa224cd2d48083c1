package api_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestTasksAreListed(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/tasks", ""); got.status != 200 || got.raw != `{"tasks":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.tasks = []pluginsdk.Task{{ID: "K", Status: pluginsdk.TaskWaiting, Prompt: "long", Context: "long", Result: "long", Error: "a conflict"}}
	got := f.send("GET", "/api/tasks?status=waiting&status=running&thread=T&parent=P&in=I&plugin=delegation&newest=true&after=A&limit=7", "")
	if strings.Contains(got.raw, "long") || !strings.Contains(got.raw, `"error":"a conflict"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{pluginsdk.TaskQuery{Limit: 100}, pluginsdk.TaskQuery{
		Plugin: "delegation", ParentThreadID: "T", ParentTaskID: "P", ThreadID: "I", Newest: true, After: "A", Limit: 7,
		Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskWaiting, pluginsdk.TaskRunning},
	}}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("GET", "/api/tasks?status=done", ""), 422, "query.status")
}

func TestATaskIsShownWithWhatHasBecomeOfIt(t *testing.T) {
	f := serve(t)
	f.isProblem(f.send("GET", "/api/tasks/K", ""), 404, "no task")
	f.host.tasks = []pluginsdk.Task{{ID: "K", Prompt: "whole", Result: "whole"}}
	if got := f.send("GET", "/api/tasks/K", ""); !strings.Contains(got.raw, `"iterations":[],"answers":[],"more":false`) || strings.Count(got.raw, "whole") != 2 {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.history = pluginsdk.TaskHistoryResponse{
		Iterations: []pluginsdk.TaskIteration{{Iteration: 1, RunID: "R"}},
		Answers:    []pluginsdk.TaskAnswer{{ID: 9, Plugin: "validation", Answer: "reject", Evidence: []pluginsdk.Evidence{{Kind: "command", Command: "make", ExitCode: 2}}}},
		More:       true,
	}
	got := f.send("GET", "/api/tasks/K?after=8&limit=1", "")
	if !strings.Contains(got.raw, `"exitCode":2`) || !strings.Contains(got.raw, `"more":true`) || !strings.Contains(got.raw, `"runId":"R"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{pluginsdk.TaskHistoryRequest{ID: "K", Limit: 1000}, pluginsdk.TaskHistoryRequest{ID: "K", After: 8, Limit: 1}}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

func TestWorkIsHandedOn(t *testing.T) {
	f := serve(t)
	f.host.tasks = []pluginsdk.Task{{ID: "K", Status: pluginsdk.TaskPending}}
	f.host.result = pluginsdk.ToolResult{Text: `{"task":"K","thread":"T"}`}
	got := f.send("POST", "/api/tasks", `{"threadId":"T","text":"write it","model":"m","dir":"/d","cost":2.5,"wake":"yes","join":"j","idempotencyKey":"k"}`)
	if got.status != http.StatusAccepted || got.body["id"] != "K" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.result = pluginsdk.ToolResult{Text: "made", Structured: []byte(`{"task":"K"}`)}
	if got := f.send("POST", "/api/tasks", `{"text":"write it"}`); got.status != http.StatusAccepted {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		`call delegation__delegate {"cost":2.5,"dir":"/d","join":"j","key":"k","model":"m","task":"write it","thread":"T","wake":"yes"}`,
		`call delegation__delegate {"task":"write it"}`,
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("POST", "/api/tasks", `{"text":""}`), 422, "body.text")
	f.isProblem(f.send("POST", "/api/tasks", `{"text":"x","cost":-1}`), 422, "body.cost")

	f.host.result = pluginsdk.ToolResult{Text: "dir: /nowhere does not exist", IsError: true}
	f.isProblem(f.send("POST", "/api/tasks", `{"text":"x"}`), 422, "/nowhere does not exist")
	f.host.result = pluginsdk.ToolResult{Text: "done!"}
	f.isProblem(f.send("POST", "/api/tasks", `{"text":"x"}`), 502, "without the task's id")
	for code, status := range map[pluginsdk.Code]int{
		pluginsdk.CodeNotFound: 409, pluginsdk.CodeUnavailable: 503,
	} {
		f.host.toolErr = pluginsdk.Errorf(code, "it is not there")
		f.isProblem(f.send("POST", "/api/tasks", `{"text":"x"}`), status, "harness plugin enable delegation")
	}
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeInternal, "delegation: panic")
	f.isProblem(f.send("POST", "/api/tasks", `{"text":"x"}`), 502, "delegation: panic")
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeDenied, "web lacks tools.call")
	f.isProblem(f.send("POST", "/api/tasks", `{"text":"x"}`), 403, "tools.call")
}

// Whoever reads a task must see who decided on it, and which iteration they had seen.
func TestAPersonsWordOnATask(t *testing.T) {
	f := serve(t)
	for _, body := range []string{`{"verdict":"accept","iteration":2,"author":"Ann"}`, `{"verdict":"reject","feedback":"no"}`, `{"verdict":""}`} {
		if got := f.send("POST", "/api/tasks/K/decide", body); got.status != 200 || got.body["status"] != "evaluating" {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
	}
	for _, body := range []string{``, `{"reason":"too late","author":"Ann"}`} {
		if got := f.send("POST", "/api/tasks/K/cancel", body); got.status != 200 || got.body["status"] != "cancelled" {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
	}
	want := []any{
		pluginsdk.DecideTaskRequest{ID: "K", Verdict: pluginsdk.VerdictAccept, Iteration: 2, Author: "Ann"},
		pluginsdk.DecideTaskRequest{ID: "K", Verdict: pluginsdk.VerdictReject, Feedback: "no", Author: "a person"},
		pluginsdk.DecideTaskRequest{ID: "K", Author: "a person"},
		pluginsdk.CancelTaskRequest{ID: "K", Reason: "cancelled by a person", Author: "a person"},
		pluginsdk.CancelTaskRequest{ID: "K", Reason: "cancelled by Ann: too late", Author: "Ann"},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("POST", "/api/tasks/K/decide", `{"verdict":"maybe"}`), 422, "body.verdict")
	f.isProblem(f.send("POST", "/api/tasks/K/decide", `{}`), 422, "verdict")
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeStale, "task K is at its iteration 3, not at 2")
	f.isProblem(f.send("POST", "/api/tasks/K/decide", `{"verdict":"accept","iteration":2}`), 409, "iteration 3")
}

func TestATaskIsTriedAgain(t *testing.T) {
	f := serve(t)
	f.host.tasks = []pluginsdk.Task{
		{ID: "waits", Status: pluginsdk.TaskWaiting}, {ID: "over", Status: pluginsdk.TaskFailed}, {ID: "runs", Status: pluginsdk.TaskRunning, ThreadID: "T"},
		{ID: "new"},
	}
	f.host.result = pluginsdk.ToolResult{Text: `{"task":"new"}`}
	if got := f.send("POST", "/api/tasks/waits/retry", `{"text":"the port is 80","iteration":2,"author":"Ann"}`); got.status != 202 || got.body["id"] != "waits" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("POST", "/api/tasks/over/retry", `{"text":"once more","idempotencyKey":"k"}`); got.status != 202 || got.body["id"] != "new" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		pluginsdk.DecideTaskRequest{ID: "waits", Iteration: 2, Feedback: "the port is 80", Author: "Ann"},
		`call delegation__re-delegate {"key":"k","task":"over","words":"once more"}`,
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
	f.isProblem(f.send("POST", "/api/tasks/runs/retry", ""), 409, "goes on by itself")
	f.isProblem(f.send("POST", "/api/tasks/none/retry", ""), 404, "no task")
}
