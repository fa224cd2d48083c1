package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"os/exec"

	"github.com/seed-706843ae/harness/core/accounts"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/plan"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// NewAccounts returns the accounts of an installation's agent for a command, whether the daemon
// is up or down.
func NewAccounts(config Config, database *store.Store) *accounts.Room {
	return newAccounts(config, database, accounts.Config{Beside: true})
}

func newAccounts(config Config, database *store.Store, doors accounts.Config) *accounts.Room {
	doors.Data = config.Data
	doors.Credentials = func(home string) string {
		return invoker.Credentials(config.agentSeen(), invoker.Account{Home: home})
	}
	doors.Subscribed = func(home string) bool {
		return config.Agent != "demo" && invoker.HasPlan(config.agentSeen(), invoker.Account{Home: home})
	}
	return accounts.New(doors, database, config.vault())
}

// account is the account of a name as a session of the agent gets it.
func (d *Daemon) account(name string) (invoker.Account, error) {
	found, err := d.accounts.Resolve(name)
	return invoker.Account{Name: found.Name, Home: found.Home, Env: found.Env, Overage: found.Overage}, err
}

// Accounts returns the accounts of the agent.
func (d *Daemon) Accounts(ctx context.Context) ([]pluginsdk.Account, error) {
	return d.accounts.List(ctx)
}

// LoginCommand returns the CLI's own login into the home of an account, for a person at a
// terminal.
func LoginCommand(ctx context.Context, config Config, home string) (*exec.Cmd, error) {
	return invoker.LoginCommand(ctx, config.agentSeen(), home)
}

// planDesk is the plans and the accounts as the pipeline sees them.
type planDesk struct {
	*plan.Room

	accounts *accounts.Room
}

// Account returns the name of the account that a thread uses which names this one.
func (d planDesk) Account(named string) string { return d.accounts.Account(named) }

// DailyLimit returns what a key may cost in a day as a fallback, in USD.
func (d planDesk) DailyLimit(key string) float64 { return d.accounts.DailyLimit(key) }

// accountDesk is the accounts as plugins decide about them. What was seen of the plan of an
// account is not of the next one that has its name.
type accountDesk struct {
	*accounts.Room

	plan *plan.Room
}

func (d accountDesk) Add(ctx context.Context, who string, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error) {
	made, err := d.Room.Add(ctx, who, request)
	if err == nil {
		d.plan.Forget(request.Name)
	}
	return made, err
}

func (d accountDesk) Remove(ctx context.Context, who, name string) error {
	err := d.Room.Remove(ctx, who, name)
	if err == nil {
		d.plan.Forget(name)
	}
	return err
}

// warnOfPlan tells people of a plan, once for each key.
func (d *Daemon) warnOfPlan(ctx context.Context, key, text string) error {
	return d.tellPrimary(ctx, key, pluginsdk.NotePlanWarning, text)
}

// tellPrimary tells people of an event in the primary thread, once for each key. Where that reports to
// somewhere, it is carried there; else who shows the thread shows it, and a plugin that has a
// place for what has none may post it there.
func (d *Daemon) tellPrimary(ctx context.Context, key, event, text string) error {
	primary, err := d.store.Primary(ctx)
	if err != nil {
		return err
	}
	metadata, _ := json.Marshal(map[string]string{"event": event}) //nolint:errchkjson // strings
	told, err := d.store.Append(ctx, ledger.Append{
		ThreadID: primary.ID, Key: key, Deliver: true, Rows: []pluginsdk.NewMessage{{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Content: text, Metadata: metadata,
		}},
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
		return nil // it was told in other words, before the daemon was started anew
	}
	if err != nil {
		return err
	}
	for _, lane := range told.Lanes {
		d.outbox.Wake(lane.Plugin, lane.Target)
	}
	for _, m := range told.Messages {
		d.events.Publish(pluginsdk.EventThreadMessage, primary.ID, pluginsdk.MessagePayload{ThreadID: primary.ID, MessageID: m.ID, Role: m.Role, Kind: m.Kind})
	}
	return nil
}

// rights compares what the agent may do in a thread with what its process was told.
func (d *Daemon) rights(ctx context.Context, threadID string) (pluginsdk.AgentRights, error) {
	claude, ok := d.agent.(*invoker.Claude)
	if !ok {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the demo agent answers, which has no rights of its own")
	}
	request, err := d.rightsRequest(ctx, threadID)
	if err != nil {
		return pluginsdk.AgentRights{}, err
	}
	return claude.Rights(ctx, request)
}

// rightsRequest is what the pipeline would ask the agent with in a thread, as far as it says
// what the agent may do: a thread of a task has what the task allows, and works where its
// turns do.
func (d *Daemon) rightsRequest(ctx context.Context, threadID string) (ledger.AgentRequest, error) {
	thread, err := d.store.Thread(ctx, threadID)
	if err != nil {
		return ledger.AgentRequest{}, err
	}
	leave, err := d.store.TaskLeave(ctx, thread)
	if err != nil {
		return ledger.AgentRequest{}, err
	}
	cwd, apart, err := d.files.Directory(ctx, thread)
	if err != nil {
		return ledger.AgentRequest{}, err
	}
	return ledger.AgentRequest{
		ThreadID: thread.ID, SessionID: thread.SessionID, Resume: thread.SessionID != "", Model: cmp.Or(thread.Model, d.config.Model), Effort: thread.Effort,
		PermissionMode: cmp.Or(leave.PermissionMode, thread.PermissionMode), AllowedTools: leave.AllowedTools,
		Cwd: cwd, Apart: apart, Account: d.accounts.Account(thread.Account),
	}, nil
}

// startPlan starts the room of the plans. When the environment has a key now, and had a login
// before, what was seen of the login's plan holds nothing back any more.
func (d *Daemon) startPlan(ctx context.Context) error {
	if err := d.plan.Start(ctx); err != nil || !d.billed {
		return err
	}
	if err := d.store.ForgetPlan(ctx, pluginsdk.EnvironmentAccount); err != nil {
		return err
	}
	d.plan.Forget(pluginsdk.EnvironmentAccount)
	return nil
}
