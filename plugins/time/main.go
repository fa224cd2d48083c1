// Command time is the plugin that tells the agent what time it is.
package main

import (
	"github.com/seed-706843ae/harness/plugins/time/internal/clock"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(clock.Plugin)) }
