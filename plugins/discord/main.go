// Command discord is the plugin that brings the assistant to Discord.
package main

import (
	"github.com/seed-706843ae/harness/plugins/discord/internal/discord"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(discord.Plugin)) }
