package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Append stores rows in a thread, all or none, and returns them. With a key, which
// is the whole call's, a repetition returns the rows of the first call, or
// CodeConflict when it says something else. It does not wait for the disk.
func (s *Store) Append(ctx context.Context, a ledger.Append) (ledger.Appended, error) {
	if a.Fence != nil && a.Fence.ThreadID != a.ThreadID {
		return ledger.Appended{}, pluginsdk.Errorf(pluginsdk.CodeStale, "thread %s is not the run's own", a.ThreadID)
	}
	messages, err := s.newMessages(origin{threadID: a.ThreadID, plugin: a.Plugin, runID: a.RunID}, a.Key, a.Rows)
	if err != nil || len(messages) == 0 {
		return ledger.Appended{}, err
	}
	var appended ledger.Appended
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
		appended, err = s.append(ctx, tx, a, messages)
		return err
	})
	return appended, wrap("append messages", err)
}

func (s *Store) append(ctx context.Context, tx *tx, a ledger.Append, messages []pluginsdk.Message) (ledger.Appended, error) {
	var err error
	if a.Fence != nil {
		err = tx.check(ctx, *a.Fence)
	} else {
		_, err = tx.epoch(ctx, a.ThreadID)
	}
	if err != nil {
		return ledger.Appended{}, err
	}
	stored, known, err := tx.append(ctx, a.Key, messages)
	if err != nil || !a.Deliver {
		return ledger.Appended{Messages: stored}, err
	}
	var ids []int64
	for _, m := range stored {
		if m.Kind == pluginsdk.MessageText || m.Kind == pluginsdk.MessageNotification {
			ids = append(ids, m.ID)
		}
	}
	appended := ledger.Appended{Messages: stored}
	if known {
		appended.Lanes, err = tx.lanesOf(ctx, ids)
	} else if len(ids) > 0 {
		var of pluginsdk.Thread
		if of, err = tx.targetThread(ctx, a.ThreadID); err == nil {
			appended.Lanes, err = s.deliver(ctx, tx, of, s.now(), ids...)
		}
	}
	return appended, err
}

// origin is where a row comes from. Source is for rows that name none; empty: the
// plugin, or the core.
type origin struct{ threadID, runID, plugin, source string }

// newMessages checks rows and numbers their keys, which are the plugin's own.
func (s *Store) newMessages(from origin, key string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	messages := make([]pluginsdk.Message, 0, len(rows))
	for i, row := range rows {
		m, err := s.newMessage(from, row)
		if err != nil {
			return nil, err
		}
		m.Key = numbered(from.plugin, key, i)
		messages = append(messages, m)
	}
	return messages, nil
}

// numbered is the key of the one with the index i of those that share a key of an
// owner: OWNER/KEY, OWNER#1/KEY, OWNER#2/KEY, ... The number is not behind the key,
// because that is anything a plugin likes, KEY#1 too; no owner has a # or, where keys
// of several are compared, more than the slashes of the others. Without a key there
// is none; without an owner it is KEY.
func numbered(owner, key string, i int) string {
	if key == "" {
		return ""
	}
	if i > 0 {
		owner += "#" + strconv.Itoa(i)
	}
	if owner == "" {
		return clean(key)
	}
	return clean(owner + "/" + key)
}

func (s *Store) newMessage(from origin, row pluginsdk.NewMessage) (pluginsdk.Message, error) {
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
	return pluginsdk.Message{
		ThreadID: from.threadID, Role: row.Role, Kind: row.Kind,
		Source: clean(cmp.Or(row.Source, from.source, from.plugin, "core")), Plugin: from.plugin,
		Content: clean(row.Content), Model: clean(row.Model), Metadata: metadata,
		Attachments: cleanAttachments(row.Attachments), RunID: from.runID, CreatedAt: s.now(),
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

// append inserts messages that share a key, unless the first call did: known.
func (t *tx) append(ctx context.Context, key string, messages []pluginsdk.Message) (stored []pluginsdk.Message, known bool, err error) {
	if messages[0].Key != "" {
		stored, err := t.appended(ctx, key, messages)
		if err != nil || stored != nil {
			return stored, true, err
		}
	}
	sizes := make(storedBytes)
	stored, err = t.insertMessages(ctx, messages, sizes)
	if duplicate(err) { // the first row has been deleted, and others have not
		return nil, false, usedBefore(key)
	}
	if err != nil {
		return nil, false, err
	}
	return stored, false, t.countStored(ctx, sizes)
}

// appended returns what an earlier call with the same key stored, or nil.
func (t *tx) appended(ctx context.Context, key string, messages []pluginsdk.Message) ([]pluginsdk.Message, error) {
	threadID, plugin := messages[0].ThreadID, messages[0].Plugin
	var stored []pluginsdk.Message
	for i := 0; ; i++ { // all of the first call's rows, which may be more than these
		row, err := t.Message.Query().Where(message.ThreadID(threadID), message.Key(numbered(plugin, key, i))).Only(ctx)
		if ent.IsNotFound(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		stored = append(stored, messageOf(row))
	}
	if stored == nil {
		return nil, nil
	}
	if !slices.EqualFunc(stored, messages, sameMessage) {
		return nil, usedBefore(key)
	}
	return stored, nil
}

func usedBefore(key string) error {
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "key %q was used before in this thread, with other content", key)
}

// sameMessage compares what the caller of Append decides.
func sameMessage(a, b pluginsdk.Message) bool {
	return a.Role == b.Role && a.Kind == b.Kind && a.Source == b.Source && a.Author == b.Author &&
		a.Content == b.Content && a.Model == b.Model && a.RunID == b.RunID && a.Key == b.Key &&
		bytes.Equal(a.Metadata, b.Metadata) && slices.Equal(a.Attachments, b.Attachments)
}
