package web

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whoever may read sees how the budgets stand, and what waits for them; who may approve changes them, also
// without a script.
func TestThePageOfBudgets(t *testing.T) {
	s := demanding(t)
	now := time.Now().UTC()
	told, err := json.Marshal(map[string]any{"confirmed": false, "budgets": []map[string]any{
		{"name": "daily", "usd": 10, "window": "day", "of": "billed", "spentUsd": 9, "notionalUsd": 2, "setAsideUsd": 1, "begins": now.Add(-12 * time.Hour), "ends": now.Add(12 * time.Hour)},
		{"name": "words", "tokens": 2e6, "window": "week", "of": "cron=*", "each": true, "soft": true, "usedUp": 1, "most": []map[string]any{{"of": "burn", "spentUsd": 3e6}, {"of": "t1", "name": "The attic " + hostile, "spentUsd": 940}}},
		{"name": "background", "share": 50, "of": "plugin=" + hostile},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.host.Tool = func(string, json.RawMessage) (pluginsdk.ToolResult, error) {
		return pluginsdk.ToolResult{Structured: told}, nil
	}
	s.host.AddRun(pluginsdk.Run{ID: "P", ThreadID: "T", Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning})
	s.host.ParkRun("P", pluginsdk.Parked{Plugin: "metrics", Budget: "daily", Reason: "the budget daily is used up"})
	sees := []string{"$10.00 a day", "passed", "$9.00 spent ($2.00 of it notional)", "1 passed", "burn: 3M tokens spent", "The attic", "$1.00 set aside", "$18.00 at this pace", "1 message waiting", "2M tokens a week", "50 % of each window of the plan", "Nobody has confirmed a budget"}
	ben := s.logIn("Ben", pluginsdk.ScopeChat)
	ben.reads("/budgets", sees, "<form method=\"post\" action=\"/budgets", "New budget", hostile)
	s.expect("what is an approver's", ben.post("/budgets/confirm"), http.StatusForbidden, "needs a token with the scope approve")
	ann := s.logIn("Ann", pluginsdk.ScopeApprove)
	ann.reads("/budgets", append(sees, "New budget", `action="/budgets/budget/daily"`, `action="/budgets/budget/daily/remove"`, `action="/budgets/confirm"`, `id="f-amount-daily"`), hostile)
	s.expect("a budget that is there", ann.post("/budgets", "name", "daily", "amount", "5"), http.StatusUnprocessableEntity, "a budget has this name already")
	s.expect("an amount that is none", ann.post("/budgets/budget/daily", "amount", "much"), http.StatusUnprocessableEntity, "must be a number above 0, got")
	ann.reads("/runs/P", []string{"waits for budget", "Waits for the budget daily, goes on when that is raised", `href="/budgets"`})
	ann.reads("/plan", []string{"Goes on when the budget is raised"})
}
