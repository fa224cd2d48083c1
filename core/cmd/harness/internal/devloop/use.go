package devloop

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is the daemon's database, as far as a Registrar needs it.
type Store interface {
	Plugins(ctx context.Context) ([]ledger.Plugin, error)
	InstallPlugin(ctx context.Context, plugin ledger.Plugin) error
	Audit(ctx context.Context, who, action, target, detail string) error
	SavePluginState(ctx context.Context, name string, seen ledger.PluginSeen) error
}

// Registrar makes builds the ones that the daemon runs, and asks the author
// for what a plugin wants to be granted.
type Registrar struct {
	Store Store
	// Grant grants a plugin all that it asks for; Enable turns it on.
	Grant, Enable func(ctx context.Context, name string) error
	// Ask asks the author; nil, or an error: the answer is no.
	Ask func(question string) (bool, error)
	// GrantAll grants without asking.
	GrantAll bool
	Out      io.Writer
	// Began is called once, when the first build is the daemon's.
	Began func(name string)

	name  string   // of the plugin, once there is one
	asked []string // what was asked for already
}

// Use is Loop.Use.
func (r *Registrar) Use(ctx context.Context, build Build) error {
	if r.name != "" && r.name != build.Manifest.Name {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the plugin was called %s and is now %s: to rename it, end this, remove the old one, and begin again",
			r.name, build.Manifest.Name)
	}
	before, err := rowNamed(ctx, r.Store, build.Manifest.Name)
	if err != nil {
		return err
	}
	if before.LastError != "" {
		// It is of the build before: the same fault again must be seen to be new.
		seen := ledger.SeenOf(before)
		seen.LastError = ""
		if err := r.Store.SavePluginState(ctx, before.Name, seen); err != nil {
			return err
		}
	}
	if err := r.Store.InstallPlugin(ctx, rowOf(before, build)); err != nil {
		return err
	}
	detail := fmt.Sprintf("version %s, sha256 %s, built by its author", terminal.Short(build.Manifest.Version, shown), build.SHA256)
	if err := r.Store.Audit(ctx, "operator", "plugin.dev", build.Manifest.Name, detail); err != nil {
		return fmt.Errorf("note the build in the audit log: %w", err)
	}
	before.Name = build.Manifest.Name
	if err := r.grant(ctx, before, build.Manifest); err != nil {
		return err
	}
	if !before.Enabled && r.name == "" {
		if err := r.Enable(ctx, before.Name); err != nil {
			return err
		}
	}
	if r.name == "" {
		r.name = before.Name
		r.Began(r.name)
	}
	return nil
}

// rowNamed is what is registered under a name; zero when nothing is.
func rowNamed(ctx context.Context, store Store, name string) (ledger.Plugin, error) {
	rows, err := store.Plugins(ctx)
	if err != nil {
		return ledger.Plugin{}, err
	}
	if i := slices.IndexFunc(rows, func(row ledger.Plugin) bool { return row.Name == name }); i >= 0 {
		return rows[i], nil
	}
	return ledger.Plugin{}, nil
}

// rowOf is the row of a build. What was installed from a package before can be
// rolled back to.
func rowOf(before ledger.Plugin, build Build) ledger.Plugin {
	row := ledger.Plugin{
		PluginInfo: pluginsdk.PluginInfo{
			Name: build.Manifest.Name, SHA256: build.SHA256, Version: build.Manifest.Version,
			Manifest: build.Manifest, Origin: pluginsdk.OriginDev,
		},
		Path: build.Path, Previous: before.Previous,
	}
	if before.Origin == pluginsdk.OriginStore {
		row.Previous = append([]ledger.PluginVersion{{
			Version: before.Version, Path: before.Path, SHA256: before.SHA256, Publisher: before.Publisher,
			Manifest: before.Manifest, InstalledAt: time.Now().UTC(),
		}}, before.Previous...)
	}
	return row
}

// grant asks for what the manifest wants and the plugin has not, once.
func (r *Registrar) grant(ctx context.Context, row ledger.Plugin, manifest pluginsdk.Manifest) error {
	var wanted, lines []string
	for _, request := range manifest.Capabilities {
		if !slices.Contains(row.Granted, request.Capability) {
			wanted = append(wanted, string(request.Capability))
			lines = append(lines, fmt.Sprintf("  %s: %s", terminal.Short(string(request.Capability), shown), terminal.Short(request.Reason, shown)))
		}
	}
	for _, request := range manifest.Environment {
		if !slices.Contains(row.GrantedEnv, request.Name) {
			wanted = append(wanted, "env "+request.Name)
			lines = append(lines, fmt.Sprintf("  environment variable %s: %s", request.Name, terminal.Short(request.Reason, shown)))
		}
	}
	if len(wanted) == 0 || slices.Equal(wanted, r.asked) {
		return nil
	}
	r.asked = wanted
	fmt.Fprintf(r.Out, "%s asks for:\n%s\n", row.Name, strings.Join(lines, "\n"))
	yes := r.GrantAll
	if !yes && r.Ask != nil {
		answer, err := r.Ask("Grant that?")
		yes = err == nil && answer
	}
	if !yes {
		fmt.Fprintf(r.Out, "It is not granted. To grant it: harness plugin grant %s --all\n", row.Name)
		return nil
	}
	return r.Grant(ctx, row.Name)
}
