package pluginsdk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func acting(t *testing.T, actions ...pluginsdk.RowAction) json.RawMessage {
	t.Helper()
	metadata, err := json.Marshal(pluginsdk.RowMetadata{Actions: actions})
	if err != nil {
		t.Fatal(err)
	}
	return metadata
}

// A button whose label or command hides something, or that is another's command, would have a
// person do what they did not read.
func TestTheActionsOfARowAreChecked(t *testing.T) {
	good := pluginsdk.RowAction{Label: "Turn off", Command: "/p off Morning 🧑‍💻 Digest"}
	for name, c := range map[string]struct {
		metadata string
		names    string // what the refusal names; empty: it is accepted
	}{
		"one":                         {string(acting(t, good)), ""},
		"five":                        {string(acting(t, slices.Repeat([]pluginsdk.RowAction{good}, 5)...)), ""},
		"six":                         {string(acting(t, slices.Repeat([]pluginsdk.RowAction{good}, 6)...)), "metadata: actions: want at most 5"},
		"a command of 200 bytes":      {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "/p " + strings.Repeat("x", 197)})), ""},
		"one of 201":                  {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "/p " + strings.Repeat("x", 198)})), "metadata: actions[0]: command"},
		"a label of 40 characters":    {string(acting(t, pluginsdk.RowAction{Label: strings.Repeat("ä", 40), Command: "/p"})), ""},
		"one of 41":                   {string(acting(t, pluginsdk.RowAction{Label: strings.Repeat("ä", 41), Command: "/p"})), "metadata: actions[0]: label"},
		"no label":                    {string(acting(t, pluginsdk.RowAction{Command: "/p"})), "metadata: actions[0]: label"},
		"a label of spaces":           {string(acting(t, pluginsdk.RowAction{Label: "  ", Command: "/p"})), "metadata: actions[0]: label"},
		"a label of two lines":        {string(acting(t, pluginsdk.RowAction{Label: "a\nb", Command: "/p"})), "metadata: actions[0]: label"},
		"a label turned around":       {string(acting(t, pluginsdk.RowAction{Label: "a\u202eb", Command: "/p"})), "metadata: actions[0]: label"},
		"a command of two lines":      {string(acting(t, good, pluginsdk.RowAction{Label: "x", Command: "/p a\n/thread delete"})), "metadata: actions[1]: command"},
		"a command that hides":        {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "/p a\u202eb"})), "metadata: actions[0]: command"},
		"a line separator":            {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "/p a\u2028b"})), "metadata: actions[0]: command"},
		"words":                       {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "delete everything"})), "metadata: actions[0]: command"},
		"a path":                      {string(acting(t, pluginsdk.RowAction{Label: "x", Command: "/etc/passwd"})), "metadata: actions[0]: command"},
		"no command":                  {`{"actions":[{"label":"x","command":""}]}`, "metadata: actions[0]: command"},
		"a command of another":        {string(acting(t, good, pluginsdk.RowAction{Label: "OK", Command: "/thread delete"})), "metadata: actions[1]: command: /thread"},
		"a label that is none":        {`{"actions":[{"label":7,"command":"/p"}]}`, "metadata: actions: want a list"},
		"actions of the plugin's own": {`{"actions":["merge","close"],"x":1}`, ""},
		"others":                      {`{"actions":[{"label":"x"}]}`, ""},
		"a count":                     {`{"actions":7}`, ""},
	} {
		for _, kind := range []pluginsdk.MessageKind{pluginsdk.MessageNotification, pluginsdk.MessageText} {
			row := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: kind, Content: "x", Metadata: json.RawMessage(c.metadata)}
			err := row.CheckFor("p")
			if name == "a command of another" { // that the row has the right shape says nothing of whose a command is
				if err != nil {
					t.Errorf("%s, %s: %v", name, kind, err)
				}
				err = row.CheckActions(func(command string) bool { return command == "p" })
			}
			if c.names == "" && err != nil || c.names != "" && (pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.HasPrefix(err.Error(), c.names)) {
				t.Errorf("%s, %s: %v, want %q", name, kind, err, c.names)
			}
		}
	}
}

// Whoever could put a button below words that are not a plugin's, a person or an agent, could
// have others press it.
func TestOnlyRowsOfPluginsHaveActions(t *testing.T) {
	metadata := acting(t, pluginsdk.RowAction{Label: "OK", Command: "/p"})
	row := func(change func(*pluginsdk.Message)) []pluginsdk.RowAction {
		m := pluginsdk.Message{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Plugin: "p", Source: "p", Metadata: metadata}
		change(&m)
		return m.Actions()
	}
	for name, c := range map[string]struct {
		change func(*pluginsdk.Message)
		want   int
	}{
		"a notification of a plugin": {func(*pluginsdk.Message) {}, 1},
		"its text":                   {func(m *pluginsdk.Message) { m.Kind = pluginsdk.MessageText }, 1},
		"its summary":                {func(m *pluginsdk.Message) { m.Kind = pluginsdk.MessageSummary }, 0},
		"its record":                 {func(m *pluginsdk.Message) { m.Kind = pluginsdk.MessageStatus }, 0},
		"what the core has written":  {func(m *pluginsdk.Message) { m.Plugin = "" }, 0},
		"what a person has said":     {func(m *pluginsdk.Message) { m.Role, m.Kind = pluginsdk.RoleUser, pluginsdk.MessageText }, 0},
		"what an agent has said":     {func(m *pluginsdk.Message) { m.Role, m.Kind = pluginsdk.RoleAssistant, pluginsdk.MessageText }, 0},
		"one that is not checked":    {func(m *pluginsdk.Message) { m.Metadata = []byte(`{"actions":[{"label":"a\nb","command":"/p"}]}`) }, 0},
		"one without metadata":       {func(m *pluginsdk.Message) { m.Metadata = nil }, 0},
	} {
		if got := row(c.change); len(got) != c.want {
			t.Errorf("%s: %s", name, fmt.Sprint(got))
		}
	}
}
