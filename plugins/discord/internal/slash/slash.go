// Package slash turns Harness's commands into Discord's, and what people fill in there back
// into what they would have typed. It only computes: nothing here asks anybody.
package slash

import (
	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// Ask is the name of the command in the menu of a message.
const Ask = "Ask about this"

// Set is what is registered with Discord.
type Set struct {
	Guild  []*discordgo.ApplicationCommand // in each guild
	Global []*discordgo.ApplicationCommand // in direct messages with the bot
	// Left says what people cannot pick in Discord, and why: a sentence each.
	Left []string
}

// Build makes Discord's commands of what people can type, by name, and Ask. The rest of a
// command that Discord cannot show option by option is one text.
func Build(commands []pluginsdk.Command) Set { return Set{} }

// Body is the JSON of commands as a bulk overwrite takes it. It leaves out what the
// library would write as null, since the documentation knows no null there.
func Body(commands []*discordgo.ApplicationCommand) ([]byte, error) { return nil, nil }

// Same reports whether what Discord has, as its API lists it, is what is wanted, so that
// nothing is overwritten in vain. The order of commands, and what Discord adds of its own,
// make no difference.
func Same(have, want []*discordgo.ApplicationCommand) bool { return false }

// Text is what a person would have typed: /name, the named options as NAME=VALUE (in quotes
// where it has spaces) and flags as NAME, then the others in the order of the
// specification.
func Text(spec pluginsdk.Command, data wire.InteractionData) string { return "" }

// Focused returns the option that somebody is filling in, and what stands there so far.
// False: no option of this command is.
func Focused(spec pluginsdk.Command, data wire.InteractionData) (option pluginsdk.CommandOption, typed string, ok bool) {
	return option, "", false
}

// Candidate is something that an option can be filled in with.
type Candidate struct {
	Value string // what is put in
	Name  string // what people read; empty: the value
}

// Suggest returns those candidates that fit what was typed so far, at most 25, never nil.
// Those that begin with it come first, else their order is kept.
func Suggest(candidates []Candidate, typed string) []*discordgo.ApplicationCommandOptionChoice {
	return nil
}
