package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/threadremoval"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A branch is copied in the order of the conversation, in small transactions, under the id
// of a thread that does not exist yet and is to be removed (see RemoveThread). The last
// transaction makes the thread. So a branch is there with all that belongs to it, or not
// at all, and nobody waits long for it.

const (
	// branchRows and branchBytes are how many messages, and bytes of their content, one
	// transaction copies. A message that is longer is copied by itself.
	branchRows  = 500
	branchBytes = 2 << 20
)

// copiedColumns are those of messageColumns that a copy has in common with its original: it
// is of no run, and has no key, because both are the old thread's.
var copiedColumns = func() string {
	var copied []string
	for column := range strings.SplitSeq(messageColumns, ", ") {
		if column != "thread_id" && column != "run_id" && column != "key" {
			copied = append(copied, column)
		}
	}
	return strings.Join(append(copied, "apart"), ", ")
}()

// BranchThread makes a thread that has the messages of another up to one of them, in the
// order of the conversation: what answers an earlier message stands behind that. Its
// session is a fresh one that has seen none of them. When its source and source id are
// known, that thread is returned as it is, and created is false. CodeNotFound: there is no
// such thread, or it has no such message.
//
// When it fails, or the daemon dies, what was copied is to be removed with RemoveThread,
// under the branch's id.
func (s *Store) BranchThread(ctx context.Context, b ledger.Branch) (t pluginsdk.Thread, created bool, err error) {
	if found, err := s.threadBySource(ctx, clean(b.Thread.Source), clean(b.Thread.SourceID)); err == nil || !ent.IsNotFound(err) {
		return found, false, wrap("branch thread", err)
	}
	from, err := s.Thread(ctx, b.From)
	if err != nil {
		return pluginsdk.Thread{}, false, err
	}
	if t, err = s.newThread(branched(from, b.Thread)); err != nil {
		return pluginsdk.Thread{}, false, err
	}
	t.Apart = t.Apart || from.Apart // wherever it works
	if t.ID = b.ID; ledger.OwnDirectory(from) {
		t.Cwd = s.ownDirectory(b.ID)
	}
	copies, err := s.conversation(ctx, b)
	if err != nil {
		return pluginsdk.Thread{}, false, wrap("branch thread", err)
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		return tx.ThreadRemoval.Create().SetID(b.ID).SetCreatedAt(s.now()).Exec(ctx)
	})
	if err != nil {
		return pluginsdk.Thread{}, false, wrap("branch thread", err)
	}
	for _, batch := range copies {
		if err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error { return tx.copyMessages(ctx, b.ID, batch) }); err != nil {
			return pluginsdk.Thread{}, false, wrap("copy messages", err)
		}
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error { return s.completeBranch(ctx, tx, b, &t) })
	if duplicate(err) { // somebody was faster
		found, err := s.threadBySource(ctx, t.Source, t.SourceID)
		return found, false, wrap("branch thread", err)
	}
	if err != nil {
		return pluginsdk.Thread{}, false, wrap("branch thread", err)
	}
	return t, true, nil
}

// conversation returns the ids of the messages up to the one that a branch is made at, in
// the order of the conversation, in the batches in which they are copied.
func (s *Store) conversation(ctx context.Context, b ledger.Branch) (batches [][]any, err error) {
	const ordered = "SELECT messages.id, " + turn + " AS place, COALESCE(OCTET_LENGTH(messages.content), 0) FROM messages " +
		"LEFT JOIN runs AS turn ON messages.run_id = turn.id WHERE messages.thread_id = $1"
	where, args := "", []any{b.From}
	if b.LastMessageID > 0 {
		last, err := s.spotOf(ctx, b.From, b.LastMessageID)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "messageId: the thread has no message with the id %d", b.LastMessageID)
		}
		if err != nil {
			return nil, err
		}
		where, args = " AND ("+turn+", messages.id) <= ($2, $3)", append(args, last.turn, last.id)
	}
	rows, err := s.back.reader().QueryContext(ctx, ordered+where+" ORDER BY 2, 1", args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var batch []any
	var bytes int64
	for rows.Next() {
		var id, place, size int64
		if err := rows.Scan(&id, &place, &size); err != nil {
			return nil, err
		}
		if len(batch) > 0 && (len(batch) == branchRows || bytes+size > branchBytes) {
			batches, batch, bytes = append(batches, batch), nil, 0
		}
		batch, bytes = append(batch, id), bytes+size
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches, rows.Err()
}

// copyMessages copies messages to the end of a thread, in the order of their conversation,
// and counts them for who has written them. Both databases number the rows of one statement
// in the order of its selection.
func (t *tx) copyMessages(ctx context.Context, to string, ids []any) error {
	var columns []string
	for column := range strings.SplitSeq(copiedColumns, ", ") {
		columns = append(columns, "messages."+column)
	}
	rows, err := t.exec.QueryContext(ctx, fmt.Sprintf(`INSERT INTO messages (thread_id, run_id, %s)
		SELECT CAST($1 AS text), '', %s FROM messages LEFT JOIN runs AS turn ON messages.run_id = turn.id
		WHERE messages.id IN (%s) ORDER BY %s, messages.id RETURNING plugin, %s`,
		copiedColumns, strings.Join(columns, ", "), parameters(2, len(ids)), turn, messageSize), append([]any{to}, ids...)...)
	if err != nil {
		return err
	}
	sizes := make(storedBytes)
	if _, err := sizes.note(rows, 1); err != nil {
		return err
	}
	return t.countStored(ctx, sizes)
}

// completeBranch makes the thread whose messages have been copied. What is in it is read,
// and is no news to its agent: the history of its first prompt has it.
func (s *Store) completeBranch(ctx context.Context, t *tx, b ledger.Branch, made *pluginsdk.Thread) error {
	if _, err := t.epoch(ctx, b.From); err != nil { // it has been deleted meanwhile, and so is this
		return err
	}
	metadata, err := json.Marshal(struct {
		Event     string `json:"event"`
		ThreadID  string `json:"threadId"`
		MessageID int64  `json:"messageId,omitempty"`
	}{"branched", b.From, b.LastMessageID})
	if err != nil {
		return err
	}
	last, err := t.insertMessage(ctx, pluginsdk.Message{
		ThreadID: made.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core",
		Content: "What stands above was said in thread " + b.From, Metadata: metadata, CreatedAt: made.CreatedAt,
		Origin: pluginsdk.Origin{Apart: made.Apart}, // the thread is not there yet
	})
	if err != nil {
		return err
	}
	made.LastReadMessageID = last.ID
	if err := insertThread(t.Thread, ledger.Thread{Thread: *made, SeenMessageID: last.ID}).Exec(ctx); err != nil {
		return err
	}
	_, err = t.ThreadRemoval.Delete().Where(threadremoval.ID(made.ID)).Exec(ctx)
	return err
}
