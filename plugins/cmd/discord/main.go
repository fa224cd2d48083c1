// Command discord is the plugin discord by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/discord"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(discord.New()) }
