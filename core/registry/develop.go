package registry

import (
	"context"
	"errors"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Build is what a plugin's author has built.
type Build struct {
	Manifest pluginsdk.Manifest
	Path     string // of the executable
	SHA256   string
}

// Develop makes a build the version of its plugin that is started: a quarantine ends,
// and the last error is forgotten. What was installed before can be gone back to; a
// plugin that is new is off, and granted nothing. MayDevelop and DevDaemon are asked first.
func (r *Registry) Develop(ctx context.Context, who string, build Build) (Outcome, error) {
	if err := errors.Join(r.MayDevelop(), r.DevDaemon(ctx)); err != nil {
		return Outcome{}, err
	}
	name := build.Manifest.Name
	change := ledger.PluginChange{Name: name, Who: who, Action: "plugin.dev", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
		row.Previous = r.push(*row)
		row.Origin, row.Path, row.SHA256, row.Version = pluginsdk.OriginDev, build.Path, build.SHA256, build.Manifest.Version
		row.Manifest, row.Publisher, row.Quarantine, row.LastError = build.Manifest, "", "", ""
		return "version " + word(row.Version) + ", sha256 " + row.SHA256 + ", built by its author", nil
	}}
	_, err := r.Store.Plugin(ctx, name)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return Outcome{}, r.Store.AddPlugin(ctx, change)
	}
	if err != nil {
		return Outcome{}, err
	}
	return r.change(ctx, change)
}

// DevDaemon refuses (CodeConflict) what only a daemon that was started with --dev does,
// while one is up that was not: a row that asks for it would only fail.
func (r *Registry) DevDaemon(ctx context.Context) error {
	if !r.Running() {
		return nil
	}
	dev, err := r.Store.Lever(ctx, ledger.LeverDev)
	if err == nil && !dev.On {
		err = pluginsdk.Errorf(pluginsdk.CodeConflict, "the daemon that is up was not started with --dev, and uses no plugin that its author is working on: "+
			"end it, and start it with `harness up --dev` (or HARNESS_DEV=true)")
	}
	return err
}
