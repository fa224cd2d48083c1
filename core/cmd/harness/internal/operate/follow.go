package operate

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// carriedOut says how a plugin does for which something was decided, once the
// daemon has followed: what was done, and whether it serves. CodeUnavailable: it
// was done, and does not.
func (o *Operator) carriedOut(ctx context.Context, name, done string) error {
	followed, err := o.Plugins.Follow(ctx, name)
	if err != nil {
		return err
	}
	return o.followed(followed, done)
}

// followed is carriedOut of what was followed already.
func (o *Operator) followed(followed registry.Followed, done string) error {
	row := followed.Plugin
	switch followed.Standing {
	case registry.Off:
		o.say("%s, and disabled.", done)
	case registry.Unwatched:
		o.say("%s; %s.", done, o.when())
	case registry.Serves, registry.Refused:
		o.say("%s, and it serves.", done)
	case registry.Wrong:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but the daemon does not follow a row that is wrong; mend it first: %s", done, plain(row.Problem, longText))
	case registry.Pending:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but the daemon has not come so far yet (%s is %s); `harness plugin list` has what comes of it",
			done, row.Name, row.State)
	case registry.Rejected:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but that does not take over: %s", done, plain(cmp.Or(row.LastError, "-"), longText))
	case registry.Down:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but it does not serve (it is %s): %s",
			done, row.State, plain(cmp.Or(row.LastError, "-"), longText))
	}
	return nil
}

// applied is carriedOut for what is decided of a plugin that may well be off, or in
// quarantine.
func (o *Operator) applied(ctx context.Context, name, done string) error {
	row, err := o.Plugins.Plugin(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case !o.Plugins.Running():
		o.say("%s; %s.", done, o.when())
	case o.rests(row, done):
	default:
		return o.carriedOut(ctx, name, done)
	}
	return nil
}

// rests reports whether a plugin is started by nobody, so that the daemon has nothing to
// carry out of what was decided of it, and says so.
func (o *Operator) rests(row ledger.Plugin, done string) bool {
	switch {
	case !row.Enabled:
		o.say("%s; it is disabled.", done)
	case row.Quarantine != "" && row.Problem == "":
		o.say("%s; it is in quarantine; `harness plugin enable %s` starts it.", done, row.Name)
	default:
		return false
	}
	return true
}
