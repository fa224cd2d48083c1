package operate

import (
	"context"
	"errors"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Trust pins what lies at a plugin's path now: the operator meant the change.
func (o *Operator) Trust(ctx context.Context, name string) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if row.Origin == pluginsdk.OriginStore {
		return o.trustPackage(ctx, row)
	}
	sum, err := depot.SumFile(row.Path)
	if err != nil {
		return err
	}
	if sum == row.SHA256 {
		o.asPinned(row)
		return nil
	}
	o.showPins(row, sum)
	if err := o.confirm("Trust %s as it is now?", row.Path); err != nil {
		return err
	}
	row.SHA256 = sum
	if err := o.Store.InstallPlugin(ctx, row); err != nil {
		return err
	}
	return o.trusted(ctx, row)
}

func (o *Operator) trustPackage(ctx context.Context, row pluginsdk.PluginInfo) (err error) {
	if o.Depot.Verify(row) == nil {
		o.asPinned(row)
		return nil
	}
	p, err := o.Depot.StageAgain(ctx, row)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Discard()) }()
	if p.Manifest.Name != row.Name {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "what lies at %s says that it is the plugin %s, not %s", row.Path, p.Manifest.Name, row.Name)
	}
	next := adopt(row, p)
	if p.SHA256 == row.SHA256 {
		next.Publisher = row.Publisher // it is what that one signed; only the place is another
	}
	o.showPins(row, p.SHA256)
	o.showDifference(row.Manifest, p.Manifest)
	o.showPublisher(row, next.Publisher)
	if err := o.confirm("Trust %s as it is now?", row.Name); err != nil {
		return err
	}
	if err := o.keep(ctx, "plugin.trust", next, p, rights{}); err != nil {
		return err
	}
	o.say("%s is trusted as it is now; %s.", row.Name, o.when())
	return nil
}

func (o *Operator) asPinned(row pluginsdk.PluginInfo) {
	o.say("%s is as it was pinned (%s); there is nothing to trust.", row.Name, short(row.SHA256))
}

func (o *Operator) showPins(row pluginsdk.PluginInfo, now string) {
	o.say("%s at %s", row.Name, row.Path)
	o.say("  pinned sha256 %s", dash(row.SHA256))
	o.say("  now    sha256 %s", now)
}

func (o *Operator) trusted(ctx context.Context, row pluginsdk.PluginInfo) error {
	if err := o.audit(ctx, "plugin.trust", row.Name, versionOf(row)); err != nil {
		return err
	}
	o.say("%s is trusted as it is now; %s.", row.Name, o.when())
	return nil
}
