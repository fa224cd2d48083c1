package registry

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// RemoveRequest names a plugin to forget.
type RemoveRequest struct {
	Name string
	// KeepState leaves its state and its secrets, for when it is installed again.
	KeepState bool
}

// What says what goes with the plugin.
func (q RemoveRequest) What() string {
	if q.KeepState {
		return "its settings, but not its state and secrets,"
	}
	return "its settings, state and secrets"
}

// PlanRemove refuses what the daemon would register again. Do turns the plugin off,
// waits until the daemon has let go of it, and forgets it with its package. When that
// does not come about the plugin is off, and nothing of it is gone.
func (r *Registry) PlanRemove(ctx context.Context, request RemoveRequest) (*Plan, error) {
	row, err := r.Plugin(ctx, request.Name)
	if err != nil {
		return nil, err
	}
	if row.Origin == pluginsdk.OriginDirectory && isFile(row.Path) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is of the daemon's own directory, and the daemon would register it again: "+
			"`harness plugin disable %s` turns it off; to forget it, delete %s first", row.Name, row.Name, row.Path)
	}
	plan := &Plan{Was: row, registry: r}
	if err := r.mayPlan(ctx, plan); err != nil {
		return nil, err
	}
	plan.do = func(ctx context.Context, who string) (Outcome, error) { return r.remove(ctx, who, plan, request) }
	return plan, nil
}

func (r *Registry) remove(ctx context.Context, who string, plan *Plan, request RemoveRequest) (Outcome, error) {
	name := request.Name
	row, err := r.Plugin(ctx, name)
	if err == nil {
		err = plan.still(row)
	}
	if err == nil && row.Enabled {
		_, err = r.disable(ctx, who, name, plan.still)
	}
	if err != nil {
		return Outcome{}, err
	}
	if err := r.LetGo(ctx, name); err != nil {
		return Outcome{}, fmt.Errorf("%s is disabled, and nothing was removed; try again, or stop the daemon: %w", name, err)
	}
	err = r.Store.RemovePlugin(ctx, ledger.PluginRemoval{Name: name, Who: who, KeepState: request.KeepState, Detail: func(row ledger.Plugin) (string, error) {
		if err := plan.still(row); err != nil {
			return "", err
		}
		if row.Enabled {
			return "", changedMeanwhile(name)
		}
		return versionOf(row) + ", with " + request.What(), nil
	}})
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Was: row}, r.sweep(ctx)
}
