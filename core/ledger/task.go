package ledger

import (
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// TaskPhase says what the core itself has to do for a task, beside the status that
// everybody sees. It is stored, so that a daemon that starts goes on with it.
type TaskPhase string

// The phases. A task that is idle waits for its plugin or for a person, or is over.
const (
	PhaseIdle      TaskPhase = ""
	PhaseCreating  TaskPhase = "creating"  // pending: OnTaskCreate's chain is asked
	PhaseReviewing TaskPhase = "reviewing" // evaluating: OnTaskComplete's gate is asked
	PhaseHanding   TaskPhase = "handing"   // evaluating: accepted; OnTaskValidated is asked
	// PhaseEnding is of a task that has failed or was cancelled: its run and its children
	// are ended, OnTaskFailed is told, and then its parent.
	PhaseEnding TaskPhase = "ending"
)

// Task is a task with what its room keeps in it. What it has cost is summed up when it
// is read.
type Task struct {
	pluginsdk.Task

	Phase TaskPhase
	// Epoch counts the task's moves: a move that was decided on an older one is refused.
	Epoch int64
	// Round counts how often the work was evaluated, by plugins or a person. Answers are
	// kept by it.
	Round int
	// Settled is the newest iteration that was handed in, or has waited for a person.
	Settled int
	// OwnIterations are those that have no run, the oldest first: the latest 1000 of them.
	OwnIterations []pluginsdk.TaskIteration
	// Failures are those of calls since the last answer in this phase; the next call is
	// not made before NotBefore.
	Failures  int
	NotBefore time.Time
	// Agains counts how often the work of this iteration could not be handed over and was
	// evaluated again.
	Agains     int
	CauseRunID string // the run that it was made in; empty: none

	// What was asked for when it was made, before OnTaskCreate: it tells a repetition.
	AskedPermissionMode string
	AskedCwd            string
	AskedLabels         map[string]string
	AskedAllowedTools   []string
	AskedAccount        string
	AskedCostCapUSD     float64
	// FirstCwd is the directory that its thread had when it was made, before OnTaskCreate.
	FirstCwd string
}

// SourceTask is under which the messages of tasks are accepted, and their threads made.
const SourceTask = "task"

// SourceAgent is the source of the rows in which an agent tells the people of another thread
// something.
const SourceAgent = "agent"

// IterationKey is the key of the message of a task's iteration.
func IterationKey(taskID string, iteration int) string {
	return fmt.Sprintf("%s/%d", taskID, iteration)
}

// TaskCap is what a task may still come to: of the task and those above it, all of which
// pay for it, the one that has the least left. The zero value is no cap.
type TaskCap struct {
	TaskID  string // whose it is
	CostUSD float64
	CapUSD  float64
}

// Left is what may still be spent; 0: nothing.
func (c TaskCap) Left() float64 { return max(c.CapUSD-c.CostUSD, 0) }

// NewTask is a task to be made.
type NewTask struct {
	pluginsdk.NewTask
	Plugin     string // that makes it; empty: the core
	Key        string // among the plugin's; empty: none
	CauseRunID string // the run that it is made in; empty: none
	// Origin is where it is asked for; whether its thread is apart, the store finds out.
	Origin pluginsdk.Origin
	// Directories is where tasks that ask for a directory of their own get it, each under
	// its id.
	Directories string
	// CauseTaskID is the task in whose hook it is made, below which it is as far as depth
	// goes; empty: none.
	CauseTaskID string
	// MaxDepth, when greater than 0, refuses (CodeExhausted) a task whose iterations would be
	// more runs away from one that nothing caused.
	MaxDepth int
	// AskedPermissionMode is what the plugin has asked for: empty where PermissionMode is
	// the parent's. It tells a repetition.
	AskedPermissionMode string
}

// TaskAnswer is what a plugin, or a person through one, has said of a task. A plugin
// that has answered in a round's phase is not asked there again.
type TaskAnswer struct {
	ID        int64 // grows with each answer; 0: it is not stored yet
	TaskID    string
	Iteration int // that was at hand
	Round     int
	Phase     TaskPhase
	Plugin    string
	Author    string // the person; empty: the plugin itself
	// Answer is a pluginsdk.Verdict or Handover, or AnswerTold, or AnswerPassed.
	Answer   string
	Feedback string
	Evidence []pluginsdk.Evidence
	At       time.Time
	Origin   pluginsdk.Origin // of a person's
}

// What is stored of a plugin that has answered a hook without a verdict, and of one that
// has failed in it as often as it may and is passed over.
const (
	AnswerTold   = "told"
	AnswerPassed = "passed"
)

// TaskMove takes a task from how it was read to how it is to be, all or nothing. It is
// refused (CodeStale) when the task has been moved since.
type TaskMove struct {
	From, To Task
	Answer   *TaskAnswer // is stored with it
	// Permits are the words for the audit log about what the plugin, or the person, that answers
	// lets the task do beyond what it might before. Empty: nothing.
	Permits string
	// Notice is a row for the parent's thread, which is carried to where that thread's
	// replies go. A parent that is not there any more is told nothing.
	Notice *Row
	// Wake is a message for the parent's agent. It is left out where it cannot be: see
	// TaskMoved.
	Wake *Acceptance
}

// TaskMoved is what a move did.
type TaskMoved struct {
	Task  Task
	Lanes []Lane // that have something new to carry
	// NoticeID is the row that the parent's thread was given; 0: none.
	NoticeID int64
	// Woken is the run that tells the parent's agent; its RunID is empty when there is
	// none.
	Woken Accepted
}
