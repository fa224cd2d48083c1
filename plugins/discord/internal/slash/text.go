package slash

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Text is what a person would have typed: /name, the named options as NAME=VALUE (in quotes
// where it has spaces) and flags as NAME, then the others in the order of the
// specification. What the specification does not have comes last, such as the one text of a
// command without options.
func Text(spec pluginsdk.Command, data wire.InteractionData) string {
	words := []string{"/" + spec.Name}
	said := func(word string) {
		if word != "" {
			words = append(words, word)
		}
	}
	unsaid := slices.Clone(data.Options)
	take := func(option pluginsdk.CommandOption) string {
		at := slices.IndexFunc(unsaid, func(o wire.Option) bool { return o.Name == option.Name })
		if at < 0 {
			return ""
		}
		defer func() { unsaid = slices.Delete(unsaid, at, at+1) }()
		return value(unsaid[at])
	}
	for _, option := range takes(spec) {
		if !option.Named {
			continue
		}
		word := take(option)
		if word != "" && option.Type != pluginsdk.OptionFlag {
			word = option.Name + "=" + quoted(word)
		}
		said(word)
	}
	for _, option := range takes(spec) {
		if !option.Named {
			said(take(option))
		}
	}
	for _, option := range unsaid {
		said(value(option))
	}
	return strings.Join(words, " ")
}

// value is an option as it is typed: of a flag its name when it is set, else nothing.
func value(option wire.Option) string {
	var of any
	if json.Unmarshal(option.Value, &of) != nil {
		return ""
	}
	switch of := of.(type) {
	case string:
		return strings.TrimSpace(of)
	case float64:
		return strconv.FormatFloat(of, 'f', -1, 64)
	case bool:
		if of {
			return option.Name
		}
	}
	return ""
}

// quoted is a value behind NAME=, in quotes where it would end too early. There is no way to
// write both kinds of quotes: then the double ones become single ones.
func quoted(value string) string {
	switch {
	case !strings.ContainsFunc(value, unicode.IsSpace) && !strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, "'"):
		return value
	case !strings.Contains(value, `"`):
		return `"` + value + `"`
	case !strings.Contains(value, "'"):
		return "'" + value + "'"
	}
	return `"` + strings.ReplaceAll(value, `"`, "'") + `"`
}

// Focused returns the option that somebody is filling in, and what stands there so far.
// False: no option of this command is.
func Focused(spec pluginsdk.Command, data wire.InteractionData) (option pluginsdk.CommandOption, typed string, ok bool) {
	for _, filled := range data.Options {
		for _, option := range takes(spec) {
			if filled.Focused && filled.Name == option.Name {
				return option, value(filled), true
			}
		}
	}
	return option, "", false
}

// Candidate is something that an option can be filled in with.
type Candidate struct {
	Value string // what is put in
	Name  string // what people read; empty: the value
}

// Choices are the candidates of an option of the type choice.
func Choices(option pluginsdk.CommandOption) []Candidate {
	var candidates []Candidate
	for _, choice := range option.Choices {
		candidates = append(candidates, Candidate{Value: choice})
	}
	return candidates
}

// Suggest returns those candidates that fit what was typed so far, at most 25, never nil.
// Those that begin with it come first, else their order is kept. A value that Discord does
// not take as it is is left out: people can write it.
func Suggest(candidates []Candidate, typed string) []*discordgo.ApplicationCommandOptionChoice {
	begin, within := []*discordgo.ApplicationCommandOptionChoice{}, []*discordgo.ApplicationCommandOptionChoice{}
	typed = strings.ToLower(strings.TrimSpace(typed))
	seen := make(map[string]bool)
	for _, candidate := range candidates {
		if clip(candidate.Value) != candidate.Value || candidate.Value == "" || seen[candidate.Value] {
			continue
		}
		seen[candidate.Value] = true
		shown := clip(candidate.Name)
		if shown == "" {
			shown = candidate.Value
		}
		choice := &discordgo.ApplicationCommandOptionChoice{Name: shown, Value: candidate.Value}
		value, name := strings.ToLower(candidate.Value), strings.ToLower(shown)
		switch {
		case strings.HasPrefix(value, typed), strings.HasPrefix(name, typed):
			begin = append(begin, choice)
		case strings.Contains(value, typed), strings.Contains(name, typed):
			within = append(within, choice)
		}
	}
	found := append(begin, within...)
	return found[:min(len(found), maxChoices)]
}
