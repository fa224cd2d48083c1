package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Accounts returns the accounts of the agent, environment first.
func (c *Client) Accounts(ctx context.Context) ([]pluginsdk.Account, error) {
	var answer struct {
		Accounts []pluginsdk.Account `json:"accounts"`
	}
	err := c.get(ctx, "/api/accounts", nil, &answer)
	return answer.Accounts, err
}

// AddAccount makes an account.
func (c *Client) AddAccount(ctx context.Context, request pluginsdk.AddAccountRequest) (made pluginsdk.Account, err error) {
	body := map[string]any{"name": request.Name, "kind": request.Kind}
	if request.Key != "" {
		body["key"] = request.Key
	}
	err = c.post(ctx, "/api/accounts", body, &made)
	return made, err
}

// UpdateAccount changes the fields of an account that are set.
func (c *Client) UpdateAccount(ctx context.Context, name string, patch pluginsdk.AccountPatch) (after pluginsdk.Account, err error) {
	err = c.patch(ctx, "/api/accounts/"+url.PathEscape(name), patch, &after)
	return after, err
}

// RemoveAccount forgets an account; an absent one is no error.
func (c *Client) RemoveAccount(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/api/accounts/"+url.PathEscape(name), nil, nil, nil)
}

// Plan is what is left of the plans of the agent's accounts, and what waits for them.
type Plan struct {
	Accounts []pluginsdk.Account `json:"accounts"`
	Parked   []Run               `json:"parked"`
	More     bool                `json:"more"` // there may be other parked runs
	// ParkedTotal is how many runs are parked; 0: at least those of Parked.
	ParkedTotal int `json:"parkedTotal,omitempty"`
}

// Plan returns what is left of the plans.
func (c *Client) Plan(ctx context.Context) (plan Plan, err error) {
	err = c.get(ctx, "/api/plan", nil, &plan)
	return plan, err
}

// ResumeRun has a parked run go on now: as it is, with another model, or with the fallback of
// its account.
func (c *Client) ResumeRun(ctx context.Context, id, model string, fallback bool) (run Run, err error) {
	body := map[string]any{"fallback": fallback}
	if model != "" {
		body["model"] = model
	}
	err = c.post(ctx, "/api/runs/"+url.PathEscape(id)+"/resume", body, &run)
	return run, err
}

// Rights compares what the agent may do in a thread with what Harness has told it.
func (c *Client) Rights(ctx context.Context, threadID string) (rights pluginsdk.AgentRights, err error) {
	err = c.patient().get(ctx, "/api/threads/"+url.PathEscape(threadID)+"/rights", nil, &rights)
	return rights, err
}

// Usage sums up what turns of the agent have used; by is what they are summed up by.
func (c *Client) Usage(ctx context.Context, query url.Values) (usage pluginsdk.UsageResponse, err error) {
	var answer struct {
		Total    pluginsdk.UsageSum   `json:"total"`
		Sums     []pluginsdk.UsageSum `json:"sums"`
		Unpriced []pluginsdk.UsageSum `json:"unpriced"`
	}
	err = c.get(ctx, "/api/usage", query, &answer)
	return pluginsdk.UsageResponse{Total: answer.Total, Sums: answer.Sums, Unpriced: answer.Unpriced}, err
}
