package terminal

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ownCommands are those that the chat carries out itself.
var ownCommands = []pluginsdk.Command{
	{CommandSpec: pluginsdk.CommandSpec{Name: strings.TrimPrefix(later, "/"), Description: "put off what the agent asks"}},
	{CommandSpec: pluginsdk.CommandSpec{Name: strings.TrimPrefix(now, "/"), Description: "take up again what was put off"}},
	{CommandSpec: pluginsdk.CommandSpec{Name: "quit", Description: "leave; what you asked for goes on"}},
}

// commands lists what can be typed after a slash, with what each command takes.
func (c *Chat) commands(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	all, err := c.Client.Commands(ctx)
	if err != nil {
		c.Screen.Line(c.Screen.Red("✗ the commands cannot be listed: " + Clean(err.Error()) + "; /help lists them, too"))
		return
	}
	all = slices.DeleteFunc(append(all, ownCommands...), func(command pluginsdk.Command) bool { return command.Name == "*" })
	slices.SortStableFunc(all, func(a, b pluginsdk.Command) int { return strings.Compare(a.Name, b.Name) })
	for _, command := range all {
		line := c.Screen.Bold(OneLine(usageOf(command.CommandSpec)))
		if command.Description != "" {
			line += " " + c.Screen.Dim("- "+OneLine(command.Description))
		}
		if command.Plugin != "" {
			line += " " + c.Screen.Dim("("+OneLine(command.Plugin)+")")
		}
		c.Screen.Line(line)
		for _, option := range command.Options {
			if taken := takes(option); taken != "" {
				c.Screen.Line("  " + c.Screen.Dim(OneLine(option.Name+": "+taken)))
			}
		}
	}
}

// usageOf is how a command is written: as it says itself, if it does so under its own name,
// else by its options.
func usageOf(command pluginsdk.CommandSpec) string {
	words := strings.Fields(command.Usage)
	if len(words) > 0 && strings.TrimPrefix(words[0], "/") == command.Name {
		words[0] = "/" + command.Name
		return strings.Join(words, " ")
	}
	written := "/" + command.Name
	for _, option := range command.Options {
		word := strings.ToUpper(option.Name)
		switch {
		case option.Named && option.Type == pluginsdk.OptionFlag:
			word = option.Name
		case option.Named:
			word = option.Name + "=" + cmp.Or(strings.ToUpper(string(option.Type)), "VALUE")
		}
		if !option.Required {
			word = "[" + word + "]"
		}
		written += " " + word
	}
	return written
}

// takes says what an option is, as far as its name does not.
func takes(option pluginsdk.CommandOption) string {
	parts := make([]string, 0, 2)
	if option.Description != "" {
		parts = append(parts, option.Description)
	}
	if len(option.Choices) > 0 {
		parts = append(parts, strings.Join(option.Choices, ", "))
	}
	return strings.Join(parts, ": ")
}
