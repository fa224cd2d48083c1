package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The budgets are those that the plugin tells; where nobody keeps some, that is said.
func TestBudgets(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"confirmed": true, "budgets": [{"name": "daily", "usd": 25, "window": "day", "of": "billed", "spentUsd": 3},
		{"name": "jobs", "usd": 1, "window": "day", "of": "cron=*", "each": true, "usedUp": 1, "most": [{"of": "burn", "spentUsd": 2, "setAsideUsd": 0, "notionalUsd": 1}]}]}`)}
	got := f.send("GET", "/api/budgets", "")
	want := `{"kept":true,"confirmed":true,"budgets":[{"name":"daily","usd":25,"window":"day","of":"billed","soft":false,"spentUsd":3,"setAsideUsd":0,"each":false},` +
		`{"name":"jobs","usd":1,"window":"day","of":"cron=*","soft":false,"spentUsd":0,"setAsideUsd":0,"each":true,"most":[{"of":"burn","spentUsd":2,"setAsideUsd":0,"notionalUsd":1}],"usedUp":1}]}` + "\n"
	if got.status != http.StatusOK || got.raw != want {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such tool")
	if got := f.send("GET", "/api/budgets", ""); got.raw != `{"kept":false,"confirmed":false,"budgets":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.toolErr = pluginsdk.Errorf(pluginsdk.CodeDeadline, "it hangs")
	f.isProblem(f.send("GET", "/api/budgets", ""), http.StatusGatewayTimeout, "it hangs")
}

// A budget is changed by who may approve, in their name, as the command that they could have typed; what the
// plugin refuses they read.
func TestBudgetsAreChangedInAPersonsName(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"confirmed": true, "budgets": []}`)}
	f.host.ended = pluginsdk.Run{State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Handled: true}}}
	for _, c := range []struct{ method, path, body, typed string }{
		{"PUT", "/api/budgets/daily", `{"usd": 25.5, "window": "week", "of": "cron=*", "soft": true}`, "/budget set daily 25.5 week cron=* soft"},
		{"PUT", "/api/budgets/words", `{"tokens": 2000000, "soft": false}`, "/budget set words 2000000 tokens hard"},
		{"PUT", "/api/budgets/share", `{"share": 50}`, "/budget set share 50%"},
		{"DELETE", "/api/budgets/daily", "", "/budget rm daily"},
		{"POST", "/api/budgets/confirm", "", "/budget confirm"},
	} {
		f.host.asked = nil
		if c.method == "DELETE" {
			f.answersNothing(c.method, c.path)
		} else if got := f.send(c.method, c.path, c.body); got.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.raw)
		}
		if said, _ := f.host.asked[0].(pluginsdk.Submission); said.Content != c.typed || said.Scope != pluginsdk.ScopeAdmin || said.Key == "" {
			t.Errorf("%s %s types %+v, want %q", c.method, c.path, f.host.asked[0], c.typed)
		}
	}
	for _, body := range []string{`{"of": "all soft"}`, `{"of": "all\nconfirm"}`, `{"usd": -1}`, `{"window": "hour"}`} {
		if got := f.send("PUT", "/api/budgets/daily", body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
	}
	f.host.ended.Outcomes[0].Error = "there is no budget"
	f.isProblem(f.send("DELETE", "/api/budgets/daily", ""), http.StatusUnprocessableEntity, "there is no budget")
	f.host.ended = pluginsdk.Run{State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{}}}
	f.isProblem(f.send("DELETE", "/api/budgets/daily", ""), http.StatusConflict, "harness plugin enable metrics")

	// A change that takes long holds later: who reads of an error sends it again.
	f.host.waitErr = pluginsdk.Errorf(pluginsdk.CodeDeadline, "it is not over")
	f.isProblem(f.send("PUT", "/api/budgets/daily", `{"usd": 5}`), http.StatusConflict, "has not been carried out within 20s, and will be as soon as its plugin has time: do not send it again")
}
