package operate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// keptVersions is how many versions of a plugin can be gone back to.
const keptVersions = 5

// Upgrade replaces an installed plugin by the version at source, and keeps the
// one before it.
func (o *Operator) Upgrade(ctx context.Context, name, source string, grants Grants) (err error) {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if row.Origin == pluginsdk.OriginDirectory {
		return o.own(row)
	}
	p, err := o.Depot.Stage(ctx, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Discard()) }()
	if p.Manifest.Name != name {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is the plugin %s, not %s; `harness plugin install` adds it", source, p.Manifest.Name, name)
	}
	if row.Origin == pluginsdk.OriginStore && p.SHA256 == row.SHA256 && grants.empty() {
		return o.repair(ctx, row, p)
	}
	given, err := grants.resolve(p.Manifest)
	if err != nil {
		return err
	}
	if err := o.show(p); err != nil {
		return err
	}
	o.say("")
	o.showDifference(row.Manifest, p.Manifest)
	o.showPublisher(row, p.Signature.Publisher())
	if err := o.warnOfConflicts(ctx, adopt(row, p)); err != nil {
		return err
	}
	if added := given.minus(rightsOf(row)); !added.none() {
		o.say("It will be granted: %s.", added)
	}
	if err := o.confirm("Replace %s %s by %s?", name, dash(plain(row.Version, shortText)), plain(p.Manifest.Version, shortText)); err != nil {
		return err
	}
	next := adopt(row, p)
	next.Previous = o.push(row)
	if err := o.keep(ctx, "plugin.upgrade", next, p, given); err != nil {
		return err
	}
	return o.replaced(ctx, row.Version, name)
}

// own refuses to replace what the daemon takes from its own directory.
func (o *Operator) own(row pluginsdk.PluginInfo) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"%s is of the daemon's own directory, and not installed: put another file at %s and restart the daemon, which pins it anew", row.Name, row.Path)
}

// repair puts a version that is installed already in its place again.
func (o *Operator) repair(ctx context.Context, row pluginsdk.PluginInfo, p *depot.Package) error {
	damage := o.Depot.Verify(row)
	if damage == nil && row.Quarantine == "" {
		o.say("%s is this version already (%s), and its files are as they were installed.", row.Name, short(row.SHA256))
		return nil
	}
	next := adopt(row, p)
	next.Previous = row.Previous
	if err := o.keep(ctx, "plugin.repair", next, p, rights{}); err != nil {
		return err
	}
	o.say("%s %s is as it was installed again; %s.", row.Name, plain(row.Version, shortText), o.when())
	return nil
}

// keep adds the package and makes the row refer to it.
func (o *Operator) keep(ctx context.Context, action string, next pluginsdk.PluginInfo, p *depot.Package, given rights) error {
	err := p.Keep(ctx, func(path string) error {
		next.Path = path
		if err := o.Store.InstallPlugin(ctx, next); err != nil {
			return err
		}
		if err := o.audit(ctx, action, next.Name, versionOf(next)); err != nil {
			return err
		}
		added := given.minus(rightsOf(next))
		if added.none() {
			return nil
		}
		if err := o.setRights(ctx, next, rightsOf(next).plus(added)); err != nil {
			return err
		}
		return o.audit(ctx, "plugin.grant", next.Name, added.String())
	})
	if err != nil {
		return err
	}
	return o.sweep(ctx)
}

// push returns the versions to go back to once the row's own is replaced.
func (o *Operator) push(row pluginsdk.PluginInfo) []pluginsdk.PluginVersion {
	previous := slices.Clone(row.Previous)
	if row.Origin == pluginsdk.OriginStore {
		version := pluginsdk.PluginVersion{
			Version: row.Version, Path: row.Path, SHA256: row.SHA256, Publisher: row.Publisher, Manifest: row.Manifest,
			InstalledAt: o.Depot.Added(row.SHA256),
		}
		previous = slices.DeleteFunc(previous, func(v pluginsdk.PluginVersion) bool { return v.SHA256 == row.SHA256 })
		previous = slices.Insert(previous, 0, version)
	}
	return previous[:min(len(previous), keptVersions)]
}

// showPublisher warns of a version that somebody else answers for.
func (o *Operator) showPublisher(row pluginsdk.PluginInfo, publisher string) {
	if row.Origin == pluginsdk.OriginStore && row.Publisher != publisher {
		o.say("! publisher: %s, was %s", signedBy(publisher), signedBy(row.Publisher))
	}
}

func signedBy(publisher string) string {
	if publisher == "" {
		return "none (not signed by a trusted key)"
	}
	return publisher
}

// replaced says what there is now, and what to do next.
func (o *Operator) replaced(ctx context.Context, was, name string) error {
	row, err := o.Store.Plugin(ctx, name)
	if err != nil {
		return err
	}
	o.say("%s is version %s now, was %s; %s.", name, plain(row.Version, shortText), dash(plain(was, shortText)), o.when())
	if left := missing(row); !left.none() {
		o.say("It lacks what it wants. To grant it: %s", hint(name, left))
	}
	if len(row.Previous) > 0 {
		o.say("To go back: `harness plugin rollback %s`", name)
	}
	return nil
}

// Rollback makes a version that was installed before the one that is started;
// to is a version or the beginning of a pin, and empty for the last one.
func (o *Operator) Rollback(ctx context.Context, name, to string) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	version, err := earlier(row, to)
	if err != nil {
		return err
	}
	next := row
	next.Origin, next.Path, next.SHA256, next.Version = pluginsdk.OriginStore, version.Path, version.SHA256, version.Version
	next.Publisher, next.Manifest = version.Publisher, version.Manifest
	if err := o.Depot.Accepts(version.Publisher); err != nil {
		return err
	}
	if err := o.Depot.Verify(next); err != nil {
		return err
	}
	o.showDifference(row.Manifest, next.Manifest)
	o.showPublisher(row, next.Publisher)
	if err := o.confirm("Go back from %s %s to %s (%s)?", name, dash(plain(row.Version, shortText)), plain(version.Version, shortText), short(version.SHA256)); err != nil {
		return err
	}
	row.Previous = slices.DeleteFunc(slices.Clone(row.Previous), func(v pluginsdk.PluginVersion) bool { return v.SHA256 == version.SHA256 })
	next.Previous = o.push(row)
	if err := o.Store.InstallPlugin(ctx, next); err != nil {
		return err
	}
	if err := o.audit(ctx, "plugin.rollback", name, versionOf(next)); err != nil {
		return err
	}
	return o.replaced(ctx, row.Version, name)
}

// earlier finds the version to go back to.
func earlier(row pluginsdk.PluginInfo, to string) (pluginsdk.PluginVersion, error) {
	if len(row.Previous) == 0 {
		return pluginsdk.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version of %s to go back to", row.Name)
	}
	if to == "" {
		return row.Previous[0], nil
	}
	known := make([]string, len(row.Previous))
	for n, version := range row.Previous {
		if version.Version == to || len(to) >= 6 && strings.HasPrefix(version.SHA256, to) {
			return version, nil
		}
		known[n] = version.Version + " (" + short(version.SHA256) + ")"
	}
	return pluginsdk.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version %q of %s; there are: %s", to, row.Name, list(known))
}
