package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// budgetsTool tells the budgets. The plugin that keeps them knows them; without it there are none.
const budgetsTool = "metrics__budgets"

// Budget is what turns of the agent may cost.
type Budget struct {
	Name        string    `json:"name"`
	USD         float64   `json:"usd" doc:"What may be spent in a window"`
	Window      string    `json:"window" doc:"How long it lasts: day, week, month"`
	Of          string    `json:"of" doc:"What it counts, such as all, billed, thread=ID, cron=NAME"`
	Soft        bool      `json:"soft" doc:"People are told when it is passed, and nothing is denied"`
	SpentUSD    float64   `json:"spentUsd" doc:"In this window; 0 where each"`
	SetAsideUSD float64   `json:"setAsideUsd" doc:"For turns that are not over; 0 where each"`
	Each        bool      `json:"each" doc:"Each of what it counts has the budget for itself"`
	Ends        time.Time `json:"ends,omitzero" doc:"When it begins anew"`
}

// Budgets are all of them.
type Budgets struct {
	Kept      bool     `json:"kept" doc:"Somebody keeps budgets: the plugin metrics serves"`
	Confirmed bool     `json:"confirmed" doc:"They stop turns; else somebody has to confirm them first"`
	Budgets   []Budget `json:"budgets" nullable:"false"`
}

type budgetsOutput struct{ Body Budgets }

func (h *handlers) registerBudgets(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-budgets", "/api/budgets", "What the agent may cost, and what is spent of it")), h.listBudgets)
}

func (h *handlers) listBudgets(ctx context.Context, _ *struct{}) (*budgetsOutput, error) {
	none := &budgetsOutput{Body: Budgets{Budgets: []Budget{}}}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: budgetsTool, Input: json.RawMessage("{}")})
	switch code := pluginsdk.CodeOf(err); {
	case code == pluginsdk.CodeNotFound || code == pluginsdk.CodeUnavailable:
		return none, nil
	case err != nil:
		return nil, h.fail("list-budgets", err)
	}
	output := &budgetsOutput{Body: Budgets{Kept: true}}
	if err := json.Unmarshal(answer.Result.Structured, &output.Body); err != nil {
		return none, nil // another plugin has the name
	}
	output.Body.Budgets = list(output.Body.Budgets)
	return output, nil
}
