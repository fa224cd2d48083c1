// Package workflow is the plugin that takes a project from a request to reviewed software, in stages.
package workflow

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/workflow"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(workflow.Plugin)
}
