package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How long, and how often, the daemon is watched for following what was changed.
const (
	followPatience = 30 * time.Second
	followPoll     = 50 * time.Millisecond
)

// await looks at a plugin's row until it is as wanted, and reports whether it
// is: not when the daemon ends, or takes too long.
func (o *Operator) await(ctx context.Context, name string, wanted func(row ledger.Plugin) bool) (row ledger.Plugin, is bool, err error) {
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

// carriedOut says how a plugin does for which something was decided, once the
// daemon has followed: what was done, and whether it serves. CodeUnavailable: it
// was done, and does not.
func (o *Operator) carriedOut(ctx context.Context, name, done string) error {
	row, settled, err := o.await(ctx, name, func(row ledger.Plugin) bool {
		return !row.Enabled || row.Problem != "" || row.Settled >= row.Generation
	})
	switch {
	case err != nil:
		return err
	case !row.Enabled:
		o.say("%s, and disabled.", done)
	case !o.Running():
		o.say("%s; %s.", done, o.when())
	case row.Problem != "":
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but the daemon does not follow a row that is wrong; mend it first: %s", done, plain(row.Problem, longText))
	case !settled:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but the daemon has not come so far yet (%s is %s); `harness plugin list` has what comes of it",
			done, name, row.State)
	case row.State == pluginsdk.PluginServing && row.Serving == row.SHA256 && row.Rejected == "":
		o.say("%s, and serves.", done)
	case row.Serving != "":
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but that does not take over: %s", done, plain(cmp.Or(row.LastError, "-"), longText))
	default:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but it does not serve (it is %s): %s",
			done, row.State, plain(cmp.Or(row.LastError, "-"), longText))
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
	row, off, err := o.await(ctx, name, func(row ledger.Plugin) bool { return row.State == pluginsdk.PluginDisabled })
	if err == nil && !off && o.Running() {
		err = pluginsdk.Errorf(pluginsdk.CodeDeadline, "the daemon has not let go of it (it is %s)", row.State)
	}
	return err
}
