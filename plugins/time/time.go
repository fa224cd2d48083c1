// Package clock is the plugin time. It tells the agent what time it is.
package clock

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/time/internal/clock"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	return new(clock.Plugin)
}
