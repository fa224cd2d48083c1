// Package discord brings the assistant to Discord.
package discord

import "github.com/seed-706843ae/harness/pluginsdk"

// Plugin is the plugin.
type Plugin struct{}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "discord", Version: "0.1.0", Description: "Brings the assistant to Discord", Exclusive: true}
}
