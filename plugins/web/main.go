// Command web is the plugin that serves the HTTP API and the event socket.
package main

import (
	"os"
	"slices"

	"github.com/seed-706843ae/harness/plugins/web/internal/web"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	plugin := new(web.Plugin)
	if !slices.Contains(os.Args[1:], serve.DebugFlag) { // there its author has started it
		plugin.Daemon = os.Getppid()
	}
	serve.Main(plugin)
}
