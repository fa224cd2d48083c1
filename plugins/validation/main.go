// Command validation is the plugin that looks at the work of tasks before it is handed
// over: it runs the project's own checks, and has an agent review the work that did not
// do it.
package main

import (
	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/validation/internal/validation"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	run.Reap()
	serve.Main(new(validation.Plugin))
}
