// Command activity is the plugin activity by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/activity"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(activity.New()) }
