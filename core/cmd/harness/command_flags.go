package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// part is a word behind the name of a plugin's command, or a flag that is not one of this program's.
type part struct {
	raw string // as it was written

	name, value string // of a flag, without the dashes; the value that stands behind = in the same word
	is          bool   // it is a flag
	given       bool   // it has a value
}

// divide takes this program's own flags out of the words behind the name of a plugin's command, wherever they stand. What
// follows -- are words.
func divide(args []string, flags *pflag.FlagSet) (own []string, parts []part) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			for _, word := range args[i+1:] {
				parts = append(parts, part{raw: word})
			}
			return own, parts
		}
		if len(arg) < 2 || arg[0] != '-' {
			parts = append(parts, part{raw: arg})
			continue
		}
		flag, valued := lookUp(arg, flags)
		if flag == nil {
			name, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			parts = append(parts, part{raw: arg, name: name, value: value, given: given, is: true})
			continue
		}
		if own = append(own, arg); !valued && flag.NoOptDefVal == "" && i+1 < len(args) {
			i++
			own = append(own, args[i])
		}
	}
	return own, parts
}

// lookUp finds which of these flags a word is; nil: none. valued says that the word has the flag's value in it.
func lookUp(arg string, flags *pflag.FlagSet) (flag *pflag.Flag, valued bool) {
	if long, is := strings.CutPrefix(arg, "--"); is {
		name, _, valued := strings.Cut(long, "=")
		return flags.Lookup(name), valued
	}
	return flags.ShorthandLookup(arg[1:2]), len(arg) > 2
}

// typedWords is the text of a plugin's command. A flag of a name that the command declares as a named option is that
// option, NAME=VALUE in front of the words; of one without a value, the word behind it is that. wrong is the first flag that the
// command does not have.
func typedWords(command pluginsdk.Command, parts []part) (text string, wrong *part, err error) {
	var named, words []string
	for i := 0; i < len(parts); i++ {
		one := parts[i]
		if !one.is {
			words = append(words, one.raw)
			continue
		}
		option := namedOption(command, one)
		switch {
		case option == nil:
			return "", &one, nil
		case option.Type == pluginsdk.OptionFlag && !one.given:
			named = append(named, option.Name)
			continue
		case one.given:
		case i+1 < len(parts) && !parts[i+1].is:
			i++
			one.value = parts[i].raw
		default:
			return "", nil, fmt.Errorf("--%s needs a value; one that begins with - is written --%s=VALUE", option.Name, option.Name)
		}
		field, err := fieldOf(option.Name, one.value)
		if err != nil {
			return "", nil, err
		}
		named = append(named, field)
	}
	return strings.Join(append(append([]string{"/" + command.Name}, named...), words...), " "), nil, nil
}

func namedOption(command pluginsdk.Command, flag part) *pluginsdk.CommandOption {
	i := slices.IndexFunc(command.Options, func(option pluginsdk.CommandOption) bool {
		return option.Named && option.Name == flag.name && strings.HasPrefix(flag.raw, "--")
	})
	if i < 0 {
		return nil
	}
	return &command.Options[i]
}

// fieldOf is an option as a command takes it.
func fieldOf(name, value string) (string, error) {
	for _, quote := range []string{`"`, "'"} {
		switch {
		case value != "" && !strings.ContainsAny(value, " \t\r\n\"'"):
			return name + "=" + value, nil
		case !strings.Contains(value, quote):
			return name + "=" + quote + value + quote, nil
		}
	}
	return "", fmt.Errorf("--%s: %q has both kinds of quotes in it; leave out one of them", name, value)
}

// flagNames lists the flags that a plugin's command has beside this program's.
func flagNames(command pluginsdk.Command) (names []string) {
	for _, option := range command.Options {
		if option.Named {
			names = append(names, "--"+option.Name)
		}
	}
	return names
}
