package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// UpgradeRequest says by what a plugin is to be replaced.
type UpgradeRequest struct {
	Name    string
	Source  string   // as of InstallRequest
	Archive *Archive // as of InstallRequest
	Grants  Grants   // of what it asks for, beside what it has
	Force   bool     // also when another plugin has a command of the same name
}

// PlanUpgrade reads another version of an installed plugin. Do replaces the one that
// is there, which is kept for PlanRollback. The version that is installed already has
// its files put right when they were changed (Plan.Repair), or there is nothing to do
// (Plan.Idle).
func (r *Registry) PlanUpgrade(ctx context.Context, request UpgradeRequest) (_ *Plan, err error) {
	row, err := r.Plugin(ctx, request.Name)
	if err != nil {
		return nil, err
	}
	if row.Origin == pluginsdk.OriginDirectory {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is of the daemon's own directory, and not installed: put another file at %s and restart the daemon, which pins it anew", row.Name, row.Path)
	}
	p, err := r.stage(ctx, request.Source, request.Archive)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Was: row, Next: adopt(row, p), Package: p, registry: r}
	defer func() { err = plan.unless(err) }()
	if p.Manifest.Name != request.Name {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is the plugin %s, not %s; `harness plugin install` adds it", request.Source, p.Manifest.Name, request.Name)
	}
	if row.Origin == pluginsdk.OriginStore && p.SHA256 == row.SHA256 && request.Grants.empty() {
		plan.Repair = true
		plan.Idle = r.Depot.Verify(ctx, row) == nil && row.Quarantine == ""
		plan.do = func(ctx context.Context, who string) (Outcome, error) {
			return r.keep(ctx, who, replacement{plan, "plugin.repair", func(*ledger.Plugin, []ledger.Plugin) (string, error) { return "", nil }})
		}
		if err := r.mayPlan(ctx, plan); err != nil {
			return nil, err
		}
		return plan, nil
	}
	given, err := r.resolve(request.Grants, p.Manifest)
	if err != nil {
		return nil, err
	}
	all, err := r.Store.Plugins(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.mayReplace(plan.Next, all, request.Force, request.command()); err != nil {
		return nil, err
	}
	plan.Given = given.minus(RightsOf(row))
	give(&plan.Next, RightsOf(row).plus(plan.Given))
	if err := r.mayPlan(ctx, plan); err != nil {
		return nil, err
	}
	plan.do = func(ctx context.Context, who string) (Outcome, error) { return r.upgrade(ctx, who, plan, request) }
	return plan, nil
}

// command is what an operator says for it, without force.
func (q UpgradeRequest) command() string { return "harness plugin upgrade " + q.Name + " " + q.Source }

// mayReplace refuses a version whose commands or sources somebody else has, if the
// plugin is on. Another plugin's can be forced, with the command.
func (r *Registry) mayReplace(next ledger.Plugin, all []ledger.Plugin, force bool, command string) error {
	switch {
	case !next.Enabled:
		return nil
	case force:
		return r.mayForce(next, all)
	}
	return r.mayEnable(next, all, command)
}

func (r *Registry) upgrade(ctx context.Context, who string, plan *Plan, request UpgradeRequest) (Outcome, error) {
	var added Rights
	outcome, err := r.keep(ctx, who, replacement{plan, "plugin.upgrade", func(next *ledger.Plugin, all []ledger.Plugin) (string, error) {
		if err := r.mayReplace(*next, all, request.Force, request.command()); err != nil {
			return "", err
		}
		next.Previous = r.push(plan.Was)
		if added = plan.Given.minus(RightsOf(*next)); added.None() {
			return "", nil
		}
		give(next, RightsOf(*next).plus(added))
		return ", granted " + added.String(), nil
	}})
	outcome.Changed = added
	return outcome, err
}

// RollbackRequest names a plugin and the version to go back to.
type RollbackRequest struct {
	Name string
	To   string // a version, or the beginning of a pin; empty: the last one
	// Force also goes back when another plugin has a command of the same name by now.
	Force bool
}

// command is what an operator says for it, without force.
func (q RollbackRequest) command() string {
	if q.To == "" {
		return "harness plugin rollback " + q.Name
	}
	return "harness plugin rollback " + q.Name + " --to " + q.To
}

// PlanRollback finds an earlier version of a plugin and verifies its files. Do makes
// it the one that is started. CodeConflict: somebody else has what it declares.
func (r *Registry) PlanRollback(ctx context.Context, request RollbackRequest) (*Plan, error) {
	row, err := r.Plugin(ctx, request.Name)
	if err != nil {
		return nil, err
	}
	version, err := earlier(row, request.To)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Was: row, Next: back(row, version), registry: r}
	if err := r.Depot.Accepts(version.Publisher); err != nil {
		return nil, err
	}
	if err := r.Depot.Verify(ctx, plan.Next); err != nil {
		return nil, err
	}
	all, err := r.Store.Plugins(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.mayReplace(plan.Next, all, request.Force, request.command()); err != nil {
		return nil, err
	}
	if err := r.mayPlan(ctx, plan); err != nil {
		return nil, err
	}
	plan.do = func(ctx context.Context, who string) (Outcome, error) {
		return r.change(ctx, ledger.PluginChange{Name: row.Name, Who: who, Action: "plugin.rollback", Edit: func(now *ledger.Plugin, all []ledger.Plugin) (string, error) {
			if err := plan.still(*now); err != nil {
				return "", err
			}
			isIt := func(v ledger.PluginVersion) bool { return v.SHA256 == version.SHA256 }
			n := slices.IndexFunc(now.Previous, isIt)
			if n < 0 {
				return "", changedMeanwhile(row.Name)
			}
			left := *now
			left.Previous = slices.DeleteFunc(slices.Clone(now.Previous), isIt)
			*now = back(*now, now.Previous[n])
			if err := r.mayReplace(*now, all, request.Force, request.command()); err != nil {
				return "", err
			}
			now.Previous, now.Quarantine, now.LastError = r.push(left), "", ""
			return versionOf(*now), nil
		}})
	}
	return plan, nil
}

// back returns the row that has an earlier version as its version.
func back(row ledger.Plugin, to ledger.PluginVersion) ledger.Plugin {
	row.Origin, row.Path, row.SHA256, row.Version = pluginsdk.OriginStore, to.Path, to.SHA256, to.Version
	row.Publisher, row.Manifest = to.Publisher, to.Manifest
	return row
}

// earlier finds the version to go back to.
func earlier(row ledger.Plugin, to string) (ledger.PluginVersion, error) {
	if len(row.Previous) == 0 {
		return ledger.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version of %s to go back to", row.Name)
	}
	if to == "" {
		return row.Previous[0], nil
	}
	known := make([]string, len(row.Previous))
	for n, version := range row.Previous {
		if version.Version == to || len(to) >= 6 && strings.HasPrefix(version.SHA256, to) {
			return version, nil
		}
		known[n] = version.Version + " (" + version.SHA256[:min(len(version.SHA256), 12)] + ")"
	}
	return ledger.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version %q of %s; there are: %s", to, row.Name, list(known))
}
