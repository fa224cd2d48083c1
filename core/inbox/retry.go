package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Retry is what /retry does; another attempt of a run is requeueOrFail's. It submits the
// messages that a run did not answer once more, as one new message at the end of their
// thread. Its metadata names the run and who retries it. It keeps the author, the scope and the
// cause of the first message: who retries gives it no right, and takes none from it. A command
// is retried only for somebody who may type it (CodeDenied). It has at most MaxContent bytes:
// from longer text the middle is left out, with a mark. Called again, it returns the ids of
// the first retry. CodeInvalid: the run is not over, or was answered.
func (in *Inbox) Retry(ctx context.Context, runID string, by ledger.By) (pluginsdk.Accepted, error) {
	run, err := in.store.Run(ctx, runID)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if err := retryable(run); err != nil {
		return pluginsdk.Accepted{}, err
	}
	metadata, err := json.Marshal(pluginsdk.Retry{Of: run.ID, Begun: run.Step != pluginsdk.StepAccepted, By: wordsFor(by)})
	if err != nil {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "retry a run: %w", err)
	}
	again := pluginsdk.Submission{ThreadID: run.ThreadID, Key: "retry:" + run.ID, Metadata: metadata}
	if again.Options, err = in.store.RunOptions(ctx, run); err != nil {
		return pluginsdk.Accepted{}, err
	}
	if again.Options != nil { // who asks for it waits for it
		again.Options.QuietReply, again.Options.QuietNotices = false, false
	}
	var of ledger.By
	var contents []string
	var files []pluginsdk.Attachment
	for _, id := range append([]int64{run.MessageID}, run.Absorbed...) {
		message, err := in.store.Message(ctx, id)
		if err != nil {
			return pluginsdk.Accepted{}, err
		}
		if id == run.MessageID {
			if err := in.admitRetry(run, message.Content, by); err != nil {
				return pluginsdk.Accepted{}, err
			}
			of = message.Label()
			again.Source, again.Author, again.Scope = message.Source, message.Author, message.Scope
		}
		if message.Scope != "" && !message.Scope.Has(again.Scope) { // all together may what each of them may
			again.Scope = message.Scope
		}
		contents = append(contents, message.Content)
		files = append(files, message.Attachments...)
	}
	if again.CauseRunID, err = in.causeOfRetry(ctx, run, by); err != nil {
		return pluginsdk.Accepted{}, err
	}
	size := accompanying(again)
	for _, file := range files {
		if size += attachmentSize(file); size > MaxContent {
			break
		}
		again.Attachments = append(again.Attachments, file)
	}
	again.Content = joined(contents, len(files)-len(again.Attachments))
	return in.submit(ctx, of, again, nil)
}

// causeOfRetry returns what causes a run that is retried: the run that has asked for it, else
// what has caused the run before; empty: a person, or what is not there any more.
func (in *Inbox) causeOfRetry(ctx context.Context, run pluginsdk.Run, by ledger.By) (string, error) {
	if by.RunID != "" || run.CauseRunID == "" {
		return by.RunID, nil
	}
	_, err := in.store.Run(ctx, run.CauseRunID)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return "", nil
	}
	return run.CauseRunID, err
}

// joined returns the messages as one text of at most MaxContent bytes. A mark says how
// many bytes of its middle, and how many files, are left out.
func joined(contents []string, files int) string {
	const mark = "\n\n[%d bytes and %d files are left out here, because one message cannot have them: " +
		"the messages stand whole earlier in this thread]\n\n"
	text, room := strings.Join(contents, "\n\n"), MaxContent-len(mark)-20 // the numbers have more digits than their verbs
	switch {
	case files == 0 && len(text) <= MaxContent:
		return text
	case len(text) <= room:
		return text + fmt.Sprintf(mark, 0, files)
	}
	head, tail := strings.ToValidUTF8(text[:room/2], ""), strings.ToValidUTF8(text[len(text)-room/2:], "")
	return head + fmt.Sprintf(mark, len(text)-len(head)-len(tail), files) + tail
}

func retryable(run pluginsdk.Run) error {
	if run.Kind == pluginsdk.RunTurn {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "run %s is a turn that the plugin %s has asked for, and no message; the plugin can ask again", run.ID, run.Plugin)
	}
	switch run.State {
	case pluginsdk.RunFailed, pluginsdk.RunCancelled:
		return nil
	case pluginsdk.RunMerged:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "run %s was merged into %s; retry that one", run.ID, run.MergedInto)
	case pluginsdk.RunSucceeded:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "run %s was answered; send the message again if you want another answer", run.ID)
	case pluginsdk.RunQueued, pluginsdk.RunRunning, pluginsdk.RunWaiting:
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "run %s is not over: %s", run.ID, run.State)
}

// retryLast is the command /retry.
func (in *Inbox) retryLast(ctx context.Context, threadID string, by ledger.By) (string, error) {
	run, err := in.store.LastUnanswered(ctx, threadID)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return "", fmt.Errorf("the last message of this thread was answered, or still will be")
	}
	if err != nil {
		return "", err
	}
	if _, err := in.Retry(ctx, run.ID, ledger.By{Scope: by.Scope, Origin: by.Origin}); err != nil {
		return "", err
	}
	return "Trying it again.", nil
}
