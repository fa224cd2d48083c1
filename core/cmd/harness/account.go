package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/accounts"
	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newAccount() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Manage the logins and API keys that the agent uses",
		Long: `Manage the accounts of the agent: logins (subscriptions) and API keys, each with a name. The
account environment is always there: the daemon's own credentials. A thread can be given an
account, so that work and private life are apart; all other threads use the default account.

Harness never changes accounts by itself. A run whose account has used up its plan is parked
until the plan's limit resets; see harness plan.

The command works with the daemon up or down. For a daemon elsewhere (--server) it needs a
token with the scope admin. Logging in works on the daemon's machine only.`,
		Example: `  harness account add work
  harness account add spare --key
  harness account use work --thread 0199...
  harness account set work --fallback spare`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAccountAdd(), newAccountLogin(), newAccountList(), newAccountUse(), newAccountSet(), newAccountRemove())
	return cmd
}

// book is where accounts are kept: in the database of this machine, or by a daemon elsewhere.
type book interface {
	list(ctx context.Context) ([]pluginsdk.Account, error)
	add(ctx context.Context, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error)
	update(ctx context.Context, name string, patch pluginsdk.AccountPatch) (pluginsdk.Account, error)
	remove(ctx context.Context, name string) error
}

// withAccounts opens those of the daemon elsewhere that the command is for, else those of this
// machine.
func withAccounts(cmd *cobra.Command, do func(ctx context.Context, of book) error) error {
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	if remote != nil {
		return do(cmd.Context(), bookElsewhere{remote})
	}
	return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		return do(ctx, bookHere{daemon.NewAccounts(config, database), config, cmd})
	})
}

type bookHere struct {
	room   *accounts.Room
	config daemon.Config
	cmd    *cobra.Command
}

func (b bookHere) list(ctx context.Context) ([]pluginsdk.Account, error) {
	all, err := b.room.List(ctx)
	for i := range all {
		b.ofTheDaemon(ctx, &all[i])
	}
	return all, err
}

// askTimeout bounds the question to a daemon that is up.
const askTimeout = 3 * time.Second

// ofTheDaemon puts in the place of what this shell's environment has what that of the daemon
// has, which can be another one. While the daemon is down nobody knows it.
func (b bookHere) ofTheDaemon(ctx context.Context, account *pluginsdk.Account) {
	if account.Kind != pluginsdk.AccountEnvironment || !daemon.Running(b.config) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	token, err := tokenOf(b.cmd, "")
	var plan client.Plan
	if err == nil {
		var api *client.Client
		if api, err = (profile{Server: b.config.URL(), Token: token, CA: authorityOf(b.cmd, "")}).open(); err == nil {
			plan, err = api.Plan(ctx)
		}
	}
	if err != nil && account.Usable {
		return
	}
	if err != nil {
		account.Reason = fmt.Sprintf("this shell's environment has no credentials, and the daemon could not be asked what its own has: %s", err)
		return
	}
	for _, seen := range plan.Accounts {
		if seen.Name == account.Name {
			account.Usable, account.Reason = seen.Usable, seen.Reason
		}
	}
}

func (b bookHere) add(ctx context.Context, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error) {
	return b.room.Add(ctx, operate.Who, request)
}

func (b bookHere) update(ctx context.Context, name string, patch pluginsdk.AccountPatch) (pluginsdk.Account, error) {
	after, err := b.room.Update(ctx, operate.Who, pluginsdk.UpdateAccountRequest{Name: name, Patch: patch})
	b.ofTheDaemon(ctx, &after)
	return after, err
}

func (b bookHere) remove(ctx context.Context, name string) error {
	return b.room.Remove(ctx, operate.Who, name)
}

// bookElsewhere is that of a daemon, through its API.
type bookElsewhere struct{ api *client.Client }

func (b bookElsewhere) list(ctx context.Context) ([]pluginsdk.Account, error) {
	return b.api.Accounts(ctx)
}

func (b bookElsewhere) add(ctx context.Context, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error) {
	return b.api.AddAccount(ctx, request)
}

func (b bookElsewhere) update(ctx context.Context, name string, patch pluginsdk.AccountPatch) (pluginsdk.Account, error) {
	return b.api.UpdateAccount(ctx, name, patch)
}

func (b bookElsewhere) remove(ctx context.Context, name string) error {
	return b.api.RemoveAccount(ctx, name)
}
