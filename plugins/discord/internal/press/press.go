// Package press names the buttons, menus and forms that the plugin shows, so that it knows
// what was pressed without keeping anything.
package press

import "github.com/seed-706843ae/harness/pluginsdk"

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
)

// ID is what a component's custom id says.
type ID struct {
	Action Action
	Of     string // the id of the run, thread, approval or task
	N      int    // of a choice its place, from 0; of a task the iteration
	Check  string // of a choice: tells it from another that came to stand in its place
}

// Choice is the id for taking a choice of an approval.
func Choice(approval pluginsdk.Approval, n int) ID { return ID{} }

// Chosen returns the choice of the approval that was pressed; false when the choice is not
// there any more.
func (id ID) Chosen(approval pluginsdk.Approval) (pluginsdk.ApprovalChoice, bool) {
	return pluginsdk.ApprovalChoice{}, false
}

// String is the custom id, of at most 100 characters.
func (id ID) String() string { return "" }

// Decode reads a custom id. False: it is not of this version of the plugin.
func Decode(customID string) (id ID, ok bool) { return ID{}, false }

// Field is the custom id of the field for the nth of the agent's questions, in the form
// Answers; words says that it is the one for an answer in words.
func Field(n int, words bool) string { return "" }
