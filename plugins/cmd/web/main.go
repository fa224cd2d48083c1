// Command web is the plugin web by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/web"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(web.New()) }
