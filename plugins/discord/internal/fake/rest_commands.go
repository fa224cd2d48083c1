package fake

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var commandRoutes = []route{
	{pattern: "GET /applications/{app}/commands", bucket: "commands", handle: (*Server).getCommands},
	{pattern: "POST /applications/{app}/commands", bucket: "commands", handle: (*Server).postCommand},
	{pattern: "PUT /applications/{app}/commands", bucket: "commands", handle: (*Server).putCommands},
	{pattern: "DELETE /applications/{app}/commands/{command}", bucket: "commands", handle: (*Server).deleteCommand},
	{pattern: "GET /applications/{app}/guilds/{guild}/commands", bucket: "commands", handle: (*Server).getCommands},
	{pattern: "POST /applications/{app}/guilds/{guild}/commands", bucket: "commands", handle: (*Server).postCommand},
	{pattern: "PUT /applications/{app}/guilds/{guild}/commands", bucket: "commands", handle: (*Server).putCommands},
	{pattern: "DELETE /applications/{app}/guilds/{guild}/commands/{command}", bucket: "commands", handle: (*Server).deleteCommand},
}

// The kinds of command, and how many of each there may be.
// Source: interactions/application-commands#registering-a-command.
const (
	commandChat    = 1
	commandUser    = 2
	commandMessage = 3
)

var mostCommands = map[int]int{commandChat: 100, commandUser: 15, commandMessage: 15}

// Source: interactions/application-commands#application-command-object-application-command-naming.
var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// scope is whose commands a request is about: a guild's or, "", everybody's.
func (s *Server) scope(c *call) (string, *refusal) {
	if c.path("app") != s.app {
		return "", unknownApplication
	}
	guild := c.path("guild")
	if g := s.guilds[guild]; guild != "" && (g == nil || g.gone) {
		return "", missingAccess
	}
	return guild, nil
}

func (s *Server) getCommands(c *call) (any, *refusal) {
	guild, refused := s.scope(c)
	if refused != nil {
		return nil, refused
	}
	return append([]object{}, s.commands[guild]...), nil
}

// putCommands: interactions/application-commands#bulk-overwrite-global-application-commands.
func (s *Server) putCommands(c *call) (any, *refusal) {
	guild, refused := s.scope(c)
	if refused != nil {
		return nil, refused
	}
	list, ok := c.body.([]any)
	if !ok {
		c.fail("", RuleForm, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
		return nil, c.refusal()
	}
	var made []object
	counts := make(map[int]int)
	names := make(map[string]bool)
	c.each(list, "", RuleCommand, func(o object, path string) {
		command := s.command(c, o, path, guild)
		kind := numberOf(command["type"])
		counts[kind]++
		key := strconv.Itoa(kind) + " " + command["name"].(string)
		if names[key] {
			c.fail(path, RuleCommandName, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		names[key] = true
		made = append(made, command)
	})
	for kind, n := range counts {
		if n > mostCommands[kind] {
			c.fail("", RuleCommandCount, "BASE_TYPE_BAD_LENGTH", "There may be %d commands of the type %d; these are %d.", mostCommands[kind], kind, n)
		}
	}
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	s.commands[guild] = made
	return append([]object{}, made...), nil
}

// postCommand: interactions/application-commands#create-global-application-command.
func (s *Server) postCommand(c *call) (any, *refusal) {
	guild, refused := s.scope(c)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	command := s.command(c, o, "", guild)
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	before := len(s.commands[guild])
	rest := slices.DeleteFunc(slices.Clone(s.commands[guild]), func(other object) bool {
		return other["name"] == command["name"] && numberOf(other["type"]) == numberOf(command["type"])
	})
	s.commands[guild] = append(rest, command)
	if len(rest) == before {
		c.status = 201
	}
	return command, nil
}

func (s *Server) deleteCommand(c *call) (any, *refusal) {
	guild, refused := s.scope(c)
	if refused != nil {
		return nil, refused
	}
	before := len(s.commands[guild])
	s.commands[guild] = slices.DeleteFunc(s.commands[guild], func(o object) bool { return o["id"] == c.path("command") })
	if len(s.commands[guild]) == before {
		return nil, unknownCommand
	}
	return nil, nil
}

// command judges a command and returns it as Discord keeps it. One of the same name and
// kind keeps its id.
func (s *Server) command(c *call, o object, path, guild string) object {
	c.known(path, o, "id", "type", "name", "name_localizations", "description", "description_localizations", "options",
		"default_member_permissions", "dm_permission", "default_permission", "integration_types", "contexts", "nsfw", "handler",
		"application_id", "guild_id", "version")
	kind, given := c.number(o, path, "type", 1, 4, RuleCommand)
	if !given {
		kind = commandChat
	}
	name := c.text(o, path, "name", 1, 32, RuleCommandName)
	size := units(name)
	if kind == commandChat {
		c.commandName(name, path)
		size += units(c.text(o, path, "description", 1, 100, RuleCommand))
		options := c.list(o, path, "options", 25, RuleCommandOption)
		size += c.options(options, join(path, "options"), 0)
	} else {
		c.text(o, path, "description", 0, 0, RuleCommand)
		if options, _ := o["options"].([]any); len(options) > 0 {
			c.fail(join(path, "options"), RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_TYPE", "Only commands of the type CHAT_INPUT have options.")
		}
	}
	if size > 8000 {
		c.fail(path, RuleCommandSize, "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)")
	}
	for key, most := range map[string]int{"integration_types": 1, "contexts": 2} {
		list := c.list(o, path, key, 3, RuleCommandContext)
		if list != nil && guild != "" {
			c.note(RuleCommandContext, "%s: %s is for global commands only", path, key)
		}
		seen := make(map[int]bool)
		for _, value := range list {
			n := numberOf(value)
			if _, ok := value.(json.Number); !ok || n < 0 || n > most || seen[n] {
				c.fail(join(path, key), RuleCommandContext, "BASE_TYPE_CHOICES", "Value must be one of 0 to %d, once.", most)
			}
			seen[n] = true
		}
	}
	if value, ok := o["default_member_permissions"]; ok && value != nil {
		if text, ok := value.(string); !ok || parseID(text) == 0 && text != "0" {
			c.fail(join(path, "default_member_permissions"), RuleCommand, "BASE_TYPE_CONVERT", "Permissions are a string of digits.")
		}
	}
	kept := maps.Clone(o)
	kept["type"], kept["application_id"], kept["version"] = kind, s.app, s.id()
	kept["id"], kept["name"] = s.id(), name
	for _, other := range s.commands[guild] {
		if numberOf(other["type"]) == kind && (other["id"] == o["id"] || other["name"] == name) {
			kept["id"] = other["id"]
		}
	}
	if guild != "" {
		kept["guild_id"] = guild
	}
	for key, otherwise := range map[string]any{"default_member_permissions": nil, "nsfw": false, "description": "", "contexts": nil, "integration_types": []int{0},
		"dm_permission": true, "name_localizations": nil, "description_localizations": nil} {
		if kept[key] == nil {
			kept[key] = otherwise
		}
	}
	if options, _ := kept["options"].([]any); len(options) == 0 {
		delete(kept, "options")
	}
	return kept
}

func (c *check) commandName(name, path string) {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		c.fail(join(path, "name"), RuleCommandName, "APPLICATION_COMMAND_INVALID_NAME", "Command name %q is invalid: small letters, digits, - and _, 1 to 32.", name)
	}
}

// The kinds of option, by the number Discord gives them.
// Source: interactions/application-commands#application-command-object-application-command-option-type.
const (
	optionSub     = 1
	optionGroup   = 2
	optionString  = 3
	optionInteger = 4
	optionNumber  = 10
)

// options judges a level of options and counts their characters.
func (c *check) options(list []any, path string, depth int) int {
	size := 0
	names := make(map[string]bool)
	optional, parameters, subs := false, false, false
	c.each(list, path, RuleCommandOption, func(o object, path string) {
		c.known(path, o, "type", "name", "name_localizations", "description", "description_localizations", "required", "choices", "options",
			"channel_types", "min_value", "max_value", "min_length", "max_length", "autocomplete", "file_types")
		kind, _ := c.number(o, path, "type", 1, 11, RuleCommandOption)
		name := c.text(o, path, "name", 1, 32, RuleCommandOption)
		c.commandName(name, path)
		if names[name] {
			c.fail(join(path, "name"), RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATED", "The option name %q is already used.", name)
		}
		names[name] = true
		size += units(name) + units(c.text(o, path, "description", 1, 100, RuleCommandOption))
		required := c.flag(o, path, "required", RuleCommandOption)
		nested := c.list(o, path, "options", 25, RuleCommandOption)
		if kind == optionSub || kind == optionGroup {
			subs = true
			if required || kind == optionGroup && depth > 0 || kind == optionSub && depth > 1 {
				c.fail(join(path, "type"), RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Subcommands are not required, and are nested one level deep within a group.")
			}
			size += c.options(nested, join(path, "options"), depth+kind)
			return
		}
		parameters = true
		if required && optional {
			c.fail(join(path, "required"), RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		}
		optional = optional || !required
		if len(nested) > 0 {
			c.fail(join(path, "options"), RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Only subcommands have options.")
		}
		size += c.choices(c.list(o, path, "choices", 25, RuleCommandOption), join(path, "choices"), kind, RuleCommandOption)
		choices, _ := o["choices"].([]any)
		typed := kind == optionString || kind == optionInteger || kind == optionNumber
		if auto := c.flag(o, path, "autocomplete", RuleCommandOption); auto && (len(choices) > 0 || !typed) || len(choices) > 0 && !typed {
			c.fail(join(path, "autocomplete"), RuleCommandOption, "APPLICATION_COMMAND_AUTOCOMPLETE_INVALID", "Either choices or autocomplete, of options of the types STRING, INTEGER and NUMBER.")
		}
		if kind == optionString {
			c.number(o, path, "min_length", 0, 6000, RuleCommandOption)
			c.number(o, path, "max_length", 1, 6000, RuleCommandOption)
		} else if o["min_length"] != nil || o["max_length"] != nil {
			c.note(RuleCommandOption, "%s: min_length and max_length are for options of the type STRING", path)
		}
	})
	if parameters && subs {
		c.fail(path, RuleCommandOption, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Sub-command and sub-command group option types are mutually exclusive to all other types")
	}
	return size
}

// choices judges what an option offers and counts its characters.
func (c *check) choices(list []any, path string, kind int, rule string) int {
	size := 0
	c.each(list, path, rule, func(o object, path string) {
		c.known(path, o, "name", "name_localizations", "value")
		size += units(c.text(o, path, "name", 1, 100, rule))
		switch value := o["value"].(type) {
		case string:
			size += units(c.text(o, path, "value", 1, 100, rule))
			if kind != optionString {
				c.fail(join(path, "value"), rule, "NUMBER_TYPE_COERCE", "Value %q is not a number.", value)
			}
		case json.Number:
			size += len(value)
			if kind == optionString {
				c.fail(join(path, "value"), rule, "STRING_TYPE_CONVERT", "Could not interpret %s as string.", value)
			}
		default:
			c.fail(join(path, "value"), rule, "BASE_TYPE_REQUIRED", "This field is required")
		}
	})
	return size
}
