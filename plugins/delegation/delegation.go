// Package delegation is the plugin that gives work to other agents.
package delegation

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/delegation/internal/delegation"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(delegation.Plugin)
}
