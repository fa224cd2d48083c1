package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// EnableRequest names a plugin to turn on.
type EnableRequest struct {
	Name string
	// Force also turns it on when another plugin has a command or a source of the same
	// name: the one earlier in the order has it. What the core has cannot be forced.
	Force bool
}

// Enable turns a plugin on and ends its quarantine, unless what it declares is
// somebody else's (CodeConflict).
func (r *Registry) Enable(ctx context.Context, who string, request EnableRequest) (Outcome, error) {
	return r.turning(request.Name).change(ctx, ledger.PluginChange{Name: request.Name, Who: who, Action: "plugin.enable", Edit: func(row *ledger.Plugin, all []ledger.Plugin) (detail string, err error) {
		was := *row
		if !request.Force {
			err = r.mayEnable(*row, all, "harness plugin enable "+request.Name)
		} else {
			err = r.mayForce(*row, all)
		}
		if row.Quarantine != "" {
			detail = "out of quarantine"
		}
		row.Enabled, row.Quarantine = true, ""
		if err == nil {
			err = r.mayHoldUp(was, *row)
		}
		return detail, err
	}})
}

// Disable turns a plugin off. LetGo waits until it has ended.
func (r *Registry) Disable(ctx context.Context, who, name string) (Outcome, error) {
	return r.disable(ctx, who, name, func(ledger.Plugin) error { return nil })
}

// turning is the registry for turning a plugin on or off, which each may itself.
func (r *Registry) turning(name string) *Registry {
	if name == r.plugin {
		return New(r.Config)
	}
	return r
}

// disable is Disable of a row that may does not refuse.
func (r *Registry) disable(ctx context.Context, who, name string, may func(row ledger.Plugin) error) (Outcome, error) {
	return r.turning(name).change(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.disable", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
		err := may(*row)
		row.Enabled = false
		return "", err
	}})
}

// mayEnable refuses a plugin whose commands or sources are somebody else's. Another
// plugin's can be forced, with the command.
func (r *Registry) mayEnable(row ledger.Plugin, all []ledger.Plugin, command string) error {
	if err := r.mayForce(row, all); err != nil {
		return err
	}
	var taken []string
	for _, conflict := range r.Conflicts(row, all) {
		taken = append(taken, fmt.Sprintf("%s, which %s has", conflict.What, conflict.Owner))
	}
	if len(taken) > 0 {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s declares %s: disable or remove the other, or `%s --force`: "+
			"then the one that is earlier in the order has it (`harness plugin order`)", row.Name, strings.Join(taken, ", "), command)
	}
	return nil
}

// mayForce refuses a plugin whose commands are the core's.
func (r *Registry) mayForce(row ledger.Plugin, all []ledger.Plugin) error {
	var cores []string
	for _, conflict := range r.Conflicts(row, all) {
		if conflict.Owner == "" {
			cores = append(cores, conflict.What)
		}
	}
	if len(cores) > 0 {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s declares %s, which the core answers itself: its author has to give that another name",
			row.Name, strings.Join(cores, ", "))
	}
	return nil
}
