// Package web is the plugin that serves the HTTP API and the event socket.
package web

import (
	"os"
	"runtime"
	"slices"

	"github.com/seed-706843ae/harness/plugins/web/internal/web"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// New returns the plugin, and sets up this process for it. The parent of this process is its daemon, unless the arguments have
// serve.DebugFlag.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2)) // as the daemon, see harness up
	plugin := new(web.Plugin)
	if !slices.Contains(os.Args[1:], serve.DebugFlag) { // there its author has started it
		plugin.Daemon = os.Getppid()
	}
	return plugin
}
