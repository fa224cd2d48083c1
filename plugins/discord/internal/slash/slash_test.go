package slash

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func command(name, description, usage string, options ...pluginsdk.CommandOption) pluginsdk.Command {
	return pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: name, Description: description, Usage: usage, Options: options}}
}

// brief is a command as a person meets it: name: description, then its options.
func brief(command *discordgo.ApplicationCommand) string {
	kinds := map[discordgo.ApplicationCommandOptionType]string{3: "text", 5: "flag", 10: "number"}
	lines := []string{command.Name + ": " + command.Description}
	for _, option := range command.Options {
		line := option.Name + " " + kinds[option.Type]
		if option.Required {
			line += "!"
		}
		if option.Autocomplete {
			line += "?"
		}
		for _, choice := range option.Choices {
			line += fmt.Sprintf(" %s=%v", choice.Name, choice.Value)
		}
		lines = append(lines, line+": "+option.Description)
	}
	return strings.Join(lines, "\n")
}

func TestBuild(t *testing.T) {
	many := make([]string, 26)
	wide := make([]string, 25)
	for i := range many {
		many[i] = fmt.Sprint("c", i)
	}
	for i := range wide {
		wide[i] = fmt.Sprintf("%02d%s", i, strings.Repeat("x", 98))
	}
	full := make([]pluginsdk.CommandOption, 26)
	for i := range full {
		full[i] = pluginsdk.CommandOption{Name: fmt.Sprint("o", i), Type: pluginsdk.OptionText}
	}
	choice := func(name string, choices ...string) pluginsdk.CommandOption {
		return pluginsdk.CommandOption{Name: name, Type: pluginsdk.OptionChoice, Choices: choices, Description: "d"}
	}
	for _, test := range []struct {
		name string
		of   pluginsdk.Command
		want string
	}{
		{"nothing to fill in", command("help", "list the commands", ""), "help: list the commands"},
		{"a usage and no options", command("busy", "d", "/busy  [MODE]"), "busy: d\ntext text: [MODE]"},
		{"a usage without its name", command("weather", "d", "CITY [today]"), "weather: d\ntext text: CITY [today]"},
		{"a usage that is the name", command("go", "d", "/go"), "go: d"},
		{"no description", command("go", " \n\u200b", ""), "go: one of Harness's commands"},
		{"strangers' words", command("go", "one\r\n\x1b[31mtwo\u202e \u2066three\x00", ""), "go: one [31mtwo three"},
		{"nothing to be seen", command("go", "\u3164\u200d", ""), "go: one of Harness's commands"},
		{"letters that are joined", command("go", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f680", ""), "go: \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f680"},
		{"a control character between words", command("go", "one\x00two", ""), "go: one two"},
		{"a long description", command("go", strings.Repeat("ab ", 50), ""), "go: " + strings.Repeat("ab ", 33)[:98] + "…"},
		{"a long description outside of the first plane", command("go", strings.Repeat("😀", 60), ""), "go: " + strings.Repeat("😀", 49) + "…"},
		{"every type", command("do", "d", "",
			pluginsdk.CommandOption{Name: "words", Type: pluginsdk.OptionText},
			pluginsdk.CommandOption{Name: "cost", Type: pluginsdk.OptionNumber},
			pluginsdk.CommandOption{Name: "force", Type: pluginsdk.OptionFlag},
			choice("wake", "no", "yes", "no"),
			pluginsdk.CommandOption{Name: "thread", Type: pluginsdk.OptionThread},
			pluginsdk.CommandOption{Name: "task", Type: pluginsdk.OptionTask, Description: "of  which\n task"},
			pluginsdk.CommandOption{Name: "model", Type: pluginsdk.OptionModel, Required: true},
			pluginsdk.CommandOption{Name: "when", Type: "moment"},
		), "do: d\nmodel text!?: which model\nwords text: words\ncost number: a number\nforce flag: whether it is said\n" +
			"wake text no=no yes=yes: d\nthread text?: which thread\ntask text?: of which task\nwhen text: when"},
		{"too many choices", command("do", "d", "", choice("o", many...)), "do: d\no text?: d"},
		{"a choice that Discord would change", command("do", "d", "", choice("o", "a", "b  c")), "do: d\no text?: d"},
		{"a choice that is too long", command("do", "d", "", choice("o", strings.Repeat("x", 101))), "do: d\no text?: d"},
		{"too much in all", command("do", "d", "", choice("o", wide...), choice("p", wide...)), "do: d\no text?: d\np text?: d"},
		{"too many options", command("do", "d", "[o0] ...", full...), "do: d\ntext text: [o0] ..."},
		{"too many options and no usage", command("do", "d", "", full...), "do: d\ntext text: what follows the name"},
		{"an option that is no name", command("do", "d", "", pluginsdk.CommandOption{Name: "Wake", Type: pluginsdk.OptionText}), "do: d\ntext text: what follows the name"},
		{"an option that is there twice", command("do", "d", "", choice("o", "a"), choice("o", "b")), "do: d\ntext text: what follows the name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := Build([]pluginsdk.Command{test.of})
			if got := brief(set.Guild[0]); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if err := check(set.Guild); err != nil {
				t.Error(err)
			}
			if err := check(set.Global); err != nil {
				t.Error(err)
			}
		})
	}
}

// People find each command once, by name, and can ask about any message.
func TestBuildTheSet(t *testing.T) {
	first, second := command("beta", "of the first", ""), command("beta", "of the second", "")
	set := Build([]pluginsdk.Command{command("zeta", "d", ""), first, second, command("*", "any", ""), command("alpha", "d", ""), command("Große", "d", "")})
	names := func(commands []*discordgo.ApplicationCommand) (names []string) {
		for _, command := range commands {
			names = append(names, command.Name+"/"+command.Description)
		}
		return names
	}
	for _, commands := range [][]*discordgo.ApplicationCommand{set.Guild, set.Global} {
		if got := strings.Join(names(commands), " "); got != "alpha/d beta/of the first zeta/d "+Ask+"/" {
			t.Errorf("got %s", got)
		}
	}
	if len(set.Left) != 1 || !strings.HasPrefix(set.Left[0], "/Große cannot be picked in Discord: ") {
		t.Errorf("left: %q", set.Left)
	}
	for _, command := range set.Guild {
		if command.Contexts != nil || command.IntegrationTypes != nil {
			t.Errorf("%s says where it is shown: a guild's command cannot", command.Name)
		}
	}
	for _, command := range set.Global {
		if fmt.Sprint(*command.Contexts, *command.IntegrationTypes) != "[1] [0]" {
			t.Errorf("%s is shown elsewhere than in direct messages with the bot", command.Name)
		}
	}
}

// When there are too many, it is not the core's own commands that are lost.
func TestBuildLeavesOutWhatIsTooMuch(t *testing.T) {
	commands := []pluginsdk.Command{command("thread", "d", "")}
	for i := range 101 {
		of := command(fmt.Sprintf("a%03d", i), "d", "")
		of.Plugin = "letters"
		commands = append(commands, of)
	}
	set := Build(commands)
	if err := check(set.Guild); err != nil {
		t.Error(err)
	}
	if n := len(set.Guild); n != 101 || set.Guild[99].Name != "thread" || set.Guild[98].Name != "a098" {
		t.Errorf("%d commands, the last %s and %s", n, set.Guild[98].Name, set.Guild[99].Name)
	}
	want := []string{
		"/a100 of the plugin letters cannot be picked in Discord, which takes 100 commands",
		"/a099 of the plugin letters cannot be picked in Discord, which takes 100 commands",
	}
	if fmt.Sprint(set.Left) != fmt.Sprint(want) {
		t.Errorf("left: %q", set.Left)
	}
}

// What Discord returns of what it was given is the same, whatever it adds; what somebody
// changed is not.
func TestSame(t *testing.T) {
	set := Build([]pluginsdk.Command{
		command("busy", "d", "", pluginsdk.CommandOption{Name: "mode", Type: pluginsdk.OptionChoice, Choices: []string{"queue", "steer"}}),
		command("stop", "d", "", pluginsdk.CommandOption{Name: "all", Type: pluginsdk.OptionFlag, Named: true}),
	})
	// As the API lists them: later ones first, with all that it adds.
	const added = `"id": "1", "application_id": "2", "version": "3", "default_member_permissions": null, "default_permission": true, "nsfw": false,
		"name_localizations": null, "description_localizations": null, `
	list := func(more string) string {
		return `[{` + added + more + ` "type": 3, "name": "Ask about this", "description": ""},
			{` + added + more + ` "type": 1, "name": "stop", "description": "d", "options": [{"type": 5, "name": "all", "description": "whether it is said"}]},
			{` + added + more + ` "name": "busy", "description": "d", "options": [{"type": 3, "name": "mode", "description": "one of several", "required": false,
				"choices": [{"name": "queue", "name_localizations": null, "value": "queue"}, {"name": "steer", "value": "steer"}]}]}]`
	}
	guild := list(`"guild_id": "4", "contexts": null, "integration_types": [0],`)
	global := list(`"dm_permission": true, "contexts": [1], "integration_types": [0],`)
	for _, test := range []struct {
		name     string
		have     string
		want     []*discordgo.ApplicationCommand
		old, new string // what of have is changed
		same     bool
	}{
		{"a guild's", guild, set.Guild, "", "", true},
		{"the global ones", global, set.Global, "", "", true},
		{"global ones that are shown in guilds", global, set.Global, `"contexts": [1]`, `"contexts": [0, 1]`, false},
		{"global ones as they were before there were contexts", global, set.Global, `"contexts": [1]`, `"contexts": null`, false},
		{"a description", guild, set.Guild, `"description": "d"`, `"description": "e"`, false},
		{"a type", guild, set.Guild, `"type": 3, "name": "Ask`, `"type": 2, "name": "Ask`, false},
		{"an option's type", guild, set.Guild, `"type": 5`, `"type": 3`, false},
		{"an option that is required", guild, set.Guild, `"required": false`, `"required": true`, false},
		{"a choice", guild, set.Guild, `"value": "steer"`, `"value": "starboard"`, false},
		{"who may", guild, set.Guild, `"default_member_permissions": null`, `"default_member_permissions": "0"`, false},
		{"for adults", guild, set.Guild, `"nsfw": false`, `"nsfw": true`, false},
		{"nothing yet", `[]`, set.Guild, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var have []*discordgo.ApplicationCommand
			if test.old != "" && !strings.Contains(test.have, test.old) {
				t.Fatalf("there is no %s to change", test.old)
			}
			if err := json.Unmarshal([]byte(strings.Replace(test.have, test.old, test.new, 1)), &have); err != nil {
				t.Fatal(err)
			}
			if got := Same(have, test.want); got != test.same {
				t.Errorf("the same: %t", got)
			}
		})
	}
	if !Same(nil, nil) || !Same(set.Guild, set.Guild) || Same(set.Guild[:2], set.Guild) {
		t.Error("what is the same by nature is not, or the other way round")
	}
}
