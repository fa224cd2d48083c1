package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
)

// Install shows what a plugin says about itself, asks, and makes it known, turned
// off unless the operator wants it on.
func (o *Operator) Install(ctx context.Context, want registry.InstallRequest) (err error) {
	plan, err := o.Plugins.PlanInstall(ctx, want)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Discard()) }()
	name := plan.Next.Name
	if err := o.show(plan.Package); err != nil {
		return err
	}
	if left := plan.Remains; left != (registry.Remains{}) {
		o.say("\n! A plugin of this name that was removed has left its state (%d keys) and secrets (%d): this one will have them.", left.Keys, left.Secrets)
		o.say("  If it is not that plugin, install it, remove it at once with `harness plugin remove %s`, which deletes them, and install it again.", name)
	}
	o.say("\nIt will run as the daemon's user, and will be granted: %s.", plan.Given)
	if err := o.confirm("Install %s %s?", name, plain(plan.Next.Version, shortText)); err != nil {
		return err
	}
	done, err := plan.Do(ctx, Who)
	if err != nil {
		return err
	}
	if !done.Plugin.Enabled {
		o.say("%s is installed, and disabled.", name)
	}
	o.lacks(done)
	if len(done.Plugin.Manifest.SettingsSchema) > 0 {
		o.say("To see and change its settings: `harness plugin settings %s`", name)
	}
	if done.Plugin.Enabled {
		return o.carriedOut(ctx, name, name+" is installed and enabled")
	}
	o.say("To turn it on: `harness plugin enable %s`", name)
	return nil
}

// Upgrade replaces an installed plugin by another version, after showing what changes,
// and keeps the one before it.
func (o *Operator) Upgrade(ctx context.Context, want registry.UpgradeRequest) (err error) {
	plan, err := o.Plugins.PlanUpgrade(ctx, want)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Discard()) }()
	if plan.Repair {
		return o.repair(ctx, plan)
	}
	if err := o.show(plan.Package); err != nil {
		return err
	}
	o.say("")
	o.showDifference(plan)
	if !plan.Given.None() {
		o.say("It will be granted: %s.", plan.Given)
	}
	if err := o.confirm("Replace %s %s by %s?", want.Name, was(plan), plain(plan.Next.Version, shortText)); err != nil {
		return err
	}
	return o.replace(ctx, plan)
}

// was is the version that a plan replaces.
func was(plan *registry.Plan) string { return cmp.Or(plain(plan.Was.Version, shortText), "-") }

// repair puts a version that is installed already in its place again.
func (o *Operator) repair(ctx context.Context, plan *registry.Plan) error {
	row := plan.Was
	if plan.Idle {
		o.say("%s is this version already (%s), and its files are as they were installed.", row.Name, short(row.SHA256))
		return nil
	}
	if _, err := plan.Do(ctx, Who); err != nil {
		return err
	}
	return o.carriedOut(ctx, row.Name, fmt.Sprintf("%s %s is as it was installed again", row.Name, plain(row.Version, shortText)))
}

// replace makes another version the one that is started, and says what there is now and
// what to do next.
func (o *Operator) replace(ctx context.Context, plan *registry.Plan) error {
	done, err := plan.Do(ctx, Who)
	if err != nil {
		return err
	}
	name := done.Plugin.Name
	o.lacks(done)
	if len(done.Plugin.Previous) > 0 {
		o.say("To go back: `harness plugin rollback %s`", name)
	}
	return o.carriedOut(ctx, name, fmt.Sprintf("%s is version %s now, was %s", name, plain(done.Plugin.Version, shortText), was(plan)))
}

// Rollback makes a version that was installed before the one that is started.
func (o *Operator) Rollback(ctx context.Context, want registry.RollbackRequest) error {
	plan, err := o.Plugins.PlanRollback(ctx, want)
	if err != nil {
		return err
	}
	o.showDifference(plan)
	if err := o.confirm("Go back from %s %s to %s (%s)?", want.Name, was(plan), plain(plan.Next.Version, shortText), short(plan.Next.SHA256)); err != nil {
		return err
	}
	return o.replace(ctx, plan)
}

// Trust pins what lies at a plugin's path now: the operator meant the change.
func (o *Operator) Trust(ctx context.Context, name string) (err error) {
	plan, err := o.Plugins.PlanTrust(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Discard()) }()
	if plan.Idle {
		o.say("%s is as it was pinned (%s); there is nothing to trust.", name, short(plan.Was.SHA256))
		return nil
	}
	o.showPins(plan.Was, plan.Next.SHA256)
	what := plan.Was.Path
	if plan.Package != nil {
		o.showDifference(plan)
		what = name
	}
	if err := o.confirm("Trust %s as it is now?", what); err != nil {
		return err
	}
	if _, err := plan.Do(ctx, Who); err != nil {
		return err
	}
	return o.carriedOut(ctx, name, name+" is trusted as it is now")
}

func (o *Operator) showPins(row ledger.Plugin, now string) {
	o.say("%s at %s", row.Name, row.Path)
	o.say("  pinned sha256 %s", cmp.Or(row.SHA256, "-"))
	o.say("  now    sha256 %s", now)
}

// Remove forgets a plugin with its state, its secrets and its package, once the daemon
// has let go of it.
func (o *Operator) Remove(ctx context.Context, want registry.RemoveRequest) error {
	plan, err := o.Plugins.PlanRemove(ctx, want)
	if err != nil {
		return err
	}
	if err := o.confirm("Remove %s %s with %s for ever?", want.Name, was(plan), want.What()); err != nil {
		return err
	}
	if _, err := plan.Do(ctx, Who); err != nil {
		return err
	}
	o.say("%s is removed. Its log stays until you delete it.", want.Name)
	return nil
}
