package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// keptVersions is how many versions of a plugin can be gone back to.
const keptVersions = 5

// Upgrade is what an operator says when a plugin is replaced by another version.
type Upgrade struct {
	Source string // as of Install
	Grants Grants
	Force  bool // also when another plugin has a command of the same name
}

// Upgrade replaces an installed plugin by another version, and keeps the
// one before it.
func (o *Operator) Upgrade(ctx context.Context, name string, want Upgrade) (err error) {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if row.Origin == pluginsdk.OriginDirectory {
		return o.own(row)
	}
	p, err := o.Depot.Stage(ctx, want.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Discard()) }()
	if p.Manifest.Name != name {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is the plugin %s, not %s; `harness plugin install` adds it", want.Source, p.Manifest.Name, name)
	}
	if row.Origin == pluginsdk.OriginStore && p.SHA256 == row.SHA256 && want.Grants.empty() {
		return o.repair(ctx, row, p)
	}
	given, err := want.Grants.resolve(p.Manifest)
	if err != nil {
		return err
	}
	if row.Enabled {
		if err := o.mayEnable(ctx, adopt(row, p), want.Force, "harness plugin upgrade "+name+" "+want.Source); err != nil {
			return err
		}
	}
	if err := o.show(p); err != nil {
		return err
	}
	o.say("")
	o.showDifference(row.Manifest, p.Manifest)
	o.showPublisher(row, p.Signature.Publisher())
	if added := given.minus(rightsOf(row)); !added.none() {
		o.say("It will be granted: %s.", added)
	}
	if err := o.confirm("Replace %s %s by %s?", name, cmp.Or(plain(row.Version, shortText), "-"), plain(p.Manifest.Version, shortText)); err != nil {
		return err
	}
	err = o.keep(ctx, "plugin.upgrade", row, p, func(next *ledger.Plugin) string {
		next.Previous = o.push(row)
		added := given.minus(rightsOf(*next))
		if added.none() {
			return ""
		}
		give(next, rightsOf(*next).plus(added))
		return ", granted " + added.String()
	})
	if err != nil {
		return err
	}
	return o.replaced(ctx, row.Version, name)
}

// own refuses to replace what the daemon takes from its own directory.
func (o *Operator) own(row ledger.Plugin) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"%s is of the daemon's own directory, and not installed: put another file at %s and restart the daemon, which pins it anew", row.Name, row.Path)
}

// repair puts a version that is installed already in its place again.
func (o *Operator) repair(ctx context.Context, row ledger.Plugin, p *depot.Package) error {
	if o.Depot.Verify(ctx, row) == nil && row.Quarantine == "" {
		o.say("%s is this version already (%s), and its files are as they were installed.", row.Name, short(row.SHA256))
		return nil
	}
	if err := o.keep(ctx, "plugin.repair", row, p, func(*ledger.Plugin) string { return "" }); err != nil {
		return err
	}
	return o.carriedOut(ctx, row.Name, fmt.Sprintf("%s %s is as it was installed again", row.Name, plain(row.Version, shortText)))
}

// keep adds the package and makes the plugin refer to it, as whom the operator was
// shown. change does the rest, and returns what the audit log is to say of it.
func (o *Operator) keep(ctx context.Context, action string, shown ledger.Plugin, p *depot.Package, change func(next *ledger.Plugin) (detail string)) error {
	err := p.Keep(ctx, func(path string) error {
		return o.edit(ctx, shown.Name, action, func(row *ledger.Plugin) (string, error) {
			if row.SHA256 != shown.SHA256 || row.Origin != shown.Origin {
				return "", changedMeanwhile(shown.Name)
			}
			*row = adopt(*row, p)
			row.Path, row.Quarantine, row.LastError = path, "", ""
			more := change(row)
			return versionOf(*row) + more, nil
		})
	})
	if err != nil {
		return err
	}
	return o.sweep(ctx)
}

// changedMeanwhile is for what is not any more what the operator was shown.
func changedMeanwhile(name string) error {
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s was changed by somebody else meanwhile; look at `harness plugin info %s` and try again", name, name)
}

// push returns the versions to go back to once the row's own is replaced.
func (o *Operator) push(row ledger.Plugin) []ledger.PluginVersion {
	previous := slices.Clone(row.Previous)
	if row.Origin == pluginsdk.OriginStore {
		version := ledger.PluginVersion{
			Version: row.Version, Path: row.Path, SHA256: row.SHA256, Publisher: row.Publisher, Manifest: row.Manifest,
			InstalledAt: o.Depot.Added(row.SHA256),
		}
		previous = slices.DeleteFunc(previous, func(v ledger.PluginVersion) bool { return v.SHA256 == row.SHA256 })
		previous = slices.Insert(previous, 0, version)
	}
	return previous[:min(len(previous), keptVersions)]
}

// showPublisher warns of a version that somebody else answers for.
func (o *Operator) showPublisher(row ledger.Plugin, publisher string) {
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
	if left := missing(row); !left.none() {
		o.say("It lacks what it wants. To grant it: %s", hint(name, left))
	}
	if len(row.Previous) > 0 {
		o.say("To go back: `harness plugin rollback %s`", name)
	}
	return o.carriedOut(ctx, name, fmt.Sprintf("%s is version %s now, was %s", name, plain(row.Version, shortText), cmp.Or(plain(was, shortText), "-")))
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
	next := back(row, version)
	if err := o.Depot.Accepts(version.Publisher); err != nil {
		return err
	}
	if err := o.Depot.Verify(ctx, next); err != nil {
		return err
	}
	o.showDifference(row.Manifest, next.Manifest)
	o.showPublisher(row, next.Publisher)
	if err := o.confirm("Go back from %s %s to %s (%s)?", name, cmp.Or(plain(row.Version, shortText), "-"), plain(version.Version, shortText), short(version.SHA256)); err != nil {
		return err
	}
	err = o.edit(ctx, name, "plugin.rollback", func(now *ledger.Plugin) (string, error) {
		if now.SHA256 != row.SHA256 || now.Origin != row.Origin {
			return "", changedMeanwhile(name)
		}
		left := *now
		left.Previous = slices.DeleteFunc(slices.Clone(now.Previous), func(v ledger.PluginVersion) bool { return v.SHA256 == version.SHA256 })
		*now = back(*now, version)
		now.Previous, now.Quarantine, now.LastError = o.push(left), "", ""
		return versionOf(*now), nil
	})
	if err != nil {
		return err
	}
	return o.replaced(ctx, row.Version, name)
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
		known[n] = version.Version + " (" + short(version.SHA256) + ")"
	}
	return ledger.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version %q of %s; there are: %s", to, row.Name, list(known))
}
