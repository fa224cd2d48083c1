package operate

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
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
	if row.Origin != pluginsdk.OriginDirectory {
		if err := o.MayDevelop(); err != nil {
			return err
		}
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
	was := row.SHA256
	err = o.edit(ctx, name, "plugin.trust", func(row *ledger.Plugin) (string, error) {
		if row.SHA256 != was {
			return "", changedMeanwhile(name)
		}
		row.SHA256, row.Quarantine, row.LastError = sum, "", ""
		return versionOf(*row), nil
	})
	if err != nil {
		return err
	}
	return o.carriedOut(ctx, name, name+" is trusted as it is now")
}

func (o *Operator) trustPackage(ctx context.Context, row ledger.Plugin) (err error) {
	if o.Depot.Verify(ctx, row) == nil {
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
	publisher := p.Signature.Publisher()
	if p.SHA256 == row.SHA256 {
		publisher = row.Publisher // it is what that one signed; only the place is another
	}
	o.showPins(row, p.SHA256)
	o.showDifference(row.Manifest, p.Manifest)
	o.showPublisher(row, publisher)
	if err := o.confirm("Trust %s as it is now?", row.Name); err != nil {
		return err
	}
	err = o.keep(ctx, "plugin.trust", row, p, func(next *ledger.Plugin) string {
		next.Publisher = publisher
		return ""
	})
	if err != nil {
		return err
	}
	return o.carriedOut(ctx, row.Name, row.Name+" is trusted as it is now")
}

// MayDevelop refuses plugins that are worked on, which nobody has signed, where
// signatures are required.
func (o *Operator) MayDevelop() error {
	if err := o.Depot.Accepts(""); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a plugin that is worked on may not run here: %w", err)
	}
	return nil
}

func (o *Operator) asPinned(row ledger.Plugin) {
	o.say("%s is as it was pinned (%s); there is nothing to trust.", row.Name, short(row.SHA256))
}

func (o *Operator) showPins(row ledger.Plugin, now string) {
	o.say("%s at %s", row.Name, row.Path)
	o.say("  pinned sha256 %s", cmp.Or(row.SHA256, "-"))
	o.say("  now    sha256 %s", now)
}
