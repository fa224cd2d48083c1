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
	SpentUSD    float64 `json:"spentUsd"`
	SetAsideUSD float64 `json:"setAsideUsd"`
	// NotionalUSD is what of SpentUSD is of turns on a plan: nobody is billed that.
	NotionalUSD float64   `json:"notionalUsd,omitempty"`
	Each        bool      `json:"each"`
	Most        []spender `json:"most,omitempty"`   // with Each: who has spent the most in the present window, 3 at most
	UsedUp      int       `json:"usedUp,omitempty"` // with Each: how many have used it up
	Begins      time.Time `json:"begins,omitzero"`  // its window has begun then
	Ends        time.Time `json:"ends,omitzero"`    // it begins anew then
}

// CallTool answers the tool.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if call.Name != toolList {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
	}
	known := p.known.Load()
	stand, err := p.standOfAll(ctx, known)
	if err != nil {
		return nil, err
	}
	text, zone := p.listed(known, stand), p.settings.Load().zone
	all := make([]told, 0, len(known.ledger.Budgets))
	for i, b := range known.ledger.Budgets {
		_, ends := b.own(p.now(), zone)
		all = append(all, told{
			Name: b.Name, USD: b.USD, Tokens: b.Tokens, Share: b.Share, Window: b.Window, Of: b.Scope.String(), Soft: b.Soft,
			SpentUSD: stand[i].SpentUSD, SetAsideUSD: stand[i].SetAsideUSD, NotionalUSD: stand[i].notional,
			Each: b.Share == 0 && b.Scope.Of == each, Most: stand[i].most, UsedUp: len(stand[i].usedUp),
			Begins: b.Window.begins(p.now(), zone), Ends: ends,
		})
	}
	structured, err := json.Marshal(map[string]any{"confirmed": known.ledger.Confirmed, "budgets": all})
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: text, Structured: structured}}, nil
}
