package pluginsdk

import (
	"context"
	"strings"
	"time"
)

// AccountKind says what the agent authenticates with.
type AccountKind string

// The kinds of account. The account of the kind environment is named environment and is
// always there: whatever the daemon's own environment and home directory authenticate with.
const (
	AccountEnvironment AccountKind = "environment"
	AccountLogin       AccountKind = "login" // a subscription; the agent's program keeps it in a home of its own
	AccountKey         AccountKind = "key"   // an API key, kept sealed
)

// EnvironmentAccount is the name of the account that is always there.
const EnvironmentAccount = "environment"

// Account is a login or an API key of the agent's.
type Account struct {
	Name    string      `json:"name"`
	Kind    AccountKind `json:"kind"`
	Default bool        `json:"default"`          // it is used where thread and task name none
	Plan    bool        `json:"plan"`             // it is the login of a subscription, or windows of a plan were seen: its dollars are notional
	Usable  bool        `json:"usable"`           // the agent can be started with it, as far as that is known
	Reason  string      `json:"reason,omitempty"` // why it is not usable
	// Overage says that paid use beyond the plan is allowed. Without it a turn that the plan
	// does not cover waits, also where the account itself would pay.
	Overage bool `json:"overage"`
	// Fallback is the account of the kind key with which a person may let a parked run of
	// this account go on; empty: none.
	Fallback string `json:"fallback,omitempty"`
	// DailyLimitUSD is what an account of the kind key may cost in a day (UTC) as somebody's
	// fallback; 0: it is nobody's fallback.
	DailyLimitUSD float64 `json:"dailyLimitUsd,omitempty"`
	// SpentTodayUSD is what the account has cost today (UTC) as somebody's fallback, with
	// what is set aside for runs that are not over.
	SpentTodayUSD float64      `json:"spentTodayUsd,omitempty"`
	Home          string       `json:"home,omitempty"` // of a login: the directory that the agent's program keeps it in
	CreatedAt     time.Time    `json:"createdAt,omitzero"`
	Windows       []PlanWindow `json:"windows,omitempty"`
}

// PlanStatus says whether a window of a plan lets turns through.
type PlanStatus string

// The statuses of a window, which are the API's words.
const (
	PlanAllowed  PlanStatus = "allowed"
	PlanWarning  PlanStatus = "warning"
	PlanRejected PlanStatus = "rejected" // it is used up
)

// PlanWindow is a span of time in which the use of a plan is limited, as it was last seen.
type PlanWindow struct {
	Account  string     `json:"account"`
	Name     string     `json:"name"`            // five_hour, seven_day, seven_day_opus, ...: the agent's own names
	Model    string     `json:"model,omitempty"` // whose use it limits; empty: that of all models
	Used     float64    `json:"used"`            // from 0 to 1
	Status   PlanStatus `json:"status"`
	ResetsAt time.Time  `json:"resetsAt,omitzero"` // when it begins anew; zero: it was not told
	Overage  bool       `json:"overage"`           // paid use beyond the plan is under way
	SeenAt   time.Time  `json:"seenAt,omitzero"`
	// FullAt is when it is used up at the pace so far; zero: not before it resets.
	FullAt time.Time `json:"fullAt,omitzero"`
}

// NotePlanWarning is the event in the metadata of a notification of the core's that says how
// much of a plan's limit is used.
const NotePlanWarning = "plan_warning"

// WindowName is what people call a window of a plan: "five-hour limit", "weekly limit for Opus".
// name is the agent's own name of it, model the one whose use it limits.
func WindowName(name, model string) string {
	words := strings.TrimSpace(strings.ReplaceAll(name, "_", " ") + " limit")
	switch {
	case name == "five_hour":
		words = "five-hour limit"
	case name == "seven_day" || name != "" && model != "":
		words = "weekly limit"
	case strings.HasPrefix(name, "seven_day_"):
		words, model = "weekly limit", strings.TrimPrefix(name, "seven_day_")
	}
	if model != "" {
		words += " for " + strings.ToUpper(model[:1]) + model[1:]
	}
	return words
}

// Accounts are the logins and keys of the agent's, and what is left of their plans.
type Accounts interface {
	// List returns all accounts, environment first and the others by name, with the windows
	// that were seen of their plans. Needs installation.read.
	List(ctx context.Context, request *ListAccountsRequest) (*ListAccountsResponse, error)
	// Add makes an account. CodeConflict: the name is taken. Needs accounts.write.
	Add(ctx context.Context, request *AddAccountRequest) (*AddAccountResponse, error)
	// Update changes the fields of an account that are set. Needs accounts.write.
	Update(ctx context.Context, request *UpdateAccountRequest) (*UpdateAccountResponse, error)
	// Remove forgets an account, with its key; of a login the directory stays. The account
	// environment cannot be removed, nor the default, nor one that a thread, a run that is not
	// over or another account names (CodeStale); an absent one is no error. Needs
	// accounts.write.
	Remove(ctx context.Context, request *RemoveAccountRequest) (*RemoveAccountResponse, error)
	// Rights compares what the agent may do in a thread with what Harness has told it, as
	// the agent's own program says it. Needs installation.read.
	Rights(ctx context.Context, request *RightsRequest) (*RightsResponse, error)
}

// ListAccountsRequest asks for all accounts.
type ListAccountsRequest struct{}

// ListAccountsResponse has the accounts.
type ListAccountsResponse struct{ Accounts []Account }

// AddAccountRequest describes an account.
type AddAccountRequest struct {
	Name   string // a to z, 0 to 9 and -, at most 40 characters
	Kind   AccountKind
	Key    string // of the kind key: the API key, which nobody is shown again
	Author string // the person in whose name the plugin asks; empty: the plugin itself
}

// AddAccountResponse has the account.
type AddAccountResponse struct{ Account Account }

// AccountPatch changes the fields of an account that are not nil.
type AccountPatch struct {
	Default       *bool    `json:"default,omitempty"` // only true: the account that is the default until then is not any more
	Overage       *bool    `json:"overage,omitempty"`
	Fallback      *string  `json:"fallback,omitempty"` // empty: none from now on
	DailyLimitUSD *float64 `json:"dailyLimitUsd,omitempty"`
	Key           *string  `json:"key,omitempty"`
}

// UpdateAccountRequest names an account and what changes.
type UpdateAccountRequest struct {
	Name   string
	Patch  AccountPatch
	Author string // as in AddAccountRequest
}

// UpdateAccountResponse has the account as it is now.
type UpdateAccountResponse struct{ Account Account }

// RemoveAccountRequest names an account.
type RemoveAccountRequest struct {
	Name   string
	Author string // as in AddAccountRequest
}

// RemoveAccountResponse has nothing to say yet.
type RemoveAccountResponse struct{}

// RuleBehavior says what a rule of the agent's does with a call of a tool.
type RuleBehavior string

// The behaviors of a rule.
const (
	RuleAllow RuleBehavior = "allow"
	RuleAsk   RuleBehavior = "ask"
	RuleDeny  RuleBehavior = "deny"
)

// AgentRule is a rule that a session of the agent holds.
type AgentRule struct {
	Behavior RuleBehavior `json:"behavior"`
	Rule     string       `json:"rule"`             // as in Bash(git log:*)
	Source   string       `json:"source,omitempty"` // where it comes from, in the words of who says it
}

// AgentHook is a program that runs in a session of the agent.
type AgentHook struct {
	Event   string `json:"event"`
	Command string `json:"command"`
	Source  string `json:"source,omitempty"`
}

// AgentRights is what a session of the agent may do.
type AgentRights struct {
	Version     string      `json:"version"`         // of the agent's program
	Meant       []AgentRule `json:"meant,omitempty"` // what Harness tells the session
	Said        []AgentRule `json:"said,omitempty"`  // what the program itself says of it
	Hooks       []AgentHook `json:"hooks,omitempty"`
	Differences []string    `json:"differences,omitempty"` // between the two, in sentences
	Known       bool        `json:"known"`                 // the program can tell; without it Said and Hooks are empty
}

// RightsRequest names a thread.
type RightsRequest struct{ ThreadID string }

// RightsResponse has the rights.
type RightsResponse struct{ Rights AgentRights }
