package slash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// rest is the option of a command that takes what follows its name as one text.
const rest = "text"

// takes are the options that Discord shows one by one.
func takes(command pluginsdk.Command) []pluginsdk.CommandOption {
	if untakable(command.Options) != "" {
		return nil
	}
	return command.Options
}

// untakable says why Discord cannot show the options one by one; empty when it can.
func untakable(options []pluginsdk.CommandOption) string {
	if len(options) > maxOptions {
		return fmt.Sprintf("it has %d options, and Discord takes %d", len(options), maxOptions)
	}
	for i, option := range options {
		if !name.MatchString(option.Name) {
			return "its option " + clip(fmt.Sprintf("%q", option.Name)) + " is no name in Discord"
		}
		if slices.ContainsFunc(options[:i], func(o pluginsdk.CommandOption) bool { return o.Name == option.Name }) {
			return "it has its option " + option.Name + " twice"
		}
	}
	return ""
}

// options are what people fill in: required ones first, as Discord wants it, else in the
// order of the specification.
func options(command pluginsdk.Command) []*discordgo.ApplicationCommandOption {
	shown := takes(command)
	if len(shown) == 0 {
		usage := strings.Fields(command.Usage)
		if len(usage) > 0 && strings.TrimPrefix(usage[0], "/") == command.Name {
			usage = usage[1:]
		}
		if len(usage) == 0 && len(command.Options) == 0 {
			return nil
		}
		shown = []pluginsdk.CommandOption{{Name: rest, Type: pluginsdk.OptionText, Description: cmp.Or(clip(strings.Join(usage, " ")), "what follows the name")}}
	}
	var required, optional []*discordgo.ApplicationCommandOption
	for _, option := range shown {
		if made := field(option); made.Required {
			required = append(required, made)
		} else {
			optional = append(optional, made)
		}
	}
	return append(required, optional...)
}

// field is one option. What is not known is a text.
func field(option pluginsdk.CommandOption) *discordgo.ApplicationCommandOption {
	made := &discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionString, Name: option.Name, Required: option.Required}
	about := option.Name
	switch option.Type {
	case pluginsdk.OptionNumber:
		made.Type, about = discordgo.ApplicationCommandOptionNumber, "a number"
	case pluginsdk.OptionFlag:
		made.Type, about = discordgo.ApplicationCommandOptionBoolean, "whether it is said"
	case pluginsdk.OptionThread, pluginsdk.OptionTask, pluginsdk.OptionModel:
		made.Autocomplete, about = true, "which "+string(option.Type)
	case pluginsdk.OptionChoice:
		about = "one of several"
		made.Choices = choices(option.Choices)
		made.Autocomplete = made.Choices == nil
	}
	made.Description = cmp.Or(clip(option.Description), about)
	return made
}

// choices are those that people pick from; nil when Discord does not take them all as they
// are, so that they are suggested as far as they can be, and written otherwise.
func choices(values []string) []*discordgo.ApplicationCommandOptionChoice {
	if len(values) > maxChoices {
		return nil
	}
	var made []*discordgo.ApplicationCommandOptionChoice
	for i, value := range values {
		if value == "" || clip(value) != value {
			return nil
		}
		if !slices.Contains(values[:i], value) {
			made = append(made, &discordgo.ApplicationCommandOptionChoice{Name: value, Value: value})
		}
	}
	return made
}

// clip is what strangers wrote, on one line that shows all there is, of at most maxText
// units; empty when there is nothing to see.
func clip(text string) string {
	line := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '\u200c', r == '\u200d': // they join letters and emoji
			return r
		case !unicode.IsGraphic(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))), " ")
	if strings.Trim(line, "\u200c\u200d ") == "" {
		return ""
	}
	if units(line) <= maxText {
		return line
	}
	n, end := 1, 0 // with room for the …
	for at, r := range line {
		if n += utf16.RuneLen(r); n > maxText {
			break
		}
		end = at + utf8.RuneLen(r)
	}
	return strings.TrimSpace(line[:end]) + "…"
}

// units is the length of a text in UTF-16.
func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}
