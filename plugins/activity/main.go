// Command activity is the plugin that records what happened around a reply:
// that a run began, its steps, thinking and tool calls, and how it ended.
package main

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/activity/internal/activity"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	serve.Main(new(activity.Plugin))
}
