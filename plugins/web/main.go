// Command web is the plugin that serves the HTTP API and the event socket.
package main

import (
	"github.com/seed-706843ae/harness/plugins/web/internal/web"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(web.Plugin)) }
