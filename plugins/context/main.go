// Command context is the plugin that puts the workspace's context files and
// the conversation's history in front of a prompt.
package main

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/context/internal/promptcontext"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	serve.Main(new(promptcontext.Plugin))
}
