// Command delegation is the plugin that gives work to other agents.
package main

import (
	"github.com/seed-706843ae/harness/plugins/delegation/internal/delegation"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(delegation.Plugin)) }
