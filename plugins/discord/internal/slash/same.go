package slash

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/bwmarrin/discordgo"
)

// bodyOf is a command's JSON without what is null, false or has nothing in it: all of
// these are the defaults.
func bodyOf(command *discordgo.ApplicationCommand) (map[string]any, error) {
	written, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(written, &body); err != nil {
		return nil, err
	}
	strip(body)
	return body, nil
}

// strip takes out of objects what is null, false or has nothing in it.
func strip(value any) {
	switch value := value.(type) {
	case []any:
		for _, below := range value {
			strip(below)
		}
	case map[string]any:
		for key, below := range value {
			strip(below)
			list, isList := below.([]any)
			object, isObject := below.(map[string]any)
			if below == nil || below == false || isList && len(list) == 0 || isObject && len(object) == 0 {
				delete(value, key)
			}
		}
	}
}

// Same reports whether what Discord has, as its API lists it, is what is wanted, so that
// nothing is overwritten in vain. The order of commands, and what Discord adds of its own,
// make no difference; that of options and choices does, since people see it.
func Same(have, want []*discordgo.ApplicationCommand) bool {
	if len(have) != len(want) {
		return false
	}
	byName := func(a, b *discordgo.ApplicationCommand) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(a.Name, b.Name))
	}
	have, want = slices.SortedFunc(slices.Values(have), byName), slices.SortedFunc(slices.Values(want), byName)
	for i := range want {
		had, err := bodyOf(have[i])
		if err != nil {
			return false
		}
		wanted, err := bodyOf(want[i])
		if err != nil {
			return false
		}
		for _, field := range []string{"contexts", "integration_types"} {
			if _, said := wanted[field]; !said { // of a guild's command they are Discord's
				delete(had, field)
			}
		}
		if kind(have[i]) != kind(want[i]) || !reflect.DeepEqual(own(had), own(wanted)) {
			return false
		}
	}
	return true
}

// kind is the type of a command, which is typed with a slash unless it says otherwise.
func kind(command *discordgo.ApplicationCommand) discordgo.ApplicationCommandType {
	return cmp.Or(command.Type, discordgo.ChatApplicationCommand)
}

// own leaves of a command's body what the plugin decides. The two permissions that are
// deprecated are Discord's.
// Source: interactions/application-commands#application-command-object.
func own(body map[string]any) map[string]any {
	for _, field := range []string{"id", "application_id", "guild_id", "version", "type", "dm_permission", "default_permission"} {
		delete(body, field)
	}
	for _, field := range []string{"contexts", "integration_types"} {
		if list, ok := body[field].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) })
		}
	}
	return body
}
