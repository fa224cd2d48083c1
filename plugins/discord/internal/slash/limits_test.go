package slash

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"
)

// The checker below is written from the documentation alone, and reads what is sent: JSON.
// Source: interactions/application-commands#application-command-object.

var documentedName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

type sentCommand struct {
	Name        *string       `json:"name"`
	Type        int           `json:"type"`
	Description string        `json:"description"`
	Options     *[]sentOption `json:"options"`
	Contexts    []int         `json:"contexts"`
	Installed   []int         `json:"integration_types"`
}

type sentOption struct {
	Type         int           `json:"type"`
	Name         string        `json:"name"`
	Description  string        `json:"description"`
	Required     bool          `json:"required"`
	Autocomplete bool          `json:"autocomplete"`
	Choices      *[]sentChoice `json:"choices"`

	// The library writes these as null, and the client takes nulls out.
	Options  []sentOption `json:"options"`
	Channels []int        `json:"channel_types"`
}

type sentChoice struct{ Name, Value string }

func length(text string) int { return len(utf16.Encode([]rune(text))) }

// check says what of the commands Discord would refuse, for one scope.
func check(commands []*discordgo.ApplicationCommand) error {
	body, err := json.Marshal(commands)
	if err != nil {
		return err
	}
	var sent []sentCommand
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&sent); err != nil {
		return err
	}
	counts, seen := map[int]int{}, map[string]bool{}
	for _, command := range sent {
		if command.Name == nil {
			return fmt.Errorf("a command without a name: %s", body)
		}
		counts[command.Type]++
		if id := fmt.Sprint(command.Type, " ", *command.Name); seen[id] {
			return fmt.Errorf("%s: twice", id)
		} else {
			seen[id] = true
		}
		if err := command.check(); err != nil {
			return fmt.Errorf("%s: %w", *command.Name, err)
		}
	}
	if counts[1] > 100 || counts[2] > 15 || counts[3] > 15 {
		return fmt.Errorf("too many: %v", counts)
	}
	return nil
}

func (c sentCommand) check() error {
	if c.Type == 3 {
		if n := length(*c.Name); n < 1 || n > 32 || c.Description != "" || c.Options != nil {
			return fmt.Errorf("a menu's command has a name of 1-32, no description and no options: %+v", c)
		}
		return nil
	}
	if c.Type != 1 || !documentedName.MatchString(*c.Name) || strings.ToLower(*c.Name) != *c.Name {
		return fmt.Errorf("type %d, name %q", c.Type, *c.Name)
	}
	if err := shown(c.Description); err != nil {
		return err
	}
	total, names, optional := length(*c.Name)+length(c.Description), map[string]bool{}, false
	if c.Options == nil {
		return nil
	}
	if len(*c.Options) > 25 {
		return fmt.Errorf("%d options", len(*c.Options))
	}
	for _, option := range *c.Options {
		switch {
		case !documentedName.MatchString(option.Name) || strings.ToLower(option.Name) != option.Name || names[option.Name]:
			return fmt.Errorf("option %q", option.Name)
		case option.Required && optional:
			return fmt.Errorf("option %q is required, behind one that is not", option.Name)
		case option.Type != 3 && option.Type != 5 && option.Type != 10:
			return fmt.Errorf("option %q has the type %d", option.Name, option.Type)
		case option.Options != nil || option.Channels != nil:
			return fmt.Errorf("option %q has what its type does not have", option.Name)
		case option.Type == 5 && (option.Autocomplete || option.Choices != nil):
			return fmt.Errorf("option %q: a flag has neither choices nor suggestions", option.Name)
		case option.Choices != nil && option.Autocomplete:
			return fmt.Errorf("option %q has choices and suggestions", option.Name)
		}
		if err := shown(option.Description); err != nil {
			return fmt.Errorf("option %q: %w", option.Name, err)
		}
		names[option.Name], optional = true, optional || !option.Required
		total += length(option.Name) + length(option.Description)
		if option.Choices == nil {
			continue
		}
		if n := len(*option.Choices); n > 25 {
			return fmt.Errorf("option %q has %d choices", option.Name, n)
		}
		for _, choice := range *option.Choices {
			if err := shown(choice.Name); err != nil {
				return fmt.Errorf("option %q: %w", option.Name, err)
			}
			if n := length(choice.Value); n < 1 || n > 100 {
				return fmt.Errorf("option %q: a value of %d", option.Name, n)
			}
			total += length(choice.Name) + length(choice.Value)
		}
	}
	if total > 8000 {
		return fmt.Errorf("%d characters in all", total)
	}
	return nil
}

// shown says what is wrong with a line that people read in Discord.
func shown(text string) error {
	if n := length(text); n < 1 || n > 100 || strings.TrimSpace(text) != text {
		return fmt.Errorf("%q has %d characters", text, n)
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Errorf("%q has %U in it", text, r)
		}
	}
	return nil
}

// The checker itself finds what is wrong, else it would prove nothing.
func TestCheckerFindsFaults(t *testing.T) {
	option := func(change func(*discordgo.ApplicationCommandOption)) *discordgo.ApplicationCommand {
		o := &discordgo.ApplicationCommandOption{Type: 3, Name: "o", Description: "d"}
		change(o)
		return &discordgo.ApplicationCommand{Type: 1, Name: "a", Description: "d", Options: []*discordgo.ApplicationCommandOption{o}}
	}
	for name, command := range map[string]*discordgo.ApplicationCommand{
		"capital":        {Type: 1, Name: "A", Description: "d"},
		"no description": {Type: 1, Name: "a"},
		"long":           {Type: 1, Name: "a", Description: strings.Repeat("x", 101)},
		"menu's options": {Type: 3, Name: "A b", Options: option(func(*discordgo.ApplicationCommandOption) {}).Options},
		"option's name":  option(func(o *discordgo.ApplicationCommandOption) { o.Name = "a b" }),
		"option's words": option(func(o *discordgo.ApplicationCommandOption) { o.Description = "a\nb" }),
		"both":           option(func(o *discordgo.ApplicationCommandOption) { o.Autocomplete, o.Choices = true, choices([]string{"x"}) }),
		"many choices": option(func(o *discordgo.ApplicationCommandOption) {
			o.Choices = make([]*discordgo.ApplicationCommandOptionChoice, 26)
		}),
	} {
		if check([]*discordgo.ApplicationCommand{command}) == nil {
			t.Errorf("%s: the checker finds nothing wrong", name)
		}
	}
}
