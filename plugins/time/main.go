// Command time is the plugin that tells the agent what time it is.
package main

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/time/internal/clock"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	serve.Main(new(clock.Plugin))
}
