package operate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Remove turns a plugin off, waits until the daemon has let go of it, and forgets
// it with its state, its secrets and its package.
func (o *Operator) Remove(ctx context.Context, name string, keepState bool) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if row.Origin == pluginsdk.OriginDirectory && isFile(row.Path) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is of the daemon's own directory, and the daemon would register it again: "+
			"`harness plugin disable %s` turns it off; to forget it, delete %s first", name, name, row.Path)
	}
	what := "its settings, state and secrets"
	if keepState {
		what = "its settings, but not its state and secrets,"
	}
	if err := o.confirm("Remove %s %s with %s for ever?", name, cmp.Or(plain(row.Version, shortText), "-"), what); err != nil {
		return err
	}
	if err := o.Store.SetPluginEnabled(ctx, name, false); err != nil {
		return err
	}
	if err := o.letGo(ctx, name); err != nil {
		return fmt.Errorf("%s is disabled, and nothing was removed; try again, or stop the daemon: %w", name, err)
	}
	forget := o.Store.DeletePlugin
	if keepState {
		forget = o.Store.ForgetPlugin
	}
	if err := forget(ctx, name); err != nil {
		return err
	}
	if err := o.audit(ctx, "plugin.remove", name, versionOf(row)+", with "+what); err != nil {
		return err
	}
	if err := o.sweep(ctx); err != nil {
		return err
	}
	o.say("%s is removed. Its log stays until you delete it.", name)
	return nil
}
