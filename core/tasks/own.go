package tasks

import (
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An own iteration has no run: the task's plugin does the work itself, by tasks below the
// task and by turns. The core keeps when it began and how it ended.

// maxOwn is how many own iterations a task keeps, the latest: as many as a history has.
const maxOwn = 1000

// isOwn reports whether an iteration that was begun is the plugin's own.
func isOwn(task ledger.Task, iteration int) bool {
	return slices.ContainsFunc(task.OwnIterations, func(own pluginsdk.TaskIteration) bool { return own.Iteration == iteration })
}

// beginOwn makes the iteration that the task moves to the plugin's own.
func beginOwn(to *ledger.Task) {
	to.RunID = ""
	before := to.OwnIterations[max(0, len(to.OwnIterations)-maxOwn+1):]
	to.OwnIterations = append(slices.Clone(before), pluginsdk.TaskIteration{
		Iteration: to.CurrentIteration, Own: true, State: pluginsdk.RunRunning, QueuedAt: time.Now().UTC(),
	})
}

// leftAs is how an own iteration has ended once a verb has moved the task.
var leftAs = map[verb]pluginsdk.RunState{
	iterate: pluginsdk.RunSucceeded, hand: pluginsdk.RunSucceeded, suspend: pluginsdk.RunSucceeded,
	fail: pluginsdk.RunFailed, cancel: pluginsdk.RunCancelled,
}

// leaveOwn ends the iteration that the task is at, if it is the plugin's own and the verb
// leaves it.
func leaveOwn(to *ledger.Task, v verb) {
	state, leaves := leftAs[v]
	last := len(to.OwnIterations) - 1
	if !leaves || last < 0 || !to.OwnIterations[last].FinishedAt.IsZero() {
		return
	}
	to.OwnIterations = slices.Clone(to.OwnIterations) // the task that is moved from has the same
	to.OwnIterations[last].State, to.OwnIterations[last].FinishedAt = state, time.Now().UTC()
}
