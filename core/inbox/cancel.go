package inbox

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// interrupt carries out the order if the run executes, and otherwise makes sure
// that it is carried out should the run be claimed at this very moment. It reports
// whether the run executes.
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

// stoppedBy is the cause with which a turn is cancelled on somebody's word. It
// becomes the run's error, and a line that people read.
func stoppedBy(by ledger.By) error {
	return pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by %s", cmp.Or(wordsFor(by), "a person"))
}

// wordsFor is who that is, for people; empty: nothing is known.
func wordsFor(by ledger.By) string {
	who := authorText(by.Author)
	switch {
	case who != "" && by.Plugin != "":
		who += ", through " + by.Plugin
	case by.Plugin != "":
		who = "the plugin " + by.Plugin
	}
	return who
}

// maxAuthor is how much of an author's name a cause repeats, in bytes.
const maxAuthor = 128

// authorText makes one short line of a name, which a stranger may have chosen.
func authorText(author string) string {
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(author, "")))
	if len(text) > maxAuthor {
		text = strings.ToValidUTF8(text[:maxAuthor], "") + "…"
	}
	return text
}

// Cancel ends a run that waits, or interrupts one that executes. A run that is
// over, or whose answer is there and still to be shown, is left as it is. Whose word
// it is the run then says. The turns that it has asked for end with it. The run is
// returned as it is then known; an interrupted one ends a moment later.
func (in *Inbox) Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error) {
	if err := in.cancel(ctx, runID, stoppedBy(by)); err != nil {
		return pluginsdk.Run{}, err
	}
	if err := in.endTurnsOf(ctx, runID, stoppedBy(by)); err != nil {
		return pluginsdk.Run{}, err
	}
	return in.store.Run(ctx, runID)
}

// endTurnsOf ends the turns that a run has asked for, and those that they have.
func (in *Inbox) endTurnsOf(ctx context.Context, runID string, cause error) error {
	query := pluginsdk.RunQuery{CauseRunID: runID, States: []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning}, Limit: 100}
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

// cancel ends a run with all that it answers by now.
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
		in.forget(runID) // whoever gave the order is told, and gives it again
	}
	return err
}

// stop ends the run if it executes, and reports whether it does.
func (in *Inbox) stop(runID string, cause error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	executing, ok := in.running[runID]
	if ok {
		executing.cancel(cause)
	}
	return ok
}

// cancelQueued ends a run that waits. The order to end it stands on while the run
// is at work.
func (in *Inbox) cancelQueued(ctx context.Context, runID string, cause error) error {
	run, cancelled, err := in.store.CancelQueued(ctx, runID, cause.Error())
	if err != nil {
		return err
	}
	if run.State.Final() {
		in.forget(runID)
	}
	if cancelled {
		in.announceCancelled(run.ThreadID, run.ID, cause)
		in.wakeThread(run.ThreadID)
	}
	return nil
}

// cancelUnwanted ends the runs that are to end and that nobody has at work any
// more, before they are claimed again, with what has come since.
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

// announceCancelled publishes the end of a run that was cancelled in the queue.
func (in *Inbox) announceCancelled(threadID, runID string, cause error) {
	in.events.Publish(pluginsdk.EventPipelineError, threadID, pluginsdk.ErrorPayload{
		ThreadID: threadID, RunID: runID, Error: cause.Error(),
	})
}
