package registry

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How long, and how often, the daemon is watched for following what was decided.
const (
	followPatience = 30 * time.Second
	followPoll     = 50 * time.Millisecond
)

// Standing says how far the daemon has come with what was decided of a plugin.
type Standing string

// How far it can have come.
const (
	Off       Standing = "off"       // the plugin is disabled: there is nothing to follow
	Unwatched Standing = "unwatched" // no daemon is up; it holds from its next start on
	Wrong     Standing = "wrong"     // the row was broken by hand, and the daemon does not follow it
	Pending   Standing = "pending"   // the daemon has not come so far yet
	Refused   Standing = "refused"   // it serves, and has refused its new settings
	Serves    Standing = "serves"    // what was decided serves
	Rejected  Standing = "rejected"  // another version goes on serving
	Down      Standing = "down"      // nothing of the plugin serves
)

// Followed is how a plugin does once the daemon was given the time to follow.
type Followed struct {
	Plugin   ledger.Plugin
	Standing Standing
}

// Follow waits until the daemon has carried out what was decided of a plugin, or has
// failed to, 30 s at most.
func (r *Registry) Follow(ctx context.Context, name string) (Followed, error) {
	row, settled, err := r.await(ctx, name, func(row ledger.Plugin) bool {
		return !row.Enabled || row.Problem != "" || row.Quarantine != "" || row.Settled >= row.Generation
	})
	followed := Followed{row, Down}
	switch {
	case err != nil:
		return Followed{}, err
	case !row.Enabled:
		followed.Standing = Off
	case !r.Running():
		followed.Standing = Unwatched
	case row.Problem != "":
		followed.Standing = Wrong
	case !settled:
		followed.Standing = Pending
	case row.State == pluginsdk.PluginServing && row.RefusesSettings():
		followed.Standing = Refused
	case row.State == pluginsdk.PluginServing && row.Serving == row.SHA256 && row.Rejected == "":
		followed.Standing = Serves
	case row.Serving != "":
		followed.Standing = Rejected
	}
	return followed, nil
}

// LetGo waits until no process of a plugin that was turned off runs any more, 30 s at
// most (CodeDeadline).
func (r *Registry) LetGo(ctx context.Context, name string) error {
	row, off, err := r.await(ctx, name, func(row ledger.Plugin) bool { return row.State == pluginsdk.PluginDisabled })
	if err == nil && !off && r.Running() {
		err = pluginsdk.Errorf(pluginsdk.CodeDeadline, "the daemon has not let go of it (it is %s)", row.State)
	}
	return err
}

// await looks at a plugin's row until it is as wanted, and reports whether it
// is: not when the daemon ends, or takes too long.
func (r *Registry) await(ctx context.Context, name string, wanted func(row ledger.Plugin) bool) (row ledger.Plugin, is bool, err error) {
	timeout := time.NewTimer(followPatience)
	defer timeout.Stop()
	ticker := time.NewTicker(followPoll)
	defer ticker.Stop()
	for {
		row, err = r.Store.Plugin(ctx, name)
		if err != nil || wanted(row) {
			return row, err == nil, err
		}
		if !r.Running() {
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
