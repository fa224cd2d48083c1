package inbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// interrupt carries out the order if the run executes, and reports whether it does. If
// not, it notes the order, which enter carries out should the run be claimed at this
// moment.
func (in *Inbox) interrupt(runID string, wanted order) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	executing, ok := in.running[runID]
	switch {
	case !ok:
		in.unwanted[runID] = wanted
	case executing.newest <= wanted.newest:
		executing.cancel(wanted.cause)
	}
	return ok
}

func (in *Inbox) forget(runID string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.unwanted, runID)
}

// stoppedBy is the cause with which a run is cancelled by somebody. It becomes the run's
// error, and a line that people read.
func stoppedBy(by ledger.By) error {
	return pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by %s", cmp.Or(wordsFor(by), "a person"))
}

// wordsFor says for people who that is; empty: unknown.
func wordsFor(by ledger.By) string {
	if by.OfAgent() {
		return by.String()
	}
	who := authorText(by.Author)
	switch {
	case who != "" && by.Plugin != "":
		who += ", through " + by.Plugin
	case by.Plugin != "":
		who = "the plugin " + by.Plugin
	}
	return who
}

// authorText makes a short line of an author's name, which a stranger may have chosen.
func authorText(author string) string {
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(author, "")))
	return ledger.By{Author: text}.Name()
}

// Cancel ends a run that waits, or interrupts one that executes; an interrupted run ends
// a moment later. It leaves alone a run that is over, or whose answer is stored already.
// The run's error says who stopped it. The turns that the run has asked for end with it.
// It returns the run as it is then.
func (in *Inbox) Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error) {
	if err := in.cancel(ctx, runID, stoppedBy(by)); err != nil {
		return pluginsdk.Run{}, err
	}
	if err := in.endTurnsOf(ctx, runID, stoppedBy(by)); err != nil {
		return pluginsdk.Run{}, err
	}
	return in.store.Run(ctx, runID)
}

// endTurnsOf ends the turns that a run has asked for, and those that these have asked
// for.
func (in *Inbox) endTurnsOf(ctx context.Context, runID string, cause error) error {
	open := []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning, pluginsdk.RunWaiting}
	query := pluginsdk.RunQuery{CauseRunID: runID, States: open, Limit: 100}
	for {
		caused, err := in.store.Runs(ctx, query)
		if err != nil || len(caused) == 0 {
			return err
		}
		for _, run := range caused {
			if run.Kind != pluginsdk.RunTurn {
				continue
			}
			if err := in.cancel(ctx, run.ID, cause); err != nil {
				return err
			}
			if err := in.endTurnsOf(ctx, run.ID, cause); err != nil {
				return err
			}
		}
		query.After = caused[len(caused)-1].ID
	}
}

// cancel ends a run with all messages that it answers now.
func (in *Inbox) cancel(ctx context.Context, runID string, cause error) error {
	if in.stop(runID, cause) {
		return nil
	}
	run, err := in.store.Run(ctx, runID)
	if err != nil || run.State.Final() || run.Step == pluginsdk.StepInvoked {
		return err
	}
	if in.interrupt(runID, order{cause, newest(run)}) {
		return nil
	}
	err = in.cancelQueued(ctx, runID, cause)
	if err != nil {
		in.forget(runID) // the caller gets the error, and can try again
	}
	return err
}

// stop cancels the run if it executes, and reports whether it does.
func (in *Inbox) stop(runID string, cause error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	executing, ok := in.running[runID]
	if ok {
		executing.cancel(cause)
	}
	return ok
}

// cancelQueued ends a run that waits. If the run is at work instead, the order to end it
// stays noted.
func (in *Inbox) cancelQueued(ctx context.Context, runID string, cause error) error {
	run, cancelled, err := in.store.CancelQueued(ctx, runID, cause.Error())
	if err != nil {
		return err
	}
	if run.State.Final() {
		in.forget(runID)
	}
	if cancelled {
		if err := in.approvals.Over(ctx, run.ID); err != nil { // the sweep of the approvals finds it
			in.config.Log.Warn("what a cancelled run has asked cannot be taken back yet", "run", run.ID, "err", err)
		}
		in.announceCancelled(run.ThreadID, run.ID, run.Kind, cause)
		if run.Beside && run.Kind == pluginsdk.RunCommand {
			in.lanes.Hurry() // what waits behind a command beside its thread need not wait until this one was due
		}
		in.wakeThread(run.ThreadID)
		in.leavesRoom(ctx, run)
	}
	return nil
}

// cancelUnwanted ends the runs with an order to end that no longer execute, before they
// are claimed again, merged with newer messages.
func (in *Inbox) cancelUnwanted(ctx context.Context) {
	in.mu.Lock()
	unwanted := maps.Clone(in.unwanted)
	in.mu.Unlock()
	for runID, order := range unwanted {
		if err := in.cancelQueued(ctx, runID, order.cause); err != nil {
			in.config.Log.Warn("a run that is to end could not be ended; it ends when it is next at work", "run", runID, "err", err)
		}
	}
}

// announceCancelled publishes the end of a run that was cancelled in the queue; kind is the
// run's, or empty when it is not known.
func (in *Inbox) announceCancelled(threadID, runID string, kind pluginsdk.RunKind, cause error) {
	in.figures.dropped.Add(1)
	in.events.Publish(pluginsdk.EventPipelineError, threadID, pluginsdk.ErrorPayload{
		ThreadID: threadID, RunID: runID, Error: cause.Error(), Kind: kind,
	})
}

// StopThread interrupts the thread's turn, or ends the run that waits for its next
// attempt or for a window of a plan, unless its answer is stored already. It keeps or drops the runs that wait
// behind. The runs' errors say who stopped them. The agent's session stays warm.
func (in *Inbox) StopThread(ctx context.Context, threadID string, queue pluginsdk.Queue, by ledger.By) (pluginsdk.Stopped, error) {
	var stopped pluginsdk.Stopped
	cause := stoppedBy(by)
	if _, err := in.store.Thread(ctx, threadID); err != nil {
		return stopped, err
	}
	switch queue {
	case pluginsdk.KeepQueue, "":
	case pluginsdk.DropQueue: // first, so that no run of the queue begins when the turn ends
		dropped, err := in.store.CancelAllQueued(ctx, threadID, cause.Error())
		if err != nil {
			return stopped, err
		}
		stopped.Dropped = dropped
		for _, runID := range dropped {
			in.announceCancelled(threadID, runID, "", cause)
		}
	default:
		return stopped, pluginsdk.Errorf(pluginsdk.CodeInvalid, "queue: %q is not one of keep, drop", queue)
	}
	var err error
	if stopped.RunID, err = in.stopHead(ctx, threadID, cause); err != nil || stopped.RunID == "" {
		return stopped, err
	}
	return stopped, in.endTurnsOf(ctx, stopped.RunID, cause)
}

// stopHead cancels the thread's run that executes, or the one that waits for its next
// attempt, and returns its id.
func (in *Inbox) stopHead(ctx context.Context, threadID string, cause error) (runID string, err error) {
	if in.eachRunning(threadID, func(r running) { r.cancel(cause); runID = r.id }) {
		return runID, nil
	}
	head, err := in.claimed(ctx, threadID) // a run that is being claimed at this moment
	if err == nil && head.ID == "" {
		head, err = in.parked(ctx, threadID)
	}
	if err == nil && head.ID == "" {
		head, err = in.planned(ctx, threadID)
	}
	if err == nil && head.ID == "" {
		head, err = in.retrying(ctx, threadID)
	}
	if err != nil || head.ID == "" || head.Step == pluginsdk.StepInvoked {
		return "", err
	}
	return head.ID, in.cancel(ctx, head.ID, cause)
}

// eachRunning calls fn for the runs of the thread's queue that execute, and reports
// whether there are any.
func (in *Inbox) eachRunning(threadID string, fn func(running)) (any bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, run := range in.running {
		if run.threadID == threadID && !run.beside {
			fn(run)
			any = true
		}
	}
	return any
}

// underWay reports whether a run of the thread's queue was begun and is not over. A run
// whose end is published may still execute its last steps: that one is over.
func (in *Inbox) underWay(ctx context.Context, threadID string) (bool, error) {
	if retrying, err := in.retrying(ctx, threadID); err != nil || retrying.ID != "" {
		return true, err
	}
	if parked, err := in.parked(ctx, threadID); err != nil || parked.ID != "" {
		return true, err
	}
	if planned, err := in.planned(ctx, threadID); err != nil || planned.Step == pluginsdk.StepInvoking {
		return true, err
	}
	var ids []string
	in.eachRunning(threadID, func(r running) { ids = append(ids, r.id) })
	for _, id := range ids {
		if run, err := in.store.Run(ctx, id); err != nil || !run.State.Final() {
			return true, err
		}
	}
	return false, nil
}

// retrying returns the thread's run that waits for its next attempt; the zero Run: none
// does.
func (in *Inbox) retrying(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	head, err := in.store.FirstQueued(ctx, threadID, pluginsdk.RunQueued)
	if err != nil || head.Attempt == 0 {
		return pluginsdk.Run{}, err
	}
	return head, nil
}

func (in *Inbox) stopCommand(ctx context.Context, threadID string, by ledger.By, args string) (string, error) {
	queue := pluginsdk.KeepQueue
	switch args {
	case "":
	case "all":
		queue = pluginsdk.DropQueue
	default:
		return "", fmt.Errorf("%q is not understood; say /stop, or /stop all to drop what waits as well", args)
	}
	stopped, err := in.StopThread(ctx, threadID, queue, by)
	if err != nil {
		return "", err
	}
	text := "Nothing is running in this thread."
	if stopped.RunID != "" {
		text = "Stopping the turn that is running."
	} else if head, err := in.retrying(ctx, threadID); err == nil && head.Step == pluginsdk.StepInvoked {
		text = "The last turn is over, and its answer is there: it is shown as soon as that can be. /status says what it waits for."
	}
	if n := len(stopped.Dropped); n > 0 {
		text += fmt.Sprintf(" Dropped from the queue: %d.", n)
	}
	return text, nil
}
