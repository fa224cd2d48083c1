// Package discord is the plugin that brings the assistant to Discord.
package discord

import (
	"runtime"
	"runtime/debug"

	"github.com/seed-706843ae/harness/plugins/discord/internal/discord"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// garbage is how much may lie about, in percent of what is in use. The bot is idle for
// hours: half of what is usual keeps it small, and costs what cannot be measured.
const garbage = 50

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	debug.SetGCPercent(garbage)
	return new(discord.Plugin)
}
