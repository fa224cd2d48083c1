package registry

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// InstallRequest says what is to be installed.
type InstallRequest struct {
	Source string // an executable with a plugin.json beside it, a directory, or an archive
	// Archive, when it is set, is what is read; Source is then what errors call it.
	Archive *Archive
	Grants  Grants // of what it asks for
	Enable  bool   // at once
}

// stage reads the package that a request names, or has.
func (r *Registry) stage(ctx context.Context, source string, archive *Archive) (*Package, error) {
	if archive == nil {
		return r.Depot.Stage(ctx, source)
	}
	return r.Depot.StageArchive(ctx, *archive)
}

// PlanInstall reads a plugin that is not known yet. Do makes it known with what the
// request grants; it is off unless the request turns it on.
func (r *Registry) PlanInstall(ctx context.Context, request InstallRequest) (_ *Plan, err error) {
	p, err := r.stage(ctx, request.Source, request.Archive)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Package: p, registry: r}
	defer func() { err = plan.unless(err) }()
	name := p.Manifest.Name
	if err := r.free(ctx, name, request.Source); err != nil {
		return nil, err
	}
	if plan.Given, err = r.resolve(request.Grants, p.Manifest); err != nil {
		return nil, err
	}
	if plan.Remains, err = r.remains(ctx, name); err != nil {
		return nil, err
	}
	plan.Next = adopt(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name}}, p)
	plan.Next.Enabled = request.Enable
	give(&plan.Next, plan.Given)
	if err := r.lend(ctx, &plan.Next); err != nil {
		return nil, err
	}
	if err := r.mayPlan(ctx, plan); err != nil {
		return nil, err
	}
	if request.Enable {
		all, err := r.Store.Plugins(ctx)
		if err != nil {
			return nil, err
		}
		last := plan.Next
		last.Position = math.MaxInt // where it will be
		if err := r.mayEnable(last, all, "harness plugin enable "+name); err != nil {
			return nil, err
		}
	}
	plan.do = func(ctx context.Context, who string) (Outcome, error) { return r.install(ctx, who, plan) }
	return plan, nil
}

// unless discards the plan when there is an error.
func (p *Plan) unless(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, p.Discard())
}

func (r *Registry) install(ctx context.Context, who string, plan *Plan) (outcome Outcome, err error) {
	name := plan.Next.Name
	err = plan.Package.Keep(ctx, func(path string) error {
		return r.Store.AddPlugin(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.install", Edit: func(row *ledger.Plugin, all []ledger.Plugin) (string, error) {
			position := row.Position
			*row = plan.Next
			row.Position, row.Path = position, path
			if row.Enabled {
				if err := r.mayEnable(*row, all, "harness plugin enable "+name); err != nil {
					return "", err
				}
			}
			if err := r.may(ledger.Plugin{}, *row, all); err != nil {
				return "", err
			}
			outcome = Outcome{Plugin: *row, Changed: plan.Given, Missing: r.Missing(*row)}
			outcome.Plugin.Generation = 1
			return installDetail(*row), nil
		}})
	})
	return outcome, err
}

// free refuses a name that is taken.
func (r *Registry) free(ctx context.Context, name, source string) error {
	if shipped.Named(name) {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is the name of a plugin that comes with Harness; a plugin that is installed needs another one", name)
	}
	if file := filepath.Join(r.PluginDir, name); isFile(file) {
		return pluginsdk.Errorf(pluginsdk.CodeConflict,
			"%s is the name of a plugin in the daemon's own directory (%s); a plugin that is installed needs another one", name, file)
	}
	row, err := r.Store.Plugin(ctx, name)
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return nil
	case err != nil:
		return err
	case row.Origin == pluginsdk.OriginDirectory:
		return pluginsdk.Errorf(pluginsdk.CodeConflict,
			"%s came with the daemon's own directory (%s), which does not have it any more; `harness plugin remove %s` forgets it", name, row.Path, name)
	}
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is installed already (version %s); `harness plugin upgrade %s %s` replaces it",
		name, cmp.Or(word(row.Version), "-"), name, source)
}

func (r *Registry) remains(ctx context.Context, name string) (left Remains, err error) {
	page := pluginsdk.ListStateRequest{Limit: 1000, KeysOnly: true}
	for {
		keys, err := r.Store.ListState(ctx, name, page)
		if err != nil {
			return left, err
		}
		left.Keys += len(keys.Entries)
		if !keys.More {
			break
		}
		page.After = keys.Entries[len(keys.Entries)-1].Key
	}
	secrets, err := r.Store.PluginSecrets(ctx, name)
	left.Secrets = len(secrets)
	return left, err
}

// installDetail is what the audit log says of a plugin that is new.
func installDetail(row ledger.Plugin) string {
	detail := versionOf(row)
	if given := RightsOf(row); !given.None() {
		detail += ", granted " + given.String()
	}
	if row.Enabled {
		detail += ", enabled"
	}
	return detail
}
