package tasks

import (
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// state is where a task is: what everybody sees of it, and what the core has to do.
type state struct {
	status pluginsdk.TaskStatus
	phase  ledger.TaskPhase
}

// The states. A task that fails or is cancelled is failing or cancelling until its run
// and its children are ended, OnTaskFailed has been told, and its parent.
var (
	pending    = state{pluginsdk.TaskPending, ledger.PhaseCreating}
	running    = state{pluginsdk.TaskRunning, ledger.PhaseIdle}
	reviewing  = state{pluginsdk.TaskEvaluating, ledger.PhaseReviewing}
	handing    = state{pluginsdk.TaskEvaluating, ledger.PhaseHanding}
	waiting    = state{pluginsdk.TaskWaiting, ledger.PhaseIdle}
	failing    = state{pluginsdk.TaskFailed, ledger.PhaseEnding}
	cancelling = state{pluginsdk.TaskCancelled, ledger.PhaseEnding}
	completed  = state{pluginsdk.TaskCompleted, ledger.PhaseIdle}
	failed     = state{pluginsdk.TaskFailed, ledger.PhaseIdle}
	cancelled  = state{pluginsdk.TaskCancelled, ledger.PhaseIdle}
)

// verb is one way in which a task goes on.
type verb string

// The verbs. note keeps a task where it is: an answer or a failure of a plugin's is
// stored. Each of the others has one end, but for end itself.
const (
	note    verb = "answered"
	begin   verb = "begun"
	iterate verb = "iterated"
	hand    verb = "evaluated" // the result of an iteration is handed in
	accept  verb = "accepted"
	reject  verb = "rejected"
	again   verb = "evaluated again"
	finish  verb = "completed"
	suspend verb = "suspended" // by its plugin
	wait    verb = "left to a person"
	approve verb = "approved" // by a person, as goOn and decline
	resume  verb = "resumed"
	fail    verb = "given up"
	cancel  verb = "cancelled"
	end     verb = "ended"
)

// transitions is THE table: what each verb makes of a state. What is not in it is
// refused.
var transitions = map[verb]map[state]state{
	note:    {pending: pending, reviewing: reviewing, handing: handing, failing: failing, cancelling: cancelling},
	begin:   {pending: running},
	iterate: {running: running},
	hand:    {running: reviewing},
	accept:  {reviewing: handing},
	reject:  {reviewing: running},
	again:   {handing: reviewing},
	finish:  {handing: completed},
	suspend: {running: waiting},
	wait:    {reviewing: waiting, handing: waiting},
	approve: {waiting: handing},
	resume:  {waiting: running},
	fail:    {pending: failing, running: failing, reviewing: failing, handing: failing, waiting: failing},
	cancel:  {pending: cancelling, running: cancelling, reviewing: cancelling, handing: cancelling, waiting: cancelling},
	end:     {failing: failed, cancelling: cancelled},
}

// of returns the task as the verb makes it; CodeStale: it cannot be done where the task
// is. A new state begins without failures.
func (v verb) of(task ledger.Task) (ledger.Task, error) {
	to, ok := transitions[v][state{task.Status, task.Phase}]
	if !ok {
		return task, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s is %s and cannot be %s", task.ID, task.Status, v)
	}
	task.Status, task.Phase = to.status, to.phase
	if v != iterate {
		task.Failures, task.NotBefore = 0, noTime
	}
	return task, nil
}

// may reports whether the task is where the verb can be done.
func (v verb) may(task ledger.Task) bool {
	_, err := v.of(task)
	return err == nil
}
