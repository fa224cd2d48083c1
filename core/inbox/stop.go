package inbox

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// StopThread interrupts the turn that runs in a thread, or gives up the run
// that waits to be tried again, unless its answer is there already, and keeps or
// drops what waits behind it. The runs say whose word it was. The agent's session
// stays warm.
func (in *Inbox) StopThread(ctx context.Context, threadID string, queue pluginsdk.Queue, by ledger.By) (pluginsdk.Stopped, error) {
	var stopped pluginsdk.Stopped
	cause := stoppedBy(by)
	if _, err := in.store.Thread(ctx, threadID); err != nil {
		return stopped, err
	}
	switch queue {
	case pluginsdk.KeepQueue, "":
	case pluginsdk.DropQueue: // first, so that nothing moves up behind what is stopped
		dropped, err := in.store.CancelAllQueued(ctx, threadID, cause.Error())
		if err != nil {
			return stopped, err
		}
		stopped.Dropped = dropped
		for _, runID := range dropped {
			in.announceCancelled(threadID, runID, cause)
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

// stopHead cancels the thread's run that executes, or the one that waits to be
// tried again, and returns its id.
func (in *Inbox) stopHead(ctx context.Context, threadID string, cause error) (runID string, err error) {
	if in.eachRunning(threadID, func(r running) { r.cancel(cause); runID = r.id }) {
		return runID, nil
	}
	head, err := in.claimed(ctx, threadID) // in this very instant
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

// underWay reports whether a run of the thread's queue was begun and is not over. One
// whose end everybody has been told of may still be executing its last steps.
func (in *Inbox) underWay(ctx context.Context, threadID string) (bool, error) {
	if retrying, err := in.retrying(ctx, threadID); err != nil || retrying.ID != "" {
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

// retrying returns the thread's run that was begun and waits for its next
// attempt, or the zero Run.
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
