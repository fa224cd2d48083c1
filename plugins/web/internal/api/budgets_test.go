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
	f.host.result = pluginsdk.ToolResult{Structured: json.RawMessage(`{"confirmed": true, "budgets": [{"name": "daily", "usd": 25, "window": "day", "of": "billed", "spentUsd": 3}]}`)}
	got := f.send("GET", "/api/budgets", "")
	want := `{"kept":true,"confirmed":true,"budgets":[{"name":"daily","usd":25,"window":"day","of":"billed","soft":false,"spentUsd":3,"setAsideUsd":0,"each":false}]}` + "\n"
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
