// Command workflow is the plugin workflow by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/workflow"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(workflow.New()) }
