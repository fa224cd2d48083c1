package operate

import (
	"context"

	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugins is where what an operator decides about plugins is carried out: Here on this
// machine, or Elsewhere by a daemon, through its API. The methods that decide take who the
// audit log is to name; a daemon elsewhere knows that by the token. See registry.Registry for
// what each does.
type Plugins interface {
	// Running reports whether a daemon follows.
	Running() bool
	Plugin(ctx context.Context, name string) (ledger.Plugin, error)
	// All returns the rows in the order of their hooks.
	All(ctx context.Context) ([]ledger.Plugin, error)

	// Problem says what is wrong with a plugin's settings, and Damage what differs from its
	// pin; empty: nothing, as far as can be seen from where the operator is.
	Problem(ctx context.Context, row ledger.Plugin) string
	Damage(ctx context.Context, row ledger.Plugin) string
	// Taken are what a plugin declares and somebody else of all has.
	Taken(row ledger.Plugin, all []ledger.Plugin) []registry.Conflict
	// Unoffered says, by plugin, which tools the agent is not offered.
	Unoffered(all []ledger.Plugin) map[string]string
	Missing(row ledger.Plugin) registry.Rights

	PlanInstall(ctx context.Context, request registry.InstallRequest) (*registry.Plan, error)
	PlanUpgrade(ctx context.Context, request registry.UpgradeRequest) (*registry.Plan, error)
	PlanRollback(ctx context.Context, request registry.RollbackRequest) (*registry.Plan, error)
	PlanRemove(ctx context.Context, request registry.RemoveRequest) (*registry.Plan, error)
	PlanTrust(ctx context.Context, name string) (*registry.Plan, error)

	Enable(ctx context.Context, who string, request registry.EnableRequest) (registry.Outcome, error)
	Disable(ctx context.Context, who, name string) (registry.Outcome, error)
	LetGo(ctx context.Context, name string) error
	Grant(ctx context.Context, who string, request registry.GrantRequest) (registry.Outcome, error)
	Revoke(ctx context.Context, who string, request registry.GrantRequest) (registry.Outcome, error)
	SetLimits(ctx context.Context, who, name string, change func(pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error)) (registry.Outcome, error)
	Order(ctx context.Context, who string, request registry.OrderRequest) ([]string, error)
	Follow(ctx context.Context, name string) (registry.Followed, error)
	FollowOrder(ctx context.Context) (bool, error)
}

// Here is the installation on this machine, with its daemon up or down.
type Here struct {
	*registry.Registry

	// Tools are the bounds of what the agent is offered.
	Tools toolserver.Bounds
	// Settings says what is wrong with a plugin's settings; empty: nothing.
	Settings func(ctx context.Context, row ledger.Plugin) string
}

// Running reports whether the installation's daemon is up.
func (h Here) Running() bool { return h.Config.Running() }

// All returns the rows of the database.
func (h Here) All(ctx context.Context) ([]ledger.Plugin, error) { return h.Store.Plugins(ctx) }

// Problem says what is wrong with the settings that are stored.
func (h Here) Problem(ctx context.Context, row ledger.Plugin) string { return h.Settings(ctx, row) }

// Damage compares the plugin's files with its pin.
func (h Here) Damage(ctx context.Context, row ledger.Plugin) string {
	ctx, cancel := context.WithTimeout(ctx, comparing)
	defer cancel()
	if err := h.Depot.Verify(ctx, row); err != nil {
		return err.Error()
	}
	return ""
}

// Taken returns what the plugin host would find.
func (h Here) Taken(row ledger.Plugin, all []ledger.Plugin) []registry.Conflict {
	return h.Conflicts(row, all)
}

// Unoffered says what the tool server would leave out.
func (h Here) Unoffered(all []ledger.Plugin) map[string]string {
	return toolserver.Unoffered(h.Tools, hostapi.CoreTools(), all)
}
