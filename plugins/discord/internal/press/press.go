// Package press names the buttons, menus and forms that the plugin shows, so that it knows
// what was pressed without keeping anything.
package press

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Action says what pressing does.
type Action byte

// The actions. They are written down in messages that people press months later: a letter
// keeps its meaning.
const (
	Stop     Action = 's' // a run
	Retry    Action = 'r' // a run
	Continue Action = 'c' // a thread
	Approve  Action = 'a' // an approval, with one of its choices
	Deny     Action = 'd' // an approval: opens Words
	Words    Action = 'w' // an approval: the form in which is said why not
	Answer   Action = 'q' // an approval: opens Answers
	Answers  Action = 'f' // an approval: the form with the agent's questions
	Accept   Action = 'y' // an iteration of a task
	Reject   Action = 'n' // an iteration of a task: opens Feedback
	Feedback Action = 'b' // an iteration of a task: the form in which is said what is wrong
	Go       Action = 'g' // a run that waits for a plan
	Ask      Action = 'k' // a message, as CHANNEL/MESSAGE: the form in which something is asked about it
	Type     Action = 't' // a row of a plugin, as THREAD/MESSAGE, with one of its actions
)

// ID is what a component's custom id says.
type ID struct {
	Action Action
	Of     string // the id of the run, thread, approval or task: at most 64 bytes, as all of Harness's
	N      int    // of a choice and of a row's action its place, from 0; of a task the iteration, from 1; else 0
	Check  string // of a choice and of a row's action: tells it from another that came to stand in its place
}

// Choice is the id for taking the nth choice of an approval.
func Choice(approval pluginsdk.Approval, n int) ID {
	return ID{Action: Approve, Of: approval.ID, N: n, Check: checkOf(approval.Choices[n])}
}

// Chosen returns the choice that was pressed, of the approval as it is now. False: that
// choice does not stand there any more.
func (id ID) Chosen(approval pluginsdk.Approval) (pluginsdk.ApprovalChoice, bool) {
	if id.Action != Approve || id.Of != approval.ID || id.N < 0 || id.N >= len(approval.Choices) || checkOf(approval.Choices[id.N]) != id.Check {
		return pluginsdk.ApprovalChoice{}, false
	}
	return approval.Choices[id.N], true
}

// Typing is the id for the nth action of a row. False: the row's thread has an id that is too
// long for a button.
func Typing(row pluginsdk.Message, n int) (ID, bool) {
	id := ID{Action: Type, Of: row.ThreadID + "/" + strconv.FormatInt(row.ID, 10), N: n, Check: checkOfAction(row, row.Actions()[n])}
	return id, id.valid()
}

// Row returns of which row an action was pressed. False: it is no such button.
func (id ID) Row() (threadID string, message int64, ok bool) {
	i := strings.LastIndexByte(id.Of, '/')
	if id.Action != Type || i < 1 {
		return "", 0, false
	}
	message, err := strconv.ParseInt(id.Of[i+1:], 10, 64)
	return id.Of[:i], message, err == nil && message > 0
}

// Typed returns the action that was pressed, of the row as it is now. False: that action does
// not stand there.
func (id ID) Typed(row pluginsdk.Message) (pluginsdk.RowAction, bool) {
	actions := row.Actions()
	if threadID, message, ok := id.Row(); !ok || threadID != row.ThreadID || message != row.ID || id.N >= len(actions) || checkOfAction(row, actions[id.N]) != id.Check {
		return pluginsdk.RowAction{}, false
	}
	return actions[id.N], true
}

// checkOfAction stands for an action and the plugin whose it is.
func checkOfAction(row pluginsdk.Message, action pluginsdk.RowAction) string {
	sum := sha256.Sum256([]byte(row.Plugin + "\x00" + action.Label + "\x00" + action.Command))
	return hex.EncodeToString(sum[:checkSize/2])
}

// checkOf stands for a choice's own id, which can be long.
func checkOf(choice pluginsdk.ApprovalChoice) string {
	sum := sha256.Sum256([]byte(choice.ID))
	return hex.EncodeToString(sum[:checkSize/2])
}

const (
	checkSize = 8
	// version is what all custom ids of this form begin with. Another form gets another
	// one, and what people press of the old form is refused.
	version = "h1"
)

// String is the custom id, of at most 100 characters.
// Source: components/reference#anatomy-of-a-component-custom-id.
func (id ID) String() string {
	return fmt.Sprintf("%s%c:%d:%s:%s", version, id.Action, id.N, id.Check, id.Of)
}

// Decode reads a custom id. False: it is none that this version of the plugin writes.
func Decode(customID string) (ID, bool) {
	parts := strings.SplitN(customID, ":", 4)
	if len(parts) != 4 || len(parts[0]) != len(version)+1 {
		return ID{}, false
	}
	n, err := strconv.Atoi(parts[1])
	id := ID{Action: Action(parts[0][len(version)]), N: n, Check: parts[2], Of: parts[3]}
	if err != nil || !id.valid() || id.String() != customID {
		return ID{}, false
	}
	return id, true
}

// valid reports whether the id is one of its action's.
func (id ID) valid() bool {
	if id.Of == "" || len(id.Of) > 64 {
		return false
	}
	switch id.Action {
	case Stop, Retry, Continue, Go, Deny, Words, Answer, Answers, Ask:
		return id.N == 0 && id.Check == ""
	case Accept, Reject, Feedback:
		return id.N >= 1 && id.Check == ""
	case Approve, Type:
		return id.N >= 0 && len(id.Check) == checkSize
	}
	return false
}

// Said is the custom id of the one field of the forms Words, Feedback and Ask.
const Said = "said"

// Field is the custom id of the field for the nth of the agent's questions, from 0, in the
// form Answers: the one for its options, or the one for an answer in words.
func Field(n int, words bool) string {
	if words {
		return fmt.Sprintf("words.%d", n)
	}
	return fmt.Sprintf("options.%d", n)
}
