// Package accounts keeps what the agent authenticates with, by name: logins, each in a home
// of the CLI's of its own, and API keys, which are sealed as the secrets of plugins are.
//
// A thread or a task names an account, or else the default is used. Nothing here, and nothing
// elsewhere in Harness, chooses an account by itself: a run whose account has used up its plan
// waits. Logins are never taken in turn to get round a limit.
package accounts

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	Accounts(ctx context.Context) ([]ledger.Account, error)
	EditAccount(ctx context.Context, change ledger.AccountChange) (ledger.Account, error)
	RemoveAccount(ctx context.Context, name, who string) (removed bool, err error)
	PlanWindows(ctx context.Context) ([]ledger.PlanState, error)
	// ForgetPlan forgets what was seen of the plan of an account.
	ForgetPlan(ctx context.Context, account string) error
	Reserved(ctx context.Context, plugin, account string) (usd float64, err error)
	// SomeSecret returns one sealed secret of the database's; sealed is nil when it has none.
	SomeSecret(ctx context.Context) (owner, name string, sealed []byte, err error)
}

// Vault seals keys and opens them.
type Vault interface {
	Seal(owner, name string, value json.RawMessage, others bool) ([]byte, error)
	Open(owner, name string, sealed []byte) (json.RawMessage, error)
}

// Config is what a Room works with.
type Config struct {
	// Data is the data directory, below which logins have their homes.
	Data string
	// Credentials says what the agent's program would authenticate with in this home, or
	// (empty) in the daemon's own environment: a name or a path; empty: there is nothing. It
	// makes no network call.
	Credentials func(home string) string
	// Subscribed reports whether what Credentials would name is the login of a subscription, which has
	// a plan, whether or not a window of it was seen. Default: it is not known of any.
	Subscribed func(home string) bool
	// Beside says that this is no daemon but a command, with the environment of a shell.
	Beside bool
	// Plans returns the windows of an account's plan as they stand now. Default: they are
	// read from the database.
	Plans func(account string) []pluginsdk.PlanWindow
	// Rights compares what the agent may do in a thread with what it was told. Default:
	// CodeUnavailable.
	Rights func(ctx context.Context, threadID string) (pluginsdk.AgentRights, error)
	Now    func() time.Time // default time.Now
}

// Room keeps the accounts of an installation. The command line has one too, beside that of a
// daemon.
type Room struct {
	config Config
	store  Store
	vault  Vault

	rights sync.Mutex // held while the agent is asked for its rights

	mu     sync.Mutex
	rows   []ledger.Account
	readAt time.Time         // zero: rows were not read yet
	stale  bool              // rows have changed since
	keys   map[string]opened // by account
}

// opened is a key, and the sealed bytes that it is from.
type opened struct{ sealed, key string }

// New returns a Room. Nothing is read or made yet.
func New(config Config, store Store, vault Vault) *Room {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Subscribed == nil {
		config.Subscribed = func(string) bool { return false }
	}
	if config.Rights == nil {
		config.Rights = func(context.Context, string) (pluginsdk.AgentRights, error) {
			return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "this agent cannot say what it may do")
		}
	}
	return &Room{config: config, store: store, vault: vault, keys: make(map[string]opened)}
}

// Rights compares what the agent may do in a thread with what it was told. That can start a
// process of the agent's program, and end a session that is kept ready for its next turn: one is
// asked at a time.
func (r *Room) Rights(ctx context.Context, threadID string) (pluginsdk.AgentRights, error) {
	if !r.rights.TryLock() {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the agent is being asked what it may do already; try again in a few seconds")
	}
	defer r.rights.Unlock()
	return r.config.Rights(ctx, threadID)
}

// List returns all accounts, environment first and the others by name.
func (r *Room) List(ctx context.Context) ([]pluginsdk.Account, error) {
	rows, err := r.store.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	windows, err := r.windows(ctx)
	if err != nil {
		return nil, err
	}
	rows = whole(rows)
	accounts := make([]pluginsdk.Account, 0, len(rows))
	for _, row := range rows {
		account, err := r.shown(ctx, row)
		if err != nil {
			return nil, err
		}
		account.Windows = windows(row.Name)
		account.Plan = len(account.Windows) > 0 || row.Kind != pluginsdk.AccountKey && r.config.Subscribed(account.Home)
		accounts = append(accounts, account)
	}
	return accounts, nil
}

// get is List of one.
func (r *Room) get(ctx context.Context, name string) (pluginsdk.Account, error) {
	all, err := r.List(ctx)
	if err != nil {
		return pluginsdk.Account{}, err
	}
	i := slices.IndexFunc(all, func(a pluginsdk.Account) bool { return a.Name == name })
	if i < 0 {
		return pluginsdk.Account{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no account %q any more", name)
	}
	return all[i], nil
}

// whole completes the rows: the account environment is always there and comes first, and one
// is the default.
func whole(rows []ledger.Account) []ledger.Account {
	all := make([]ledger.Account, 0, len(rows)+1)
	all = append(all, ledger.Account{Name: pluginsdk.EnvironmentAccount})
	for _, row := range rows {
		if row.Name == pluginsdk.EnvironmentAccount {
			all[0] = row
		} else {
			all = append(all, row)
		}
	}
	all[0].Kind = pluginsdk.AccountEnvironment
	if !slices.ContainsFunc(all, func(a ledger.Account) bool { return a.Default }) {
		all[0].Default = true
	}
	return all
}

// shown is an account as people see it, without its windows.
func (r *Room) shown(ctx context.Context, row ledger.Account) (pluginsdk.Account, error) {
	account := pluginsdk.Account{
		Name: row.Name, Kind: row.Kind, Default: row.Default, Overage: row.Overage, Fallback: row.Fallback,
		DailyLimitUSD: row.DailyLimitUSD, CreatedAt: row.CreatedAt, Usable: true,
	}
	if row.Kind == pluginsdk.AccountLogin {
		account.Home = r.home(row)
	}
	if _, err := r.resolved(row); err != nil {
		account.Usable, account.Reason = false, err.Error()
	} else if row.Kind == pluginsdk.AccountEnvironment && r.config.Credentials("") == "" {
		whose := "the daemon's environment"
		if r.config.Beside {
			whose = "this shell's environment"
		}
		account.Usable = false
		account.Reason = whose + " has no credentials: set ANTHROPIC_API_KEY for the daemon, or run `claude` as its user and log in"
	}
	if row.Kind != pluginsdk.AccountKey {
		return account, nil
	}
	spent, err := r.store.Reserved(ctx, ledger.CoreAccounts, ledger.FallbackAccount(row.Name, r.config.Now().UTC().Format(time.DateOnly)))
	account.SpentTodayUSD = spent
	return account, err
}

// windows returns what tells the windows of an account's plan.
func (r *Room) windows(ctx context.Context) (func(account string) []pluginsdk.PlanWindow, error) {
	if r.config.Plans != nil {
		return r.config.Plans, nil
	}
	states, err := r.store.PlanWindows(ctx)
	if err != nil {
		return nil, err
	}
	now := r.config.Now()
	return func(account string) (windows []pluginsdk.PlanWindow) {
		for _, state := range states {
			if state.Account != account {
				continue
			}
			windows = append(windows, pluginsdk.PlanWindow{
				Account: account, Name: state.Name, Model: state.Model, Used: state.Used, Status: state.Status,
				ResetsAt: state.ResetsAt, Overage: state.Overage, SeenAt: state.SeenAt, FullAt: state.Projected(now),
			})
		}
		slices.SortFunc(windows, func(a, b pluginsdk.PlanWindow) int { return strings.Compare(a.Name, b.Name) })
		return windows
	}, nil
}
