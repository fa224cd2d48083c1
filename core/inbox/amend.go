package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Amend changes what a message says that a plugin has submitted, and returns it as it is
// then. Its run begins with the new words, or has begun, and nothing is changed (CodeStale).
// A command is another kind of run: no message becomes one (CodeInvalid), and none is
// amended. CodeNotFound, whatever it says: there is no such submission, and it can be submitted.
func (in *Inbox) Amend(ctx context.Context, amendment ledger.Amendment) (pluginsdk.Message, error) {
	err := bounded(pluginsdk.Submission{
		Source: amendment.Source, Key: amendment.Key, Content: amendment.Content, Attachments: amendment.Attachments,
	})
	if err != nil {
		return pluginsdk.Message{}, err
	}
	if err := in.open(); err != nil {
		return pluginsdk.Message{}, err
	}
	if _, _, ok := pluginsdk.ParseCommand(amendment.Content); ok {
		known, err := in.store.Known(ctx, amendment.Source, amendment.Key)
		switch {
		case err != nil:
			return pluginsdk.Message{}, err
		case !known:
			return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "key: no message of %s was submitted as %q", amendment.Source, amendment.Key)
		}
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: a message does not become a command; submit that under a key of its own")
	}
	message, changed, err := in.store.Amend(ctx, amendment)
	if err == nil && changed {
		in.events.Publish(pluginsdk.EventChatAmended, message.ThreadID, pluginsdk.ChatMessage{
			ThreadID: message.ThreadID, MessageID: message.ID, RunID: message.RunID,
			Source: message.Source, Author: message.Author, Content: message.Content,
		})
	}
	return message, err
}
