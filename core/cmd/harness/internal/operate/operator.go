// Package operate carries out what an operator asks of the registry of plugins:
// install, upgrade, grant, order and the rest. It works on the database and the
// files, with the daemon up or down; a running daemon follows.
package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Operator is somebody at the command line.
type Operator struct {
	Store *store.Store
	Depot *depot.Depot
	// PluginDir is the daemon's own directory of plugins.
	PluginDir string
	// Reserved are the commands of the core.
	Reserved []string
	// Tools are the bounds of what the agent is offered.
	Tools toolserver.Bounds
	// Problem says what is wrong with a plugin's settings; empty: nothing.
	Problem func(ctx context.Context, row ledger.Plugin) string
	// Running reports whether the daemon is up.
	Running func() bool
	Out     io.Writer
	// Ask puts a question that yes or no answers.
	Ask func(question string) (bool, error)
}

// errDeclined ends what the operator did not want after all.
var errDeclined = errors.New("nothing was changed")

// confirm asks before something is changed.
func (o *Operator) confirm(format string, args ...any) error {
	yes, err := o.Ask(fmt.Sprintf(format, args...))
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

func (o *Operator) say(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }

// operator is who the audit log says that did what the commands do.
const operator = "operator"

// edit changes a plugin's row as it is by then, whoever else changes it, and notes
// that in the audit log.
func (o *Operator) edit(ctx context.Context, name, action string, change func(row *ledger.Plugin) (detail string, err error)) error {
	return o.Store.EditPlugin(ctx, name, operator, action, change)
}

// errUnchanged ends an edit that has nothing to change.
var errUnchanged = errors.New("there is nothing to change")

// audit notes what the operator did.
func (o *Operator) audit(ctx context.Context, action, name, detail string) error {
	if err := o.Store.Audit(ctx, operator, action, name, detail); err != nil {
		return fmt.Errorf("it was done, but the audit log does not say so: %w", err)
	}
	return nil
}

// plugin returns the row of a plugin. The error for a name that there is not
// lists those that there are.
func (o *Operator) plugin(ctx context.Context, name string) (ledger.Plugin, error) {
	row, err := o.Store.Plugin(ctx, name)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		err = Unknown(ctx, o.Store, name)
	}
	return row, err
}

// Unknown is the error for a plugin that there is not: it lists those that there
// are.
func Unknown(ctx context.Context, database *store.Store, name string) error {
	rows, err := database.Plugins(ctx)
	if err != nil {
		return err
	}
	known := make([]string, len(rows))
	for n, row := range rows {
		known[n] = row.Name
	}
	return unknownAmong(known, name)
}

func unknownAmong(known []string, name string) error {
	if len(known) == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q: none are known yet; "+
			"the daemon registers its own when it starts, `harness plugin install` others", name)
	}
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q; there are: %s", name, strings.Join(known, ", "))
}

// when says from when on a change holds.
func (o *Operator) when() string {
	if o.Running() {
		return "the daemon follows within about a second"
	}
	return "from the daemon's next start on"
}

// sweep removes packages that no row refers to any more.
func (o *Operator) sweep(ctx context.Context) error {
	_, err := o.Depot.Sweep(func() ([]ledger.Plugin, error) { return o.Store.Plugins(ctx) })
	return err
}
