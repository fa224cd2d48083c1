package registry

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Attach makes the daemon use a plugin's process that its author has started; to says
// where it serves. DevDaemon is asked first.
func (r *Registry) Attach(ctx context.Context, who, name, to string) (Outcome, error) {
	if err := r.DevDaemon(ctx); err != nil {
		return Outcome{}, err
	}
	return r.change(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.attach", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
		row.Attach = to
		return to, nil
	}})
}

// Detach lets the daemon start a plugin itself again. CodeInvalid: it does already.
func (r *Registry) Detach(ctx context.Context, who, name string) (Outcome, error) {
	return r.change(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.detach", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
		if row.Attach == "" {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is not attached: the daemon starts it itself already", name)
		}
		row.Attach = ""
		return "", nil
	}})
}
