// Package slash turns Harness's commands into Discord's, and what people fill in there back
// into what they would have typed. It only computes: nothing here asks anybody.
package slash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Ask is the name of the command in the menu of a message.
const Ask = "Ask about this"

// What Discord takes, in UTF-16 units where it counts characters, since it does not say
// which it means and that is the most that they can be.
// Source: interactions/application-commands.
const (
	maxCommands = 100  // typed with a slash, in a guild or globally
	maxCommand  = 8000 // of all names, descriptions and values of one
	maxOptions  = 25
	maxChoices  = 25
	maxText     = 100 // of a description, and of a choice's name and value
)

// name is what commands and options are called: in Harness, and so in Discord as well.
var name = lazy.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)

// Set is what is registered with Discord.
type Set struct {
	Guild  []*discordgo.ApplicationCommand // in each guild
	Global []*discordgo.ApplicationCommand // in direct messages with the bot
	// Left says what people cannot pick in Discord, and why: a sentence each.
	Left []string
}

// Build makes Discord's commands of what people can type, by name, and Ask. A command
// whose options Discord cannot show one by one has one text in their place.
func Build(commands []pluginsdk.Command) Set {
	var set Set
	left := func(command pluginsdk.Command, why string, args ...any) {
		of := ""
		if command.Plugin != "" {
			of = " of the plugin " + command.Plugin
		}
		set.Left = append(set.Left, fmt.Sprintf("/%s%s ", clip(command.Name), of)+fmt.Sprintf(why, args...))
	}
	var kept []pluginsdk.Command
	for _, command := range commands {
		switch {
		case command.Name == "*", slices.ContainsFunc(kept, func(k pluginsdk.Command) bool { return k.Name == command.Name }):
		case !name.MatchString(command.Name):
			left(command, "cannot be picked in Discord: a name there has small letters, digits, _ and -, at most 32")
		default:
			kept = append(kept, command)
		}
	}
	slices.SortFunc(kept, func(a, b pluginsdk.Command) int { return strings.Compare(a.Name, b.Name) })
	for i := len(kept) - 1; i >= 0 && len(kept) > maxCommands; i-- {
		if kept[i].Plugin != "" { // the core's own stay
			left(kept[i], "cannot be picked in Discord, which takes %d commands", maxCommands)
			kept = slices.Delete(kept, i, i+1)
		}
	}
	for _, command := range kept {
		if why := untakable(command.Options); why != "" {
			left(command, "has one text in Discord for all that it takes: %s", why)
		}
		set.add(chat(command))
	}
	set.add(&discordgo.ApplicationCommand{Type: discordgo.MessageApplicationCommand, Name: Ask})
	return set
}

// add puts a command into both scopes. The global one is not shown in guilds, where it
// would stand a second time.
func (s *Set) add(command *discordgo.ApplicationCommand) {
	direct := *command
	direct.Contexts = &[]discordgo.InteractionContextType{discordgo.InteractionContextBotDM}
	direct.IntegrationTypes = &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall}
	s.Guild = append(s.Guild, command)
	s.Global = append(s.Global, &direct)
}

// chat is a command that is typed with a slash.
func chat(command pluginsdk.Command) *discordgo.ApplicationCommand {
	by := "one of Harness's commands"
	if command.Plugin != "" {
		by = "a command of the plugin " + command.Plugin
	}
	made := &discordgo.ApplicationCommand{
		Type: discordgo.ChatApplicationCommand, Name: command.Name,
		Description: cmp.Or(clip(command.Description), clip(by)), Options: options(command),
	}
	if size(made) > maxCommand {
		// Names and descriptions alone are at most half of it: what is too much is choices.
		for _, option := range made.Options {
			option.Autocomplete = option.Autocomplete || option.Choices != nil
			option.Choices = nil
		}
	}
	return made
}

// size is what counts towards maxCommand.
// Source: interactions/application-commands#slash-commands.
func size(command *discordgo.ApplicationCommand) int {
	n := units(command.Name) + units(command.Description)
	for _, option := range command.Options {
		n += units(option.Name) + units(option.Description)
		for _, choice := range option.Choices {
			n += 2 * units(choice.Name) // the value is the same
		}
	}
	return n
}
