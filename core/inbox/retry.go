package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Retry gives what a run did not answer once more, as a new message at the end
// of its thread whose metadata names the run. Repeated, it returns the first
// retry's ids. CodeInvalid: the run is not over, or was answered.
func (in *Inbox) Retry(ctx context.Context, runID string) (pluginsdk.Accepted, error) {
	run, err := in.store.Run(ctx, runID)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if err := retryable(run); err != nil {
		return pluginsdk.Accepted{}, err
	}
	metadata, err := json.Marshal(pluginsdk.Retry{Of: run.ID, Begun: run.Step != pluginsdk.StepAccepted})
	if err != nil {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "retry a run: %w", err)
	}
	again := pluginsdk.Submission{ThreadID: run.ThreadID, Key: "retry:" + run.ID, Metadata: metadata}
	var plugin string
	var contents []string
	for _, id := range append([]int64{run.MessageID}, run.Absorbed...) {
		message, err := in.store.Message(ctx, id)
		if err != nil {
			return pluginsdk.Accepted{}, err
		}
		if id == run.MessageID {
			plugin, again.Source, again.Author = message.Plugin, message.Source, message.Author
		}
		contents = append(contents, message.Content)
		again.Attachments = append(again.Attachments, message.Attachments...)
	}
	again.Content = strings.Join(contents, "\n\n")
	return in.submit(ctx, plugin, again)
}

func retryable(run pluginsdk.Run) error {
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
func (in *Inbox) retryLast(ctx context.Context, threadID string) (string, error) {
	run, err := in.store.LastUnanswered(ctx, threadID)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return "", fmt.Errorf("the last message of this thread was answered, or still will be")
	}
	if err != nil {
		return "", err
	}
	if _, err := in.Retry(ctx, run.ID); err != nil {
		return "", err
	}
	return "Trying it again.", nil
}
