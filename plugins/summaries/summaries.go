// Package summaries is the plugin that keeps thread-summaries.md current, and consolidates the inbox into memory.
package summaries

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/summaries"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(summaries.Plugin)
}
