package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/message"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/ent/threadremoval"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Message returns a message, or CodeNotFound.
func (s *Store) Message(ctx context.Context, id int64) (pluginsdk.Message, error) {
	row, err := s.read.Message.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no message with the id %d", id)
	}
	if err != nil {
		return pluginsdk.Message{}, wrap("read message", err)
	}
	return messageOf(row), nil
}

// Messages is MessagePage for who does not read on.
func (s *Store) Messages(ctx context.Context, q pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	rows, _, err := s.MessagePage(ctx, q)
	return rows, err
}

// MessagePage returns the selected messages of a thread, oldest first, and whether
// there are more: behind them, or with Last in front of them. The next page is that
// after the id of the last of them, or with Last before the id of the first: also with
// BeforeRunID, where the order is that of the turns and After and Before mean the
// place which that message has in it. There, a message that is not stored any more has
// none (CodeNotFound).
func (s *Store) MessagePage(ctx context.Context, q pluginsdk.MessageQuery) (rows []pluginsdk.Message, more bool, err error) {
	if q.ThreadID == "" {
		return nil, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: which thread's messages?")
	}
	limit := page(q.Limit)
	q.Limit = limit + 1 // tells whether there are more
	var found []*ent.Message
	if q.BeforeRunID != "" {
		found, err = s.history(ctx, q)
	} else {
		found, err = s.byID(ctx, q)
	}
	if err != nil {
		return nil, false, wrap("list messages", err)
	}
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	if q.Last {
		slices.Reverse(found)
	}
	return all(found, messageOf), more, nil
}

// byID returns the selected messages in the order of their ids, from the newest on
// with Last.
func (s *Store) byID(ctx context.Context, q pluginsdk.MessageQuery) ([]*ent.Message, error) {
	order := message.ByID()
	if q.Last {
		order = message.ByID(entsql.OrderDesc())
	}
	query := s.selected(q).Order(order).Limit(q.Limit)
	if q.After > 0 {
		query.Where(message.IDGT(q.After))
	}
	if q.Before > 0 {
		query.Where(message.IDLT(q.Before))
	}
	return query.All(ctx)
}

// selected is what both orders of MessagePage have in common.
func (s *Store) selected(q pluginsdk.MessageQuery) *ent.MessageQuery {
	query := s.read.Message.Query().Where(message.ThreadID(q.ThreadID), notGoingIn(q.ThreadID))
	if len(q.Roles) > 0 {
		query.Where(message.RoleIn(q.Roles...))
	}
	if len(q.Kinds) > 0 {
		query.Where(message.KindIn(q.Kinds...))
	}
	if q.RunID != "" {
		query.Where(message.RunID(q.RunID))
	}
	return query
}

// notGoing finds nothing in a thread that was deleted, and of which something is left, or
// that is being made. It is about rows with a thread_id.
func notGoing(sel *entsql.Selector) {
	removals := entsql.Table(threadremoval.Table)
	sel.Where(entsql.NotExists(entsql.Select(removals.C(threadremoval.FieldID)).From(removals).
		Where(entsql.ColumnsEQ(removals.C(threadremoval.FieldID), sel.C(message.FieldThreadID)))))
}

// notGoingIn is notGoing for rows that are all of one thread; empty: they are of any. It asks for
// the thread once, not for that of each row: Postgres takes it that hardly a row is left then, and
// would read and sort all that the thread has for a page of it.
func notGoingIn(threadID string) func(*entsql.Selector) {
	if threadID == "" {
		return notGoing
	}
	return func(sel *entsql.Selector) {
		removals := entsql.Table(threadremoval.Table)
		sel.Where(entsql.NotExists(entsql.Select(removals.C(threadremoval.FieldID)).From(removals).
			Where(entsql.EQ(removals.C(threadremoval.FieldID), threadID))))
	}
}

// A message stands in a conversation where the message of its run stands: a
// reply that came late belongs right after what it answers. turn is that
// place, an id; it is never greater than the message's own.
const turn = "COALESCE(turn.message_id, messages.id)"

// historyWindow is how many times the wanted number of messages is read first.
const historyWindow = 4

// spot is where a message stands in a conversation, as SQL has it: the turn and the
// id. The zero one is nowhere.
type spot struct{ turn, id int64 }

// between are the spots that a page of a history lies between, both exclusive.
type between struct{ after, before spot }

// history returns the messages of turns before that of a run, in the order of the
// turns, from the newest on with Last.
func (s *Store) history(ctx context.Context, q pluginsdk.MessageQuery) ([]*ent.Message, error) {
	r, err := s.read.Run.Query().Where(run.ID(q.BeforeRunID)).Select(run.FieldMessageID).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, notFound("run", q.BeforeRunID)
	}
	if err != nil {
		return nil, err
	}
	in := between{before: spot{turn: r.MessageID}} // no id is 0: nothing of that turn
	if q.After > 0 {
		if in.after, err = s.spotOf(ctx, q.ThreadID, q.After); err != nil {
			return nil, err
		}
	}
	if q.Before > 0 {
		before, err := s.spotOf(ctx, q.ThreadID, q.Before)
		if err != nil {
			return nil, err
		}
		if before.turn < in.before.turn {
			in.before = before
		}
	}
	if q.Last {
		return s.lastTurns(ctx, q, in)
	}
	return s.turns(ctx, q, in, 0)
}

// spotOf returns where a message of a thread stands, or CodeNotFound.
func (s *Store) spotOf(ctx context.Context, threadID string, id int64) (at spot, err error) {
	at.id = id
	err = row(ctx, s.query, "SELECT "+turn+" FROM messages LEFT JOIN runs AS turn ON messages.run_id = turn.id WHERE messages.id = $1 AND messages.thread_id = $2",
		[]any{id, threadID}, &at.turn)
	if errors.Is(err, sql.ErrNoRows) {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "after, before: the thread has no message with the id %d", id)
	}
	return at, err
}

// lastTurns returns the newest messages, newest first. It reads a window of
// ids that grows until nothing outside can belong to them: a message stands no
// later than its id, so what lies before the window stands before the window.
func (s *Store) lastTurns(ctx context.Context, q pluginsdk.MessageQuery, in between) ([]*ent.Message, error) {
	for size := historyWindow * q.Limit; ; size *= historyWindow {
		from := int64(0)
		oldest, err := s.selected(q).Order(message.ByID(entsql.OrderDesc())).Offset(size - 1).FirstID(ctx)
		switch {
		case err == nil:
			from = oldest
		case !ent.IsNotFound(err):
			return nil, err
		}
		rows, err := s.turns(ctx, q, in, from)
		if err != nil || from == 0 {
			return rows, err
		}
		if len(rows) == q.Limit {
			last, err := rows[len(rows)-1].Value("turn")
			if err != nil {
				return nil, err
			}
			if at, ok := last.(int64); ok && at >= from {
				return rows, nil
			}
		}
	}
}

// turns returns messages with ids of at least from that lie between two spots.
func (s *Store) turns(ctx context.Context, q pluginsdk.MessageQuery, in between, from int64) ([]*ent.Message, error) {
	direction := ""
	if q.Last {
		direction = " DESC"
	}
	query := s.selected(q).Where(predicate.Message(func(sel *entsql.Selector) {
		runs := entsql.Table(run.Table).As("turn")
		sel.LeftJoin(runs).On(sel.C(message.FieldRunID), runs.C(run.FieldID))
		sel.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString("("+turn+", messages.id) < (").Args(in.before.turn, in.before.id).WriteString(")")
			if in.after != (spot{}) {
				b.WriteString(" AND ("+turn+", messages.id) > (").Args(in.after.turn, in.after.id).WriteString(")")
			}
		}))
	})).Limit(q.Limit)
	if from > 0 {
		query.Where(message.IDGTE(from))
	}
	query.Modify(func(sel *entsql.Selector) {
		sel.AppendSelectExpr(entsql.ExprFunc(func(b *entsql.Builder) { b.WriteString(turn + ` AS "turn"`) }))
		sel.OrderExpr(entsql.Expr(turn+direction), entsql.Expr("messages.id"+direction))
	})
	return query.All(ctx)
}

// Append stores rows in a thread, all or none, and returns them. With a key, which
// is the whole call's, a repetition returns the rows of the first call, or
// CodeConflict when it says something else. It does not wait for the disk.
func (s *Store) Append(ctx context.Context, a ledger.Append) (ledger.Appended, error) {
	if a.Fence != nil && a.Fence.ThreadID != a.ThreadID {
		return ledger.Appended{}, pluginsdk.Errorf(pluginsdk.CodeStale, "thread %s is not the run's own", a.ThreadID)
	}
	messages, err := s.newMessages(origin{threadID: a.ThreadID, plugin: a.Plugin, runID: a.RunID, of: a.Origin}, a.Key, a.Rows)
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
type origin struct {
	threadID, runID, plugin, source string
	of                              pluginsdk.Origin
}

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
		Attachments: cleanAttachments(row.Attachments), RunID: from.runID, CreatedAt: s.now(), Origin: from.of,
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
