package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const oneWorkflow = `{"id": "W1", "title": "A todo list", "request": "build it", "dir": "/srv/todo", "state": "waiting", "waits": "the limit is reached", "git": true, "branch": "task/W1",
	"stages": [{"agent": "reviewer", "role": "reviewer", "batch": "Tasks 1-3", "status": "completed", "attempt": 1, "verdicts": [{"verdict": "APPROVE", "score": 9, "checks": ["go test ./...: exit code 0"]}]}],
	"limits": {"rounds": 3, "redesigns": 1, "tries": 3}, "cost": {"usd": 1.5, "buildingUsd": 1, "verifyingUsd": 0.5, "capUsd": 20}, "time": {"buildingSeconds": 60, "verifyingSeconds": 30}, "estimate": null}`

// Workflows are those that the plugin reports; where nobody drives some, that is said, and what to do.
func TestWorkflows(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"workflows": [` + oneWorkflow + `]}`)}
	got := f.send("GET", "/api/workflows", "")
	for _, part := range []string{`{"served":true,"workflows":[{"id":"W1","title":"A todo list"`, `"acceptance":[]`, `"final":[]`, `"issues":[]`, `"checks":["go test ./...: exit code 0"]`, `"capUsd":20`} {
		if got.status != http.StatusOK || !strings.Contains(got.raw, part) {
			t.Errorf("%d %s lacks %s", got.status, got.raw, part)
		}
	}
	if strings.Contains(got.raw, "null") {
		t.Errorf("something is null: %s", got.raw)
	}
	f.host.result = pluginsdk.ToolResult{Text: oneWorkflow}
	if got := f.send("GET", "/api/workflows/W1", ""); got.status != http.StatusOK || got.body["state"] != "waiting" || got.body["estimate"] != nil {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if want := []any{"call workflow__workflow_status {}", `call workflow__workflow_status {"workflow":"W1"}`}; !slices.Equal(f.host.asked, want) {
		t.Errorf("asked %v", f.host.asked)
	}
	f.host.result = pluginsdk.ToolResult{IsError: true, Text: "no workflow has the id W2"}
	f.isProblem(f.send("GET", "/api/workflows/W2", ""), http.StatusNotFound, "no workflow has the id W2")
	f.isProblem(f.send("GET", "/api/workflows/a%20b", ""), http.StatusUnprocessableEntity, "path.id")
	for _, code := range []pluginsdk.Code{pluginsdk.CodeNotFound, pluginsdk.CodeUnavailable} {
		f.host.toolErr = pluginsdk.Errorf(code, "no such tool")
		if got := f.send("GET", "/api/workflows", ""); got.raw != `{"served":false,"workflows":[]}`+"\n" {
			t.Errorf("%d %s", got.status, got.raw)
		}
		f.isProblem(f.send("GET", "/api/workflows/W1", ""), http.StatusNotFound, "`harness plugin enable workflow` turns it on")
		f.isProblem(f.send("POST", "/api/workflows", `{"text": "build it"}`), http.StatusConflict, "`harness plugin enable workflow` turns it on")
	}
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeDeadline, "it hangs")
	f.isProblem(f.send("GET", "/api/workflows", ""), http.StatusGatewayTimeout, "it hangs")
	f.host.toolErr = nil
	f.host.result = pluginsdk.ToolResult{Text: "hello"} // another plugin of this name
	if got := f.send("GET", "/api/workflows", ""); got.raw != `{"served":false,"workflows":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

// A person decides on a workflow, in their name, by the command that they could have typed; what the plugin refuses they read.
func TestWorkflowsAreDecidedOnInAPersonsName(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(oneWorkflow)}
	f.host.ended = pluginsdk.Run{State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Handled: true}}}
	typed := func() string {
		for _, asked := range f.host.asked {
			if said, is := asked.(pluginsdk.Submission); is && said.Scope == pluginsdk.ScopeAdmin {
				return said.Content
			}
		}
		return ""
	}
	for _, c := range []struct{ path, body, typed string }{
		{"continue", `{"rounds": 2, "redesigns": 1, "tries": 4, "costUsd": 12.5, "words": "Use the port 80"}`, "/workflow continue W1 redesigns=1 rounds=2 tries=4 cost=12.5 Use the port 80"},
		{"continue", `{"accept": true}`, "/workflow continue W1 accept=yes"},
		{"continue", `{"words": " cost=900 is too much\n"}`, "/workflow continue W1 -- cost=900 is too much"},
		{"continue", "", "/workflow continue W1"},
		{"stop", "", "/workflow stop W1"},
		{"abandon", "", "/workflow abandon W1"},
	} {
		f.host.asked = nil
		if got := f.send("POST", "/api/workflows/W1/"+c.path, c.body); got.status != http.StatusOK || got.body["id"] != "W1" || typed() != c.typed {
			t.Errorf("%s %s: %d %s, typed %q, want %q", c.path, c.body, got.status, got.raw, typed(), c.typed)
		}
	}
	f.host.ended.Outcomes[0].Error = "the workflow is running"
	f.isProblem(f.send("POST", "/api/workflows/W1/continue", `{}`), http.StatusConflict, "the workflow is running")
	f.host.asked, f.host.result = nil, pluginsdk.ToolResult{IsError: true, Text: "no workflow has the id W2"}
	f.isProblem(f.send("POST", "/api/workflows/W2/stop", ""), http.StatusNotFound, "no workflow has the id W2")
	if typed() != "" {
		t.Errorf("typed %q for a workflow that is not there", typed())
	}
}

// A workflow that is started is answered with, and it is the one that was not there before.
func TestAWorkflowIsStarted(t *testing.T) {
	f := serve(t)
	before := json.RawMessage(`{"workflows": [` + oneWorkflow + `]}`)
	f.host.result = pluginsdk.ToolResult{Structured: before}
	f.host.ended = pluginsdk.Run{State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Handled: true}}}
	f.host.submitted = func() {
		f.host.result.Structured = json.RawMessage(`{"workflows": [` + strings.ReplaceAll(oneWorkflow, "W1", "W2") + "," + oneWorkflow + `]}`)
	}
	for body, typed := range map[string]string{
		`{"text": "build a todo list", "dir": "/srv/my todo", "stages": ["architect", "builder-2"], "batch": 5, "costUsd": 7.5, "git": "yes"}`: `/workflow start dir="/srv/my todo" stages=architect,builder-2 batch=5 cost=7.5 git=yes build a todo list`,
		`{"text": "dir=/etc is not meant"}`:                         "/workflow start -- dir=/etc is not meant",
		`{"text": "build it", "dir": "/srv/\"todo\"", "git": "no"}`: `/workflow start dir='/srv/"todo"' git=no build it`,
	} {
		f.host.asked, f.host.result.Structured = nil, before
		got := f.send("POST", "/api/workflows", body)
		if got.status != http.StatusAccepted || got.body["id"] != "W2" {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
		if said, _ := f.host.asked[1].(pluginsdk.Submission); said.Content != typed {
			t.Errorf("%s types %q, want %q", body, said.Content, typed)
		}
	}
	for body, words := range map[string]string{
		`{"text": " "}`: "body.text", `{"text": "x", "dir": "todo"}`: "body.dir", `{"text": "x", "dir": "/a\nb"}`: "body.dir", `{"text": "x", "dir": "/a\"b'c"}`: "both kinds of quotes",
		`{"text": "x", "stages": ["a b"]}`: "body.stages", `{"text": "x", "batch": -1}`: "body.batch", `{"text": "x", "git": "perhaps"}`: "body.git",
	} {
		f.isProblem(f.send("POST", "/api/workflows", body), http.StatusUnprocessableEntity, words)
	}
	f.host.submitted = nil
	f.isProblem(f.send("POST", "/api/workflows", `{"text": "build it"}`), http.StatusConflict, "no workflow has begun by it")
	f.host.ended.Outcomes[0].Error = "another workflow works in /srv"
	f.isProblem(f.send("POST", "/api/workflows", `{"text": "build it"}`), http.StatusUnprocessableEntity, "another workflow works in /srv")

	ann := f.of(access.Caller{Token: pluginsdk.Token{ID: "t", Name: "ann", Scope: pluginsdk.ScopeWork}})
	ann.isProblem(ann.send("POST", "/api/workflows", `{"text": "x", "dir": "/srv"}`), http.StatusForbidden, "dir needs a token with the scope admin")
	ben := f.of(access.Caller{Token: pluginsdk.Token{ID: "t", Name: "ben", Scope: pluginsdk.ScopeChat}})
	ben.isProblem(ben.send("POST", "/api/workflows/W1/abandon", ""), http.StatusForbidden, "approve")
}

func TestWhichWorkflowATaskIsOf(t *testing.T) {
	for _, c := range []struct {
		task pluginsdk.Task
		want string
	}{
		{pluginsdk.Task{ID: "K", Plugin: "workflow", Labels: map[string]string{"workflow.root": "yes"}}, "K"},
		{pluginsdk.Task{ID: "K", Plugin: "workflow", Labels: map[string]string{"workflow.id": "W"}}, "W"},
		{pluginsdk.Task{ID: "K", Plugin: "delegation", Labels: map[string]string{"workflow.id": "W"}}, ""},
		{pluginsdk.Task{ID: "K", Plugin: "workflow"}, ""},
	} {
		if got := api.WorkflowOf(c.task); got != c.want {
			t.Errorf("%+v: %q, want %q", c.task, got, c.want)
		}
	}
}
