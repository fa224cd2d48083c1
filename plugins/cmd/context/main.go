// Command context is the plugin context by itself (make plugins); harness-plugins has it too.
package main

import (
	promptcontext "github.com/seed-706843ae/harness/plugins/context"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(promptcontext.New()) }
