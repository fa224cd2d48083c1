// Package summaries is the plugin that keeps thread-summaries.md current, and consolidates the inbox into memory.
package summaries

import (
	"runtime"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/summaries"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(summaries.Plugin)
}

// NewAt returns the plugin for tests in which hours pass: now is its clock.
func NewAt(now func() time.Time) pluginsdk.Plugin { return &summaries.Plugin{Now: now} }
