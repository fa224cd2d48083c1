// Command metrics is the plugin metrics by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/metrics"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(metrics.New()) }
