// Command time is the plugin time by itself (make plugins); harness-plugins has it too.
package main

import (
	clock "github.com/seed-706843ae/harness/plugins/time"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(clock.New()) }
