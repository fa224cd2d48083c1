package devloop

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Registrar makes builds the ones that the daemon runs, and asks the author
// for what a plugin wants to be granted.
type Registrar struct {
	// Register makes a build the one that is started, and returns the plugin's row as it
	// was before; zero when there was none.
	Register func(ctx context.Context, build Build) (before ledger.Plugin, err error)
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
	before, err := r.Register(ctx, build)
	if err != nil {
		return err
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

// grant asks for what the manifest wants and the plugin has not, once.
func (r *Registrar) grant(ctx context.Context, row ledger.Plugin, manifest pluginsdk.Manifest) error {
	var wanted, lines []string
	for _, request := range manifest.Requests() {
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
