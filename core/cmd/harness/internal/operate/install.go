package operate

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Install is what an operator says when a plugin is installed.
type Install struct {
	Source string // an executable with a plugin.json beside it, a directory, or an archive
	Grants Grants
	Enable bool
}

// Install shows what a plugin says about itself, asks, and makes it known, turned
// off unless the operator wants it on.
func (o *Operator) Install(ctx context.Context, want Install) (err error) {
	p, err := o.Depot.Stage(ctx, want.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Discard()) }()
	name := p.Manifest.Name
	if err := o.free(ctx, name, want.Source); err != nil {
		return err
	}
	given, err := want.Grants.resolve(p.Manifest)
	if err != nil {
		return err
	}
	row := adopt(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name}}, p)
	if want.Enable {
		last := row
		last.Position = math.MaxInt // where it will be
		if err := o.mayEnable(ctx, last, false, "harness plugin enable "+name); err != nil {
			return err
		}
	}
	if err := o.show(p); err != nil {
		return err
	}
	if err := o.showRemains(ctx, name); err != nil {
		return err
	}
	o.say("\nIt will run as the daemon's user, and will be granted: %s.", given)
	if err := o.confirm("Install %s %s?", name, plain(p.Manifest.Version, shortText)); err != nil {
		return err
	}
	err = p.Keep(ctx, func(path string) error {
		row.Path, row.Enabled = path, want.Enable
		give(&row, given)
		return o.Store.AddPlugin(ctx, row, operator, "plugin.install", installDetail(row)) // refuses when another operator was faster
	})
	if err != nil {
		return err
	}
	return o.installed(ctx, name)
}

// shipped are the names of the plugins that come with Harness. Those of the
// daemon's own directory have them, and nothing else: their names are in events,
// commands and tools that people know.
var shipped = []string{
	"activity", "context", "cron", "delegation", "discord", "metrics", "summaries", "time", "validation", "web", "workflow", "worktree",
}

// free refuses a name that is taken.
func (o *Operator) free(ctx context.Context, name, source string) error {
	if slices.Contains(shipped, name) {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is the name of a plugin that comes with Harness; a plugin that is installed needs another one", name)
	}
	if file := filepath.Join(o.PluginDir, name); isFile(file) {
		return pluginsdk.Errorf(pluginsdk.CodeConflict,
			"%s is the name of a plugin in the daemon's own directory (%s); a plugin that is installed needs another one", name, file)
	}
	row, err := o.Store.Plugin(ctx, name)
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
		name, cmp.Or(plain(row.Version, shortText), "-"), name, source)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// showRemains says what a plugin of that name that was removed has left: whoever
// has its name gets it.
func (o *Operator) showRemains(ctx context.Context, name string) error {
	keys, err := o.stateKeys(ctx, name)
	if err != nil {
		return err
	}
	secrets, err := o.Store.PluginSecrets(ctx, name)
	if err != nil || keys+len(secrets) == 0 {
		return err
	}
	o.say("\n! A plugin of this name that was removed has left its state (%d keys) and secrets (%d): this one will have them.", keys, len(secrets))
	o.say("  If it is not that plugin, install it, remove it at once with `harness plugin remove %s`, which deletes them, and install it again.", name)
	return nil
}

// stateKeys counts the keys of a plugin's state.
func (o *Operator) stateKeys(ctx context.Context, name string) (n int, err error) {
	page := pluginsdk.ListStateRequest{Limit: 1000, KeysOnly: true}
	for {
		keys, err := o.Store.ListState(ctx, name, page)
		n += len(keys.Entries)
		if err != nil || !keys.More {
			return n, err
		}
		page.After = keys.Entries[len(keys.Entries)-1].Key
	}
}

// installDetail is what the audit log says of a plugin that is new.
func installDetail(row ledger.Plugin) string {
	detail := versionOf(row)
	if given := rightsOf(row); !given.none() {
		detail += ", granted " + given.String()
	}
	if row.Enabled {
		detail += ", enabled"
	}
	return detail
}

// versionOf names a version for the audit log.
func versionOf(row ledger.Plugin) string {
	signed := "unsigned"
	if row.Publisher != "" {
		signed = "signed by " + row.Publisher
	}
	return "version " + plain(row.Version, shortText) + ", sha256 " + row.SHA256 + ", " + signed
}

// installed says what there is now, and what to do next.
func (o *Operator) installed(ctx context.Context, name string) error {
	row, err := o.Store.Plugin(ctx, name)
	if err != nil {
		return err
	}
	if !row.Enabled {
		o.say("%s is installed, and disabled.", name)
	}
	if left := missing(row); !left.none() {
		o.say("It lacks what it wants. To grant it: %s", hint(name, left))
	}
	if len(row.Manifest.SettingsSchema) > 0 {
		o.say("To see and change its settings: `harness plugin settings %s`", name)
	}
	if row.Enabled {
		return o.carriedOut(ctx, name, name+" is installed and enabled")
	}
	o.say("To turn it on: `harness plugin enable %s`", name)
	return nil
}

// adopt returns the row that has the package as its version.
func adopt(row ledger.Plugin, p *depot.Package) ledger.Plugin {
	row.Origin, row.SHA256, row.Version = pluginsdk.OriginStore, p.SHA256, p.Manifest.Version
	row.Publisher, row.Manifest = p.Signature.Publisher(), p.Manifest
	return row
}
