package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// How long, and how often, the daemon is watched for following what was changed.
const (
	followPatience = 30 * time.Second
	followPoll     = 50 * time.Millisecond
)

// await looks at a plugin's row until it is as wanted, and reports whether it
// is: not when the daemon ends, or takes too long.
func (o *Operator) await(ctx context.Context, name string, wanted func(row pluginsdk.PluginInfo) bool) (row pluginsdk.PluginInfo, is bool, err error) {
	timeout := time.NewTimer(followPatience)
	defer timeout.Stop()
	ticker := time.NewTicker(followPoll)
	defer ticker.Stop()
	for {
		row, err = o.Store.Plugin(ctx, name)
		if err != nil || wanted(row) {
			return row, err == nil, err
		}
		if !o.Running() {
			return row, false, nil
		}
		select {
		case <-ticker.C:
		case <-timeout.C:
			return row, false, nil
		case <-ctx.Done():
			return row, false, ctx.Err()
		}
	}
}

// switchedOn says how a plugin does that was turned on, once the daemon has
// followed. before is its row as it was: a fault from that time says nothing.
func (o *Operator) switchedOn(ctx context.Context, before pluginsdk.PluginInfo, what string) error {
	row, _, err := o.await(ctx, before.Name, func(row pluginsdk.PluginInfo) bool {
		same := row.State == before.State && row.LastError == before.LastError && row.Restarts == before.Restarts
		waits := before.Enabled && row.State == pluginsdk.PluginFailed // and it does so still: nothing new is tried
		return row.State == pluginsdk.PluginServing || atFault(row.State) && (!same || waits)
	})
	why := row.LastError
	if !atFault(row.State) && why == before.LastError {
		why = "it has not come any further yet"
	}
	switch {
	case err != nil:
		return err
	case !o.Running():
		o.say("%s is %s; %s.", row.Name, what, o.when())
	case row.State != pluginsdk.PluginServing:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is %s, but it does not serve (it is %s): %s",
			row.Name, what, row.State, plain(why, longText))
	default:
		o.say("%s is %s, and serves.", row.Name, what)
	}
	return nil
}

func atFault(state pluginsdk.PluginState) bool {
	return state == pluginsdk.PluginBackoff || state == pluginsdk.PluginFailed || state == pluginsdk.PluginQuarantined
}

// tookOver says how a version does that was put in its place, once the daemon has
// followed.
func (o *Operator) tookOver(ctx context.Context, name, what string) error {
	row, _, err := o.await(ctx, name, func(row pluginsdk.PluginInfo) bool {
		return !row.Enabled || row.Serving == row.SHA256 || row.Rejected == row.SHA256
	})
	switch {
	case err != nil:
		return err
	case !row.Enabled:
		o.say("%s, and disabled.", what)
	case !o.Running():
		o.say("%s; %s.", what, o.when())
	case row.Serving == row.SHA256:
		o.say("%s, and serves.", what)
	case row.Serving != "":
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but that does not take over: %s", what, plain(cmp.Or(row.LastError, "-"), longText))
	default:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but it does not serve (%s is %s): %s",
			what, name, row.State, plain(cmp.Or(row.LastError, "-"), longText))
	}
	return nil
}

// switchedOff says that a plugin has ended, once the daemon has followed.
func (o *Operator) switchedOff(ctx context.Context, name string) error {
	if err := o.letGo(ctx, name); err != nil {
		return fmt.Errorf("%s is disabled: %w", name, err)
	}
	if o.Running() {
		o.say("%s is disabled, and has ended.", name)
	} else {
		o.say("%s is disabled; %s.", name, o.when())
	}
	return nil
}

// letGo waits until no process of the plugin runs any more.
func (o *Operator) letGo(ctx context.Context, name string) error {
	row, off, err := o.await(ctx, name, func(row pluginsdk.PluginInfo) bool { return row.State == pluginsdk.PluginDisabled })
	if err == nil && !off && o.Running() {
		err = pluginsdk.Errorf(pluginsdk.CodeDeadline, "the daemon has not let go of it (it is %s)", row.State)
	}
	return err
}
