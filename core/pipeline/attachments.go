package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// layFiles lays ready what the messages of the run have with them, in the place where the
// agent works. A turn beside its thread has neither attachments nor an outbox.
func (p *Pipeline) layFiles(ctx context.Context, t *trip) (err error) {
	if t.cwd, t.apart, err = p.files.Directory(ctx, t.thread.Thread); err != nil {
		return storeError("find the thread's directory", err)
	}
	if t.fence.Beside() || t.thread.ID == "" {
		return nil
	}
	all := slices.Clone(t.message.Attachments)
	for _, further := range t.absorbed {
		all = append(all, further.Attachments...)
	}
	desk, err := p.files.Lay(ctx, t.thread.ID, all)
	if err != nil {
		return storeError("lay the attachments ready", err)
	}
	t.desk = desk
	return nil
}

// filesOf returns the kept files that the messages of a turn have with them, in their
// order.
func (t *trip) filesOf() (files []ledger.AgentFile) {
	for _, message := range append([]pluginsdk.Message{t.message}, t.absorbed...) {
		for _, attachment := range message.Attachments {
			id, _ := attachment.FileID()
			file, ok := t.desk.Files[id]
			if ok && !slices.ContainsFunc(files, func(one ledger.AgentFile) bool { return one.Path == file.Path }) {
				files = append(files, file)
			}
		}
	}
	return files
}

// attachmentText says to the agent what is attached, and where it is.
func attachmentText(file pluginsdk.Attachment, desk ledger.Desk) string {
	where := file.Where
	if id, ok := file.FileID(); ok {
		if laid, ok := desk.Files[id]; ok {
			where = laid.Path
		} else {
			where = "cannot be read: " + desk.Missing[id]
		}
	}
	return fmt.Sprintf("\n[attachment %s (%s, %d bytes): %s]", file.Name, file.Type, file.Size, where)
}

// steeredText is the text of a message that is put into the running turn, whose files
// are laid ready now. They are named by their paths only: of images and documents in such
// a message the CLI checks nothing, or drops them.
func (p *Pipeline) steeredText(ctx context.Context, t *trip, message pluginsdk.Message) string {
	var desk ledger.Desk
	if len(message.Attachments) > 0 {
		var err error
		if desk, err = p.files.Lay(ctx, t.thread.ID, message.Attachments); err != nil {
			p.config.Log.Warn("the attachments of a message that is put into a running turn cannot be laid ready", "run", t.run.ID, "message", message.ID, "err", err)
			desk.Missing = make(map[string]string)
			for _, attachment := range message.Attachments {
				if id, ok := attachment.FileID(); ok {
					desk.Missing[id] = err.Error()
				}
			}
		}
	}
	return messageText(message, desk)
}

// collectFiles takes in what the agent has left for people. It comes before the commit
// of the reply, which then refers to it; what was taken is cleared away after that.
func (p *Pipeline) collectFiles(t *trip) error {
	if t.run.Kind != pluginsdk.RunMessage {
		return nil
	}
	p.config.Fault("collectFiles", t.run.ID)
	return p.insist(t, "take in what the agent has left", func(ctx context.Context) (err error) {
		t.outbox, err = p.files.Collect(ctx, t.thread.ID)
		return err
	})
}

// outboxRows returns a row that says what of the outbox was not sent, if there is
// something.
func (t *trip) outboxRows() []ledger.Row {
	if len(t.outbox.Refused) == 0 {
		return nil
	}
	return []ledger.Row{t.row("unsent", statusRow("files_unsent", "Not sent of what the agent has left:\n- "+strings.Join(t.outbox.Refused, "\n- ")))}
}
