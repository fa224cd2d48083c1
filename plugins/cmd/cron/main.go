// Command cron is the plugin cron by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/cron"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(cron.New()) }
