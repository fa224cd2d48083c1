package pluginsdk

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a row's actions may be.
const (
	mostRowActions    = 5
	longestRowLabel   = 40  // characters
	longestRowCommand = 200 // bytes
)

// RowAction is a button below a row of a plugin. Who presses it types the command in the row's
// thread: the command needs the same right, is stored and answered in the same way, and carries
// the name of who pressed. A surface without buttons shows the command, to be typed.
type RowAction struct {
	Label string `json:"label"` // what the button says: 1 to 40 characters, on one line
	// Command is what a press types: a slash, the name of a command that the row's plugin
	// declares, and what follows it; at most 200 bytes, on one line.
	Command string `json:"command"`
}

// RowMetadata is what a row of the kinds MessageNotification and MessageText may have in its
// Metadata, beside fields of the plugin's own. A list named actions in which nothing has a
// command is one of the plugin's own: it makes no button.
type RowMetadata struct {
	Actions []RowAction `json:"actions,omitempty"` // at most 5
}

// Check says what is wrong with an action (CodeInvalid), but for whose the command is.
func (a RowAction) Check() error {
	switch length := utf8.RuneCountInString(a.Label); {
	case length < 1 || length > longestRowLabel:
		return Errorf(CodeInvalid, "label: want 1 to %d characters, got %d", longestRowLabel, length)
	case strings.TrimSpace(a.Label) != a.Label || hides(a.Label):
		return Errorf(CodeInvalid, "label: %.100q: want one line, without spaces at its ends and without characters that are not seen", a.Label)
	case len(a.Command) > longestRowCommand:
		return Errorf(CodeInvalid, "command: want at most %d bytes, got %d", longestRowCommand, len(a.Command))
	case strings.TrimSpace(a.Command) != a.Command || hides(a.Command):
		return Errorf(CodeInvalid, "command: %.100q: want one line, without spaces at its ends and without characters that are not seen", a.Command)
	}
	if _, _, ok := ParseCommand(a.Command); !ok {
		return Errorf(CodeInvalid, "command: %.100q: want a slash and the name of a command, as in /name words", a.Command)
	}
	return nil
}

// hides reports whether a text has more than one line, is not UTF-8, or has characters that
// change how the others are shown. What joins emoji changes nothing else.
func hides(text string) bool {
	const joiner = '\u200d'
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && r != joiner
	})
}

// Actions returns the actions of a row that a plugin has written: of no other row, whatever its
// metadata says. The words of people and of agents make no button.
func (m Message) Actions() []RowAction {
	if m.Plugin == "" || m.Role != RoleSystem || !mayAct(m.Kind) {
		return nil
	}
	actions, err := actionsIn(m.Metadata)
	if err != nil {
		return nil
	}
	return actions
}

// CheckActions says what is wrong with the row's actions (CodeInvalid). owns reports whether a
// command, by its name, is one that the row's plugin declares and that belongs to no other
// plugin and not to the core.
func (m NewMessage) CheckActions(owns func(command string) bool) error {
	if !mayAct(m.Kind) {
		return nil
	}
	actions, err := actionsIn(m.Metadata)
	if err != nil {
		return err
	}
	for n, action := range actions {
		if name, _, _ := ParseCommand(action.Command); !owns(name) {
			return Errorf(CodeInvalid, "metadata: actions[%d]: command: /%s is not a command of this plugin: a row offers only commands that its plugin's manifest declares", n, name)
		}
	}
	return nil
}

func mayAct(kind MessageKind) bool { return kind == MessageNotification || kind == MessageText }

// actionsIn reads the actions that metadata have; none when they have a field actions of another
// shape, which is the plugin's own.
func actionsIn(metadata json.RawMessage) ([]RowAction, error) {
	var fields struct {
		Actions json.RawMessage `json:"actions"`
	}
	var entries []struct {
		Command json.RawMessage `json:"command"`
	}
	if len(metadata) == 0 || json.Unmarshal(metadata, &fields) != nil || json.Unmarshal(fields.Actions, &entries) != nil {
		return nil, nil
	}
	ours := false
	for _, entry := range entries {
		ours = ours || entry.Command != nil
	}
	if !ours {
		return nil, nil
	}
	var actions []RowAction
	if err := json.Unmarshal(fields.Actions, &actions); err != nil {
		return nil, Errorf(CodeInvalid, "metadata: actions: want a list of {label, command}, both texts")
	}
	if len(actions) > mostRowActions {
		return nil, Errorf(CodeInvalid, "metadata: actions: want at most %d, got %d", mostRowActions, len(actions))
	}
	for n, action := range actions {
		if err := action.Check(); err != nil {
			return nil, Errorf(CodeInvalid, "metadata: actions[%d]: %w", n, err)
		}
	}
	return actions, nil
}
