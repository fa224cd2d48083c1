package budget

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The agent, and the dashboard, read the budgets as people do, and change none.
func TestTheToolTellsTheBudgets(t *testing.T) {
	w := newWorld(t, nil)
	w.say("set all 5 week")
	w.say("set each 1 day thread=* soft")
	answer, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Name: toolList, Input: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Confirmed bool
		Budgets   []told
	}
	if err := json.Unmarshal(answer.Result.Structured, &told); err != nil {
		t.Fatal(err)
	}
	if answer.Result.Text != w.say("list") || !told.Confirmed || len(told.Budgets) != 3 {
		t.Fatalf("%+v", answer.Result)
	}
	for _, one := range told.Budgets {
		switch one.Name {
		case "all":
			if one.USD != 5 || one.Window != "week" || one.Of != "all" || one.Each || one.Soft || one.Ends.IsZero() {
				t.Errorf("%+v", one)
			}
		case "each":
			if one.USD != 1 || one.Of != "thread=*" || !one.Each || !one.Soft {
				t.Errorf("%+v", one)
			}
		}
	}
	if _, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Name: "budget_set", Input: json.RawMessage(`{"usd": 1000}`)}); err == nil || !strings.Contains(err.Error(), "budget_set") {
		t.Errorf("an agent sets a budget: %v", err)
	}
}
