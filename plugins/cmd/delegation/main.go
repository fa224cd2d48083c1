// Command delegation is the plugin delegation by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/delegation"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(delegation.New()) }
