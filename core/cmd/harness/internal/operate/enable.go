package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Enable is TurnOn, and says how the plugin does once the daemon has followed.
// CodeUnavailable: it is turned on, and does not serve.
func (o *Operator) Enable(ctx context.Context, name string, force bool) error {
	if err := o.TurnOn(ctx, name, force); err != nil {
		return err
	}
	return o.carriedOut(ctx, name, name+" is enabled")
}

// TurnOn turns a plugin on and ends its quarantine. Two plugins that have a
// command or a source of the same name need force: the one earlier in the order has it.
func (o *Operator) TurnOn(ctx context.Context, name string, force bool) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if err := o.mayEnable(ctx, row, force, "harness plugin enable "+name); err != nil {
		return err
	}
	err = o.edit(ctx, name, "plugin.enable", func(row *ledger.Plugin) (string, error) {
		detail := "harness plugin"
		if row.Quarantine != "" {
			detail += ", out of quarantine"
		}
		row.Enabled, row.Quarantine = true, ""
		return detail, nil
	})
	if err != nil {
		return err
	}
	if left := missing(row); !left.none() {
		o.say("It lacks what it wants. To grant it: %s", hint(name, left))
	}
	return nil
}

// Disable turns a plugin off.
func (o *Operator) Disable(ctx context.Context, name string) error {
	if _, err := o.plugin(ctx, name); err != nil {
		return err
	}
	err := o.edit(ctx, name, "plugin.disable", func(row *ledger.Plugin) (string, error) {
		row.Enabled = false
		return "harness plugin", nil
	})
	if err != nil {
		return err
	}
	return o.switchedOff(ctx, name)
}

// mayEnable refuses a plugin whose commands or sources are somebody else's. Another
// plugin's can be forced, with the command.
func (o *Operator) mayEnable(ctx context.Context, row ledger.Plugin, force bool, command string) error {
	rows, err := o.Store.Plugins(ctx)
	if err != nil {
		return err
	}
	var cores, plugins []string
	for _, conflict := range pluginhost.Conflicts(row, rows, o.Reserved) {
		if conflict.Source == "" && slices.Contains(o.Reserved, conflict.Command) {
			cores = append(cores, conflict.What())
		} else {
			plugins = append(plugins, fmt.Sprintf("%s, which %s has", conflict.What(), conflict.Owner))
		}
	}
	switch {
	case len(cores) > 0:
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s declares %s, which the core answers itself: its author has to give that another name",
			row.Name, strings.Join(cores, ", "))
	case len(plugins) > 0 && !force:
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s declares %s: disable or remove the other, or `%s --force`: "+
			"then the one that is earlier in the order has it (`harness plugin order`)", row.Name, strings.Join(plugins, ", "), command)
	}
	return nil
}
