// Package validation is the plugin that looks at the work of tasks before it is handed
// over: it runs the project's own checks, and has an agent review the work that did not
// do it.
package validation

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/validation/internal/validation"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it. It does not return in a process
// that was started to end what a check has left behind (see run.Reap).
func New() pluginsdk.Plugin {
	run.Reap()
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(validation.Plugin)
}
