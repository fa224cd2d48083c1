package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// column is what a row's column settings says.
type column struct {
	values   map[string]json.RawMessage // without secrets
	exposed  map[string]json.RawMessage // secrets that stand in it in plain text
	problems []string
	err      error // it cannot be read
}

func readColumn(schema *Schema, info ledger.Plugin) (c column) {
	if unreadable(info) {
		c.err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "must be a JSON object")
		return c
	}
	if c.values, c.err = object(info.Settings); c.err != nil {
		return c
	}
	c.exposed = takeSecrets(schema, c.values)
	for _, name := range slices.Sorted(maps.Keys(c.exposed)) {
		c.problems = append(c.problems, name+": a secret stands in the row in plain text, it is not used; take it out by "+
			"setting it: harness plugin settings set "+info.Name+" "+name)
	}
	return c
}

// takeSecrets takes the secrets out of values and returns them.
func takeSecrets(schema *Schema, values map[string]json.RawMessage) map[string]json.RawMessage {
	taken := make(map[string]json.RawMessage)
	for name := range schema.secrets {
		if value, ok := values[name]; ok {
			taken[name] = value
			delete(values, name)
		}
	}
	return taken
}

// unreadable reports whether the store could not read the row's settings.
func unreadable(info ledger.Plugin) bool {
	for problem := range strings.SplitSeq(info.Problem, "; ") {
		if strings.HasPrefix(problem, "settings:") {
			return info.Settings == nil
		}
	}
	return false
}

// texts are the values of secrets as they can appear in a text.
func texts(values map[string]json.RawMessage) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := decode(values[name])
		if err != nil {
			continue
		}
		if _, isText := value.(string); !isText {
			found = append(found, string(values[name]))
		}
		found = append(found, leaves(value)...)
	}
	return found
}

func leaves(value any) (found []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			found = append(found, leaves(item)...)
		}
	case map[string]any:
		for _, item := range v {
			found = append(found, leaves(item)...)
		}
	}
	return found
}

func plainWords(err error) string { return oneLine("settings: " + err.Error()) }

// oneLine makes a text one problem of a row: problems are told apart by "; ",
// and begin with the name of a column.
func oneLine(text string) string { return strings.ReplaceAll(text, "; ", ", ") }
