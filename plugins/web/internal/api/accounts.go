package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// AccountRequest is what an account of the agent's is made from.
type AccountRequest struct {
	Name   string                `json:"name" minLength:"1" maxLength:"40" pattern:"^[a-z0-9-]+$" doc:"a to z, 0 to 9 and -; default, none and fallback mean something else and are refused"`
	Kind   pluginsdk.AccountKind `json:"kind" enum:"login,key" doc:"login: a subscription; somebody then logs in on the daemon's machine (harness account login NAME). key: an API key"`
	Key    string                `json:"key,omitempty" maxLength:"8192" writeOnly:"true" doc:"Of the kind key: the API key. It is kept sealed, and is in no answer"`
	Author string                `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the audit log says so. With a token, its name in place of this"`
}

// AccountChange says which fields of an account change, and to what.
type AccountChange struct {
	Default       *bool    `json:"default,omitempty" doc:"Only true: it is used where thread and task name none, and the account that was the default is not any more"`
	Overage       *bool    `json:"overage,omitempty" doc:"Whether paid use beyond the plan is allowed"`
	Fallback      *string  `json:"fallback,omitempty" maxLength:"40" doc:"The account of the kind key with which a person may let a parked run go on; none when empty"`
	DailyLimitUSD *float64 `json:"dailyLimitUsd,omitempty" minimum:"0" maximum:"100000" doc:"Of the kind key: what it may cost in a day (UTC) as somebody's fallback; 0: it is nobody's fallback"`
	Key           *string  `json:"key,omitempty" minLength:"1" maxLength:"8192" writeOnly:"true" doc:"Of the kind key: another API key in place of the one that it has. It is in no answer"`
	Author        string   `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the audit log says so. With a token, its name in place of this"`
}

type (
	accountInput       struct{ Body AccountRequest }
	accountChangeInput struct {
		Name string `path:"name" maxLength:"40"`
		Body AccountChange
	}
	removeAccountInput struct {
		Name   string `path:"name" maxLength:"40"`
		Author string `query:"author" maxLength:"200" doc:"Who wants it; the audit log says so. With a token, its name in place of this"`
	}
	accountOutput  struct{ Body pluginsdk.Account }
	accountsOutput struct {
		Body struct {
			Accounts []pluginsdk.Account `json:"accounts" nullable:"false" doc:"environment first, then the others by name"`
		}
	}
	rightsOutput struct{ Body pluginsdk.AgentRights }
)

// Plan is what is left of the plans of the agent's accounts, and what waits for it.
type Plan struct {
	Accounts []pluginsdk.Account `json:"accounts" nullable:"false" doc:"All accounts, without the directory of a login; a reason with a path in it is not told either"`
	Parked   []Run               `json:"parked" nullable:"false" doc:"The runs that wait for a limit of a plan to reset, the oldest first"`
	More     bool                `json:"more" doc:"There may be others: not all runs that are queued were looked at"`
}

type planOutput struct{ Body Plan }

// parkedPages is how many pages of queued runs are looked through for parked ones, with
// parkedPage runs each.
const (
	parkedPages = 10
	parkedPage  = 1000
)

func (h *handlers) registerAccounts(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-plan", "/api/plan", "What is left of the plans of the agent's accounts, and the runs that wait for them")), h.getPlan)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, get("list-accounts", "/api/accounts", "The agent's accounts")), h.listAccounts)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post("create-account", "/api/accounts", "Add an account of the agent's", http.StatusCreated)), h.createAccount)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, patch("update-account", "/api/accounts/{name}", "Change an account")), h.updateAccount)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, remove("delete-account", "/api/accounts/{name}", "Remove an account; an absent one is no error")), h.deleteAccount)
	huma.Register(api, needs(pluginsdk.ScopeChat, get("get-rights", "/api/threads/{id}/rights", "What the agent may do in a thread")), h.getRights)
}

func (h *handlers) getPlan(ctx context.Context, _ *struct{}) (*planOutput, error) {
	answer, err := h.host.Accounts.List(ctx, &pluginsdk.ListAccountsRequest{})
	if err != nil {
		return nil, h.fail("get-plan", err)
	}
	output := &planOutput{Body: Plan{Accounts: list(slices.Clone(answer.Accounts)), Parked: []Run{}}}
	for i := range output.Body.Accounts {
		account := &output.Body.Accounts[i]
		account.Home = ""
		if strings.Contains(account.Reason, "/") { // a path of the daemon's machine
			account.Reason = "not usable; GET /api/accounts, with the scope admin, says why"
		}
	}
	query := pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunQueued}, Limit: parkedPage}
	for range parkedPages {
		page, err := h.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: query})
		if err != nil {
			return nil, h.fail("get-plan", err)
		}
		if len(page.Runs) == 0 {
			return output, nil
		}
		for _, run := range page.Runs {
			if run.Parked != nil {
				output.Body.Parked = append(output.Body.Parked, summary(run))
			}
		}
		query.After = page.Runs[len(page.Runs)-1].ID
	}
	output.Body.More = true
	return output, nil
}

func (h *handlers) listAccounts(ctx context.Context, _ *struct{}) (*accountsOutput, error) {
	answer, err := h.host.Accounts.List(ctx, &pluginsdk.ListAccountsRequest{})
	if err != nil {
		return nil, h.fail("list-accounts", err)
	}
	output := &accountsOutput{}
	output.Body.Accounts = list(answer.Accounts)
	return output, nil
}

func (h *handlers) createAccount(ctx context.Context, input *accountInput) (*accountOutput, error) {
	request := input.Body
	if request.Kind == pluginsdk.AccountKey && request.Key == "" {
		return nil, invalid("key", "an account of the kind key needs its API key")
	}
	if request.Kind == pluginsdk.AccountLogin && request.Key != "" {
		return nil, invalid("key", "an account of the kind login has no key: somebody logs in on the daemon's machine (harness account login "+request.Name+")")
	}
	answer, err := h.host.Accounts.Add(ctx, &pluginsdk.AddAccountRequest{
		Name: request.Name, Kind: request.Kind, Key: request.Key, Author: cmp.Or(author(ctx, request.Author), somebody),
	})
	if err != nil {
		return nil, h.fail("create-account", err)
	}
	return &accountOutput{Body: answer.Account}, nil
}

func (h *handlers) updateAccount(ctx context.Context, input *accountChangeInput) (*accountOutput, error) {
	change := input.Body
	if change.Default != nil && !*change.Default {
		return nil, invalid("default", "only true: name another account as the default")
	}
	answer, err := h.host.Accounts.Update(ctx, &pluginsdk.UpdateAccountRequest{
		Name: input.Name, Author: cmp.Or(author(ctx, change.Author), somebody),
		Patch: pluginsdk.AccountPatch{
			Default: change.Default, Overage: change.Overage, Fallback: change.Fallback,
			DailyLimitUSD: change.DailyLimitUSD, Key: change.Key,
		},
	})
	if err != nil {
		return nil, h.fail("update-account", err)
	}
	return &accountOutput{Body: answer.Account}, nil
}

func (h *handlers) deleteAccount(ctx context.Context, input *removeAccountInput) (*struct{}, error) {
	request := &pluginsdk.RemoveAccountRequest{Name: input.Name, Author: cmp.Or(author(ctx, input.Author), somebody)}
	if _, err := h.host.Accounts.Remove(ctx, request); err != nil {
		return nil, h.fail("delete-account", err)
	}
	return nil, nil //nolint:nilnil // huma's way to answer without a body
}

func (h *handlers) getRights(ctx context.Context, input *idInput) (*rightsOutput, error) {
	answer, err := h.host.Accounts.Rights(ctx, &pluginsdk.RightsRequest{ThreadID: input.ID})
	if err != nil {
		return nil, h.fail("get-rights", err)
	}
	return &rightsOutput{Body: answer.Rights}, nil
}
