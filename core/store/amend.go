package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Amend changes what a message says whose run has not begun, or is parked and has not come to
// the agent, in one durable transaction, and returns the message as it is then; changed is false
// when it said so already, whatever has become of its run. Who claims the run or absorbs the message has the new words, or
// comes first: then nothing is changed (CodeStale). CodeNotFound: no such submission.
// CodeDenied: another plugin's. CodeInvalid: it would say nothing, or is a command.
func (s *Store) Amend(ctx context.Context, a ledger.Amendment) (m pluginsdk.Message, changed bool, err error) {
	a.Attachments, err = s.asKept(ctx, cleanAttachments(a.Attachments))
	if err != nil {
		return m, false, wrap("read the attachments", err)
	}
	a.Content = clean(a.Content)
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		m, changed, err = tx.amend(ctx, a, now)
		return err
	})
	return m, changed, wrap("amend message", err)
}

func (t *tx) amend(ctx context.Context, a ledger.Amendment, now time.Time) (was pluginsdk.Message, changed bool, err error) {
	r, err := t.Run.Query().Where(run.Source(clean(a.Source)), run.Key(clean(a.Key))).
		Select(run.FieldID, run.FieldThreadID, run.FieldMessageID, run.FieldKind).Only(ctx)
	if ent.IsNotFound(err) || err == nil && a.ThreadID != "" && a.ThreadID != r.ThreadID {
		return was, false, pluginsdk.Errorf(pluginsdk.CodeNotFound, "key: no message of %s was submitted as %q", a.Source, a.Key)
	}
	if err != nil {
		return was, false, err
	}
	if _, err := t.epoch(ctx, r.ThreadID); err != nil { // whoever claims or absorbs in the thread waits from here on
		return was, false, err
	}
	row, err := t.Message.Get(ctx, r.MessageID)
	if ent.IsNotFound(err) {
		return was, false, pluginsdk.Errorf(pluginsdk.CodeNotFound, "key: the message that was submitted as %q is not there any more", a.Key)
	}
	if err != nil {
		return was, false, err
	}
	was = messageOf(row)
	amended := was
	amended.Content = a.Content
	if len(a.Attachments) > 0 {
		amended.Attachments = a.Attachments
	}
	switch {
	case was.Plugin != a.Plugin:
		return was, false, pluginsdk.Errorf(pluginsdk.CodeDenied, "key: the message was submitted by the plugin %s, not by %s", was.Plugin, a.Plugin)
	case r.Kind != pluginsdk.RunMessage:
		return was, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: the message is a command, and those are not amended")
	case strings.TrimSpace(amended.Content) == "" && len(amended.Attachments) == 0:
		return was, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: a message needs text or an attachment")
	case saysTheSame(was, amended):
		return was, false, nil
	}
	if amended.Metadata, err = editedAt(was.Metadata, now); err != nil {
		return was, false, err
	}
	return amended, true, t.replace(ctx, r.ID, was, amended)
}

// replace stores what a message says now, if its run has not begun.
func (t *tx) replace(ctx context.Context, runID string, was, now pluginsdk.Message) error {
	// It is written, so that on Postgres who cancels the run waits too.
	// What the plan has held back before the agent was asked has not begun either.
	n, err := t.run(ctx, `UPDATE runs SET state = state WHERE id = $1 AND state = 'queued' AND (attempt = 0 AND started_at IS NULL
		OR parked IS NOT NULL AND next_attempt_at IS NOT NULL AND step = $2)`, runID, string(pluginsdk.StepAccepted))
	if err == nil && n == 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeStale, "the message cannot be amended: its run has begun, or is over")
	}
	if err != nil {
		return err
	}
	err = t.Message.Update().Where(message.ID(now.ID)).
		SetContent(now.Content).SetMetadata(now.Metadata).SetAttachments(now.Attachments).Exec(ctx)
	if err != nil {
		return err
	}
	if err := t.attach(ctx, []pluginsdk.Message{now}); err != nil {
		return err
	}
	var loose []any
	for _, id := range fileIDs(was.Attachments) {
		if !slices.Contains(fileIDs(now.Attachments), id) {
			loose = append(loose, id)
		}
	}
	if err := t.release(ctx, loose); err != nil {
		return err
	}
	return t.reindexFrom(ctx, now.ID)
}

// saysTheSame reports whether two messages say the same: their words, and their attachments.
func saysTheSame(a, b pluginsdk.Message) bool {
	return a.Content == b.Content && slices.Equal(a.Attachments, b.Attachments)
}

// editedAt returns metadata that also say when their message was amended; see
// pluginsdk.Message.EditedAt.
func editedAt(metadata json.RawMessage, at time.Time) (json.RawMessage, error) {
	fields := make(map[string]json.RawMessage)
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &fields); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "metadata of a message: %w", err)
		}
	}
	stamp, err := json.Marshal(at)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "metadata of a message: %w", err)
	}
	fields["editedAt"] = stamp
	return json.Marshal(fields)
}
