package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Consolidations are those that the plugin tells; where nobody consolidates, that is said.
func TestConsolidations(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"on": true, "more": true, "consolidations": [{"number": 7, "at": "2026-11-28T01:00:00Z", "by": "Ann", "state": "done", "costUsd": 0.01, "added": 2,
		"entries": [{"text": "- a pond (2026-11-28, message 9)", "day": "2026-11-28", "threadId": "T", "messageId": 9}], "files": [{"path": "context/memory.md", "before": "a", "after": "b"}]}]}`)}
	got := f.send("GET", "/api/memory?before=9", "")
	if got.status != http.StatusOK || !strings.Contains(got.raw, `"kept":true,"on":true`) || !strings.Contains(got.raw, `"number":7`) || !strings.Contains(got.raw, `"more":true`) || strings.Contains(got.raw, "entries") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if want := `call summaries__memory_log {"before":9}`; f.host.asked[0] != want {
		t.Errorf("asked %v, want %s", f.host.asked, want)
	}
	got = f.send("GET", "/api/memory/7", "")
	if got.status != http.StatusOK || !strings.Contains(got.raw, `"messageId":9`) || !strings.Contains(got.raw, `"after":"b"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.result = pluginsdk.ToolResult{IsError: true, Text: "there is no consolidation 8"}
	f.isProblem(f.send("GET", "/api/memory/8", ""), http.StatusNotFound, "no consolidation 8")
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such tool")
	if got := f.send("GET", "/api/memory", ""); got.raw != `{"kept":false,"on":false,"consolidations":[],"more":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.isProblem(f.send("GET", "/api/memory/7", ""), http.StatusNotFound, "is not running")
	f.isProblem(f.send("POST", "/api/memory/7/revert", ""), http.StatusNotFound, "is not running")
	f.isProblem(f.send("POST", "/api/memory/consolidate", ""), http.StatusConflict, "is not running")
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeDeadline, "it hangs")
	f.isProblem(f.send("GET", "/api/memory", ""), http.StatusGatewayTimeout, "it hangs")
}

// Who presses a button gives a command in their own name, which the plugin takes from people alone; what it refuses is said.
func TestMemoryIsChangedByAPerson(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"consolidations": [{"number": 7, "state": "reverted"}]}`)}
	f.host.ended = pluginsdk.Run{ID: "R", State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Name: "memory", Handled: true}}}
	submitted := func() pluginsdk.Submission {
		t.Helper()
		for i := len(f.host.asked) - 1; i >= 0; i-- {
			if one, ok := f.host.asked[i].(pluginsdk.Submission); ok {
				one.Key = ""
				return one
			}
		}
		t.Fatal("nothing was submitted")
		return pluginsdk.Submission{}
	}
	want := pluginsdk.Submission{Source: "web", Author: "a person", Content: "/memory revert 7", Scope: pluginsdk.ScopeAdmin}
	if got := f.send("POST", "/api/memory/7/revert", ""); got.status != http.StatusOK || !strings.Contains(got.raw, `"state":"reverted"`) || !reflect.DeepEqual(submitted(), want) {
		t.Errorf("%d %s, submitted %+v", got.status, got.raw, submitted())
	}
	want.Content = "/memory consolidate"
	f.isProblem(f.send("POST", "/api/memory/consolidate", ""), http.StatusConflict, "no consolidation has begun")
	f.host.result.Structured = json.RawMessage(`{"consolidations": [{"number": 7, "state": "failed", "why": "of another one", "entries": [{"text": "of another one"}]}]}`)
	f.host.submitted = func() {
		f.host.result.Structured = json.RawMessage(`{"consolidations": [{"number": 8, "state": "asked"}]}`)
	}
	if got := f.send("POST", "/api/memory/consolidate", ""); got.status != http.StatusAccepted || !strings.Contains(got.raw, `"number":8`) || strings.Contains(got.raw, "of another one") || !reflect.DeepEqual(submitted(), want) {
		t.Errorf("%d %s, submitted %+v", got.status, got.raw, submitted())
	}
	f.host.ended.Outcomes[0].Error = "memory.md has changed since consolidation 7"
	f.isProblem(f.send("POST", "/api/memory/7/revert", ""), http.StatusConflict, "memory.md has changed")
	f.host.ended.Outcomes, f.host.ended.State, f.host.ended.Error = nil, pluginsdk.RunFailed, "a budget is used up"
	f.isProblem(f.send("POST", "/api/memory/consolidate", ""), http.StatusConflict, "a budget is used up")
}
