// Command validation is the plugin validation by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/validation"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(validation.New()) }
