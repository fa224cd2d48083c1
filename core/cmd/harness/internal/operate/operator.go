// Package operate is an operator at the command line: it puts to core/registry, or to a
// daemon elsewhere, what they ask for, asks them back where their consent is needed, and prints what has come
// of it.
package operate

import (
	"errors"
	"fmt"
	"io"
)

// Operator is somebody at the command line.
type Operator struct {
	Plugins Plugins
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

// Who is who the audit log says that did what the commands do.
const Who = "operator"

// when says from when on a change holds.
func (o *Operator) when() string {
	if o.Plugins.Running() {
		return "the daemon follows within about a second"
	}
	return "from the daemon's next start on"
}
