package store

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Append stores rows in a thread, all or none, and returns them. Source is for
// rows that name none. With a key, which is the whole call's, a repetition
// returns the rows of the first call, or CodeConflict when it says something
// else. A nil fence checks nothing. Append does not wait for the disk.
func (s *Store) Append(ctx context.Context, fence *ledger.Fence, threadID, key, source string,
	rows []pluginsdk.NewMessage,
) ([]pluginsdk.Message, error) {
	if fence != nil && fence.ThreadID != threadID {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "thread %s is not the run's own", threadID)
	}
	messages, err := s.newMessages(threadID, key, source, rows)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	var stored []pluginsdk.Message
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
		if fence != nil {
			err = tx.check(ctx, *fence)
		} else {
			_, err = tx.epoch(ctx, threadID)
		}
		if err != nil {
			return err
		}
		stored, err = tx.append(ctx, messages)
		return err
	})
	return stored, wrap("append messages", err)
}

// newMessages checks rows and gives row i the key KEY, KEY#1, KEY#2, ...
func (s *Store) newMessages(threadID, key, source string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	messages := make([]pluginsdk.Message, 0, len(rows))
	for i, row := range rows {
		m, err := s.newMessage(threadID, source, row)
		if err != nil {
			return nil, err
		}
		if m.Key = clean(key); key != "" && i > 0 {
			m.Key += "#" + strconv.Itoa(i)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func (s *Store) newMessage(threadID, source string, row pluginsdk.NewMessage) (pluginsdk.Message, error) {
	switch row.Role {
	case pluginsdk.RoleUser, pluginsdk.RoleAssistant, pluginsdk.RoleSystem:
	default:
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "role: %q is not one of user, assistant, system", row.Role)
	}
	if row.Kind == "" {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: a message needs one, for instance text")
	}
	metadata, err := document("metadata", row.Metadata)
	if err != nil {
		return pluginsdk.Message{}, err
	}
	if row.Source != "" {
		source = row.Source
	}
	return pluginsdk.Message{
		ThreadID: threadID, Role: row.Role, Kind: row.Kind, Source: clean(source), Author: clean(row.Author),
		Content: clean(row.Content), Model: clean(row.Model), Metadata: metadata,
		Attachments: cleanAttachments(row.Attachments), RunID: row.RunID, CreatedAt: s.now(),
	}, nil
}

func cleanAttachments(attachments []pluginsdk.Attachment) []pluginsdk.Attachment {
	if len(attachments) == 0 {
		return nil
	}
	out := slices.Clone(attachments)
	for i, a := range out {
		out[i].Name, out[i].Type, out[i].Where = clean(a.Name), clean(a.Type), clean(a.Where)
	}
	return out
}

// append inserts messages that share a key, unless the first call did.
func (t *tx) append(ctx context.Context, messages []pluginsdk.Message) ([]pluginsdk.Message, error) {
	if messages[0].Key != "" {
		stored, err := t.appended(ctx, messages)
		if err != nil || stored != nil {
			return stored, err
		}
	}
	return t.insertMessages(ctx, messages)
}

// appended returns what an earlier call with the same key stored, or nil.
func (t *tx) appended(ctx context.Context, messages []pluginsdk.Message) ([]pluginsdk.Message, error) {
	threadID, key := messages[0].ThreadID, messages[0].Key
	var stored []pluginsdk.Message
	for i := 0; ; i++ { // all of the first call's rows, which may be more than these
		if i > 0 {
			key = messages[0].Key + "#" + strconv.Itoa(i)
		}
		id, err := t.messageByKey(ctx, threadID, key)
		if err != nil {
			return nil, err
		}
		if id == 0 {
			break
		}
		row, err := t.Message.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		stored = append(stored, messageOf(row))
	}
	if stored == nil {
		return nil, nil
	}
	if !slices.EqualFunc(stored, messages, sameMessage) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict,
			"key %q was used before in this thread, with other content", messages[0].Key)
	}
	return stored, nil
}

// sameMessage compares what the caller of Append decides.
func sameMessage(a, b pluginsdk.Message) bool {
	return a.Role == b.Role && a.Kind == b.Kind && a.Source == b.Source && a.Author == b.Author &&
		a.Content == b.Content && a.Model == b.Model && a.RunID == b.RunID && a.Key == b.Key &&
		bytes.Equal(a.Metadata, b.Metadata) && slices.Equal(a.Attachments, b.Attachments)
}
