package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// budgetsTool tells the budgets. The plugin that keeps them knows them; without it there are none.
const budgetsTool = "metrics__budgets"

// Budget is what turns of the agent may cost.
type Budget struct {
	Name        string    `json:"name"`
	USD         float64   `json:"usd" doc:"What may be spent in a window; 0 where it is in tokens, or a share"`
	Tokens      float64   `json:"tokens,omitempty" doc:"The same in tokens; spentUsd and setAsideUsd are tokens then, too"`
	Share       float64   `json:"share,omitempty" doc:"In per cent: turns begin while no more of each window of the plan is used"`
	Window      string    `json:"window" doc:"How long it lasts: day, week, month, ever (in all)"`
	Of          string    `json:"of" doc:"What it counts, such as all, billed, thread=ID, cron=NAME"`
	Soft        bool      `json:"soft" doc:"People are told when it is passed, and nothing is denied"`
	SpentUSD    float64   `json:"spentUsd" doc:"In this window; 0 where each"`
	SetAsideUSD float64   `json:"setAsideUsd" doc:"For turns that are not over; 0 where each"`
	NotionalUSD float64   `json:"notionalUsd,omitempty" doc:"What of spentUsd is of turns on a plan, which nobody is billed"`
	Each        bool      `json:"each" doc:"Each of what it counts has the budget for itself"`
	Most        []Spender `json:"most,omitempty" doc:"Where each: who has spent the most in this window, 3 at most"`
	UsedUp      int       `json:"usedUp,omitempty" doc:"Where each: how many have used it up"`
	Begins      time.Time `json:"begins,omitzero" doc:"When its window began"`
	Ends        time.Time `json:"ends,omitzero" doc:"When it begins anew"`
}

// Spender is one of those that each have a budget for themselves.
type Spender struct {
	Of          string  `json:"of" doc:"The thread, the schedule, the plugin or the account"`
	Name        string  `json:"name,omitempty" doc:"Of a thread"`
	SpentUSD    float64 `json:"spentUsd" doc:"Tokens, of a budget in tokens"`
	SetAsideUSD float64 `json:"setAsideUsd" doc:"For turns that are not over"`
	NotionalUSD float64 `json:"notionalUsd,omitempty" doc:"What of spentUsd is of turns on a plan, which nobody is billed"`
}

// BudgetSet is what a budget is to be. What is absent stays as it is, or is as usual.
type BudgetSet struct {
	USD    float64 `json:"usd,omitempty" minimum:"0.01" maximum:"1000000" doc:"Dollars, or else tokens or share"`
	Tokens int64   `json:"tokens,omitempty" minimum:"1000"`
	Share  float64 `json:"share,omitempty" minimum:"1" maximum:"100" doc:"Of each window of the plan, in per cent"`
	Window string  `json:"window,omitempty" enum:"day,week,month,ever"`
	Of     string  `json:"of,omitempty" maxLength:"120" pattern:"^[^\\s]+$" doc:"What it counts: all, billed, thread=ID, task=ID, cron=NAME, plugin=NAME, account=NAME; * in the place of the one: each"`
	Soft   *bool   `json:"soft,omitempty" doc:"People are told when it is passed, and nothing is stopped"`
}

type budgetInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9-]{0,39}$" maxLength:"40"`
}

type setBudgetInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9-]{0,39}$" maxLength:"40"`
	Body BudgetSet
}

// Budgets are all of them.
type Budgets struct {
	Kept      bool     `json:"kept" doc:"Somebody keeps budgets: the plugin metrics serves"`
	Confirmed bool     `json:"confirmed" doc:"They stop turns; else somebody has to confirm them first"`
	Budgets   []Budget `json:"budgets" nullable:"false"`
}

type budgetsOutput struct{ Body Budgets }

func (h *handlers) registerBudgets(api huma.API) {
	const path = "/api/budgets/{name}"
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-budgets", "/api/budgets", "What the agent may cost, and what is spent of it")), h.listBudgets)
	huma.Register(api, needs(pluginsdk.ScopeApprove, put("set-budget", path, "Make a budget, or change it")), h.setBudget)
	huma.Register(api, needs(pluginsdk.ScopeApprove, remove("delete-budget", path, "Remove a budget")), h.deleteBudget)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("confirm-budgets", "/api/budgets/confirm", "Have the budgets stop turns", http.StatusOK)), h.confirmBudgets)
}

func (h *handlers) setBudget(ctx context.Context, input *setBudgetInput) (*budgetsOutput, error) {
	body, words := input.Body, []string{"set", input.Name}
	number := func(of float64) string { return strconv.FormatFloat(of, 'f', -1, 64) }
	if body.USD > 0 {
		words = append(words, number(body.USD))
	}
	if body.Tokens > 0 {
		words = append(words, strconv.FormatInt(body.Tokens, 10), "tokens")
	}
	if body.Share > 0 {
		words = append(words, number(body.Share)+"%")
	}
	for _, word := range []string{body.Window, body.Of} {
		if word != "" {
			words = append(words, word)
		}
	}
	if body.Soft != nil {
		words = append(words, map[bool]string{true: "soft", false: "hard"}[*body.Soft])
	}
	return h.typeBudget(ctx, "set-budget", words...)
}

func (h *handlers) deleteBudget(ctx context.Context, input *budgetInput) (*struct{}, error) {
	_, err := h.typeBudget(ctx, "delete-budget", "rm", input.Name)
	return nil, err
}

func (h *handlers) confirmBudgets(ctx context.Context, _ *struct{}) (*budgetsOutput, error) {
	return h.typeBudget(ctx, "confirm-budgets", "confirm")
}

// typeBudget has the plugin that keeps the budgets do what the command /budget says: it takes changes from people
// alone.
func (h *handlers) typeBudget(ctx context.Context, operation string, words ...string) (*budgetsOutput, error) {
	const absent = "nobody keeps budgets: `harness plugin enable metrics` turns that on"
	if err := h.typeCommand(ctx, operation, "/budget "+strings.Join(words, " "), absent, huma.Error422UnprocessableEntity); err != nil {
		return nil, err
	}
	return h.listBudgets(ctx, nil)
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
