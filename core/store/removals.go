package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/ent/threadremoval"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A thread is deleted in two parts. DeleteThread takes its row away, in one transaction:
// from then on nobody finds it, nobody can write in it, and its id is in thread_removals.
// RemoveThread then removes what it has left, in small transactions and in any number of
// attempts; the last one takes the id out of thread_removals. The rows of a thread that is
// being branched are in the same place until it is complete, so that one whose making
// ended in the middle is removed as one that was deleted.

// DeleteThread takes a thread away, and returns it as it was; RemoveThread has to follow.
// CodeNotFound: there is none. CodeStale: it is the primary one, a run of it is not over, a
// task in it or below it is not, one was caused from it, or a scheduled job names it.
// Threads whose replies went to it have theirs go nowhere, and those below it are below
// none. The audit log says who wanted it.
func (s *Store) DeleteThread(ctx context.Context, id, who string) (gone pluginsdk.Thread, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if _, err := tx.epoch(ctx, id); err != nil {
			return err
		}
		row, err := tx.Thread.Get(ctx, id)
		if err != nil {
			return err
		}
		gone = toldThreadOf(row)
		if gone.Kind == pluginsdk.ThreadPrimary {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "the primary thread cannot be deleted; `/new` gives it a fresh session")
		}
		if err := tx.inUse(ctx, id); err != nil {
			return err
		}
		for _, statement := range []string{
			"UPDATE threads SET report_to = 'thread:' || id WHERE report_to = 'thread:' || $1 AND id <> $1",
			"UPDATE threads SET parent_thread_id = '' WHERE parent_thread_id = $1",
			"DELETE FROM threads WHERE id = $1",
		} {
			if _, err := tx.run(ctx, statement, id); err != nil {
				return err
			}
		}
		if err := tx.ThreadRemoval.Create().SetID(id).SetCreatedAt(s.now()).Exec(ctx); err != nil {
			return err
		}
		return s.note(ctx, tx, who, "thread.delete", id, fmt.Sprintf("%.*q of %s:%.*q", auditedName, gone.Name, gone.Source, auditedName, gone.SourceID))
	})
	return gone, wrap("delete thread", err)
}

// auditedName is how much of a deleted thread's name the audit log repeats, in bytes.
const auditedName = 100

// uses are what keeps a thread from being deleted, each with how it is named to people and
// what they can do: %[1]s is its id or name, %[2]s that of the thread.
var uses = []struct{ what, remedy, query string }{
	{
		"run %[1]s is not over", "stop it first (/stop all in the thread, or harness stop --drop --thread %[2]s)",
		"SELECT id FROM runs WHERE state IN ('queued', 'running', 'waiting') AND thread_id = $1 LIMIT 1",
	},
	{
		"task %[1]s, which is worked on in it or tells it of its end, is not over", "cancel it first (harness task cancel %[1]s)",
		`SELECT id FROM tasks WHERE (status NOT IN ('completed', 'failed', 'cancelled') OR phase <> '')
			AND (thread_id = $1 OR parent_thread_id = $1
				OR EXISTS (SELECT 1 FROM runs r WHERE r.id = tasks.cause_run_id AND r.thread_id = $1)) LIMIT 1`,
	},
	{
		"the scheduled job %[1]s writes in it or reports to it", "delete the job first, or give it another thread",
		"SELECT name FROM cron_jobs WHERE thread_id = $1 OR target = 'thread:' || $1 LIMIT 1",
	},
}

// inUse refuses (CodeStale) a thread that something still needs.
func (t *tx) inUse(ctx context.Context, id string) error {
	for _, use := range uses {
		var by string
		err := t.row(ctx, use.query, []any{id}, &by)
		if err == nil {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "the thread cannot be deleted, because "+use.what+"; "+use.remedy, by, id)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

// Removals returns the ids of the threads of which something is left to be removed, the
// oldest first.
func (s *Store) Removals(ctx context.Context) ([]string, error) {
	ids, err := s.read.ThreadRemoval.Query().Order(threadremoval.ByCreatedAt(), ent.Asc(threadremoval.FieldID)).IDs(ctx)
	return ids, wrap("list what is to be removed", err)
}

// leftover is a table in which a thread leaves rows behind. A room that stores something
// of a thread has its line here.
type leftover struct {
	table string
	find  string // ids of such rows of thread $1 with an id above $2, in their order
	text  bool   // the ids are text
	batch int    // how many rows one transaction removes
	// remove removes the rows, and what refers to them.
	remove func(ctx context.Context, t *tx, ids []any) error
}

// leftovers are the tables, in the order in which they are cleared. What was paid stays
// counted: the agent's calls are kept, without words, and so are the sums of accounts.
// What people have allowed stays in the audit log, and nothing else of what was asked.
// What refers to runs goes before them; the search index goes with its messages, by itself.
// The index of runs is not in the order of their ids, so that these are taken as they come.
var leftovers = []leftover{
	{"approval_rules", "SELECT id FROM approval_rules WHERE thread_id = $1 AND id > $2 ORDER BY id", true, 500, removeRules},
	{"approvals", "SELECT id FROM approvals WHERE thread_id = $1 AND id > $2 ORDER BY id", true, 100, removeApprovals},
	{"files", "SELECT id FROM files WHERE thread_id = $1 AND id > $2 ORDER BY id", true, 500, removeFiles},
	{"tasks", "SELECT id FROM tasks WHERE thread_id = $1 AND id > $2 ORDER BY id", true, 20, removeTasks},
	{"runs", "SELECT id FROM runs WHERE thread_id = $1 AND id <> $2", true, 100, removeRuns},
	{"metrics", "SELECT id FROM metrics WHERE thread_id = $1 AND id > $2 ORDER BY id", false, 500, removeMetrics},
	{"agent_runs", "SELECT id FROM agent_runs WHERE thread_id = $1 AND error <> '' AND id > $2 ORDER BY id", false, 500, silenceAgentRuns},
	{"messages", "SELECT id FROM messages WHERE thread_id = $1 AND id > $2 ORDER BY id", false, 200, removeMessages},
}

// RemoveThread removes what a thread that does not exist has left. Nobody waits long for
// it; when it fails or ends with its context, what was removed stays so, and it is called
// again. A thread that exists is CodeInternal: nothing of it is touched. Only the holder of
// the lock may call it, and not for a branch that it is making.
func (s *Store) RemoveThread(ctx context.Context, id string) error {
	switch exists, err := s.read.Thread.Query().Where(thread.ID(id)).Exist(ctx); {
	case err != nil:
		return wrap("remove thread", err)
	case exists:
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "remove thread: %s is in use", id)
	}
	for _, of := range leftovers {
		if err := s.clear(ctx, of, id); err != nil {
			return wrap("remove a thread's "+of.table, err)
		}
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if _, err := tx.ThreadRemoval.Delete().Where(threadremoval.ID(id)).Exec(ctx); err != nil {
			return err
		}
		return s.holds(ctx, tx)
	})
	return wrap("remove thread", err)
}

// clear removes a thread's rows from a table. They are looked for on a connection that
// reads, so that the writer is not held up by the search.
func (s *Store) clear(ctx context.Context, of leftover, threadID string) error {
	var last any = int64(0)
	if of.text {
		last = ""
	}
	for {
		rows, err := s.back.reader().QueryContext(ctx, fmt.Sprintf("%s LIMIT %d", of.find, of.batch), threadID, last)
		if err != nil {
			return err
		}
		ids, err := scanAny(rows)
		if err != nil || len(ids) == 0 {
			return err
		}
		err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
			if err := of.remove(ctx, tx, ids); err != nil {
				return err
			}
			return s.holds(ctx, tx)
		})
		if err != nil {
			return err
		}
		last = ids[len(ids)-1]
	}
}

func scanAny(rows *sql.Rows) (ids []any, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id any
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// removeTasks removes tasks with what was said of them. Those below one go to the task
// above it, and so does what it has cost: the tasks above have cost as much as before.
func removeTasks(ctx context.Context, t *tx, ids []any) error {
	for _, id := range ids {
		if err := t.moveTaskUsage(ctx, id); err != nil {
			return err
		}
		for _, statement := range []string{
			"UPDATE agent_runs SET task_id = (SELECT k.parent_task_id FROM tasks k WHERE k.id = $1) WHERE task_id = $1 " +
				"AND EXISTS (SELECT 1 FROM tasks k WHERE k.id = $1 AND k.parent_task_id <> '')",
			"UPDATE tasks SET parent_task_id = (SELECT k.parent_task_id FROM tasks k WHERE k.id = $1) WHERE parent_task_id = $1",
			"DELETE FROM task_answers WHERE task_id = $1",
			"DELETE FROM tasks WHERE id = $1",
		} {
			if _, err := t.run(ctx, statement, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeRuns(ctx context.Context, t *tx, ids []any) error {
	if err := t.settleRuns(ctx, ids); err != nil {
		return err
	}
	_, err := t.run(ctx, "DELETE FROM runs WHERE id IN ("+parameters(1, len(ids))+")", ids...)
	return err
}

func removeMetrics(ctx context.Context, t *tx, ids []any) error {
	return t.removeCounted(ctx, "metrics", metricSize, ids)
}

func silenceAgentRuns(ctx context.Context, t *tx, ids []any) error {
	_, err := t.run(ctx, "UPDATE agent_runs SET error = '' WHERE id IN ("+parameters(1, len(ids))+")", ids...)
	return err
}

func removeRules(ctx context.Context, t *tx, ids []any) error {
	_, err := t.run(ctx, "DELETE FROM approval_rules WHERE id IN ("+parameters(1, len(ids))+")", ids...)
	return err
}

func removeApprovals(ctx context.Context, t *tx, ids []any) error {
	_, err := t.run(ctx, "DELETE FROM approvals WHERE id IN ("+parameters(1, len(ids))+")", ids...)
	return err
}

// removeFiles removes files that no message of another thread refers to. The others become
// those of the first such thread: a branch has copies of messages, and its files were the
// old thread's. Their bytes go with the next sweep of package files.
func removeFiles(ctx context.Context, t *tx, ids []any) error {
	users, err := t.users(ctx, ids)
	if err != nil {
		return err
	}
	var unused []any
	for _, id := range ids {
		if user := users[id.(string)]; user == "" {
			unused = append(unused, id)
		} else if _, err := t.run(ctx, "UPDATE files SET thread_id = $1 WHERE id = $2", user, id); err != nil {
			return err
		}
	}
	if len(unused) == 0 {
		return nil
	}
	return t.removeCounted(ctx, "files", fileSize, unused)
}

// removeMessages also takes what is on its way to people. Files of no thread, or of another
// one, that only these messages have referred to are pruned from now on when they are old.
func removeMessages(ctx context.Context, t *tx, ids []any) error {
	among := "IN (" + parameters(1, len(ids)) + ")"
	if _, err := t.run(ctx, "DELETE FROM deliveries WHERE message_id "+among, ids...); err != nil {
		return err
	}
	rows, err := t.exec.QueryContext(ctx, "SELECT thread_id, attachments FROM messages WHERE attachments IS NOT NULL AND id "+among, ids...)
	if err != nil {
		return err
	}
	referred := make(map[string]bool)
	if err := eachReference(rows, func(fileID, _ string) { referred[fileID] = true }); err != nil {
		return err
	}
	if err := t.removeCounted(ctx, "messages", messageSize, ids); err != nil || len(referred) == 0 {
		return err
	}
	var loose []any
	for id := range referred {
		loose = append(loose, id)
	}
	return t.release(ctx, loose)
}

// release marks files that no message refers to any more, so that pruning takes them.
func (t *tx) release(ctx context.Context, ids []any) error {
	for chunk := range slices.Chunk(ids, insertChunk) {
		rows, err := t.exec.QueryContext(ctx, "SELECT id FROM files WHERE attached AND id IN ("+parameters(1, len(chunk))+") ORDER BY id", chunk...)
		if err != nil {
			return err
		}
		there, err := scanAny(rows)
		if err != nil || len(there) == 0 {
			return err
		}
		users, err := t.users(ctx, there)
		if err != nil {
			return err
		}
		for _, id := range there {
			if users[id.(string)] != "" {
				continue
			}
			if _, err := t.run(ctx, "UPDATE files SET attached = false WHERE id = $1", id); err != nil {
				return err
			}
		}
	}
	return nil
}

// users returns, of each of these files that messages refer to, the thread of the first of
// them; threads that are not there do not count. It looks at everything that has an
// attachment.
func (t *tx) users(ctx context.Context, ids []any) (map[string]string, error) {
	rows, err := t.exec.QueryContext(ctx, `SELECT m.thread_id, m.attachments FROM messages m
		WHERE m.attachments IS NOT NULL AND EXISTS (SELECT 1 FROM threads t WHERE t.id = m.thread_id) ORDER BY m.id`)
	if err != nil {
		return nil, err
	}
	users := make(map[string]string)
	for _, id := range ids {
		users[id.(string)] = ""
	}
	return users, eachReference(rows, func(fileID, threadID string) {
		if user, asked := users[fileID]; asked && user == "" {
			users[fileID] = threadID
		}
	})
}

// eachReference calls each with every reference to a file in rows of thread_id and
// attachments, and closes them. Attachments that somebody has broken by hand refer to none.
func eachReference(rows *sql.Rows, each func(fileID, threadID string)) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var threadID string
		var encoded []byte
		if err := rows.Scan(&threadID, &encoded); err != nil {
			return err
		}
		var attachments []pluginsdk.Attachment
		if json.Unmarshal(encoded, &attachments) != nil {
			continue
		}
		for _, fileID := range fileIDs(attachments) {
			each(fileID, threadID)
		}
	}
	return rows.Err()
}

// settleRuns books what runs have cost that are over, in the accounts in which something
// is set aside for them.
func (t *tx) settleRuns(ctx context.Context, ids []any) error {
	rows, err := t.exec.QueryContext(ctx, "SELECT DISTINCT plugin, account FROM reservations WHERE run_id IN ("+parameters(1, len(ids))+
		") ORDER BY plugin, account", ids...)
	if err != nil {
		return err
	}
	accounts, err := scanPairs(rows)
	if err != nil {
		return err
	}
	for _, one := range accounts {
		if _, err := t.settleAccount(ctx, one[0], one[1]); err != nil {
			return err
		}
	}
	return nil
}

func scanPairs(rows *sql.Rows) (pairs [][2]string, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var pair [2]string
		if err := rows.Scan(&pair[0], &pair[1]); err != nil {
			return nil, err
		}
		pairs = append(pairs, pair)
	}
	return pairs, rows.Err()
}

// removeCounted deletes rows, and takes them off what their plugins have stored.
func (t *tx) removeCounted(ctx context.Context, table, size string, ids []any) error {
	rows, err := t.exec.QueryContext(ctx, "DELETE FROM "+table+" WHERE id IN ("+parameters(1, len(ids))+") RETURNING plugin, "+size, ids...)
	if err != nil {
		return err
	}
	sizes := make(storedBytes)
	if _, err := sizes.note(rows, -1); err != nil {
		return err
	}
	return t.countStored(ctx, sizes)
}
