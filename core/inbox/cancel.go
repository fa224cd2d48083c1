package inbox

import (
	"context"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// interrupt stops the run if it executes, and otherwise makes sure that it is
// stopped should it be claimed at this very moment.
func (in *Inbox) interrupt(runID string, cause error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	executing, ok := in.running[runID]
	if ok {
		executing.cancel(cause)
	} else {
		in.unwanted[runID] = cause
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
	who := authorText(by.Author)
	switch {
	case who != "" && by.Plugin != "":
		who += ", through " + by.Plugin
	case by.Plugin != "":
		who = "the plugin " + by.Plugin
	case who == "":
		who = "a person"
	}
	return pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by %s", who)
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
// over is left as it is. Whose word it is the run then says. The run is returned
// as it is then known; an interrupted one ends a moment later.
func (in *Inbox) Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error) {
	if err := in.cancel(ctx, runID, stoppedBy(by)); err != nil {
		return pluginsdk.Run{}, err
	}
	return in.store.Run(ctx, runID)
}

func (in *Inbox) cancel(ctx context.Context, runID string, cause error) error {
	if in.interrupt(runID, cause) {
		return nil
	}
	run, cancelled, err := in.store.CancelQueued(ctx, runID, cause.Error())
	if err != nil || cancelled || run.State.Final() {
		in.forget(runID)
	}
	if cancelled {
		in.announceCancelled(run.ThreadID, run.ID, cause)
		in.wake(run.ThreadID)
	}
	return err
}

// announceCancelled publishes the end of a run that was cancelled in the queue.
func (in *Inbox) announceCancelled(threadID, runID string, cause error) {
	in.events.Publish(pluginsdk.EventPipelineError, threadID, pluginsdk.ErrorPayload{
		ThreadID: threadID, RunID: runID, Error: cause.Error(),
	})
}
