package budget

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolList is the tool that tells the budgets, to the agent and to programs. Nothing is changed by a tool: an agent
// does not say what it may cost.
const toolList = "budgets"

func tools() []pluginsdk.ToolSpec {
	return []pluginsdk.ToolSpec{{
		Name: toolList, Description: "The budgets for what the agent costs, and what is spent of each. You cannot change them: tell the person how (harness budget set).",
		InputSchema: json.RawMessage(`{"type": "object", "additionalProperties": false}`),
	}}
}

// told is a budget as programs read it.
type told struct {
	Name   string  `json:"name"`
	USD    float64 `json:"usd"`              // 0: it is in tokens, or a share
	Tokens float64 `json:"tokens,omitempty"` // then SpentUSD and SetAsideUSD are tokens, too
	Share  float64 `json:"share,omitempty"`  // of each window of the plan, in per cent
	Window Window  `json:"window"`
	Of     string  `json:"of"` // what it counts, as it is typed
	Soft   bool    `json:"soft"`
	// SpentUSD and SetAsideUSD are of a budget that has one account; Each: it has one for each of what it counts.
	SpentUSD    float64   `json:"spentUsd"`
	SetAsideUSD float64   `json:"setAsideUsd"`
	Each        bool      `json:"each"`
	Begins      time.Time `json:"begins,omitzero"` // its window has begun then
	Ends        time.Time `json:"ends,omitzero"`   // it begins anew then
}

// CallTool answers the tool.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if call.Name != toolList {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
	}
	text, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	known := p.known.Load()
	all := make([]told, 0, len(known.ledger.Budgets))
	for _, b := range known.ledger.Budgets {
		account, ends := b.own(p.now(), p.settings.Load().zone)
		one := told{Name: b.Name, USD: b.USD, Tokens: b.Tokens, Share: b.Share, Window: b.Window, Of: b.Scope.String(), Soft: b.Soft, Each: account == "" && b.Share == 0, Begins: b.Window.begins(p.now(), p.settings.Load().zone), Ends: ends}
		if account != "" {
			stands, err := p.stands(ctx, account)
			if err != nil {
				return nil, err
			}
			one.SpentUSD, one.SetAsideUSD = stands.SpentUSD, stands.SetAsideUSD
		}
		all = append(all, one)
	}
	structured, err := json.Marshal(map[string]any{"confirmed": known.ledger.Confirmed, "budgets": all})
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: text, Structured: structured}}, nil
}
