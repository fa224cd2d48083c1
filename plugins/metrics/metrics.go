// Package metrics is the plugin that keeps what the agent costs within budgets.
package metrics

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/metrics/internal/budget"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(budget.Plugin)
}
