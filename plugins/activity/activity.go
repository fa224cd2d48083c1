// Package activity is the plugin that records what happened around a reply:
// that a run began, its steps, thinking and tool calls, and how it ended.
package activity

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/activity/internal/activity"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	return new(activity.Plugin)
}
