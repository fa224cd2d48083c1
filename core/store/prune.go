package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"
)

// pruneBatch is how many rows one transaction deletes, so that nobody waits
// long for it.
const pruneBatch = 1000

// Pruned counts what Prune deleted, or would delete.
type Pruned struct {
	Activity   int64 `json:"activity"`   // status, steps, thinking, tool calls and their results
	Metrics    int64 `json:"metrics"`    //
	Deliveries int64 `json:"deliveries"` // that had reached their target
	Runs       int64 `json:"runs"`       // whose stream events, steps and hook calls were cleared
	Context    int64 `json:"context"`    // changes of context files, but for the newest of each
	Files      int64 `json:"files"`      // that no message refers to
}

// pruning is one of the things that Prune does: it changes the rows of a table
// for which where holds. $1 in it is the instant before which they are old.
type pruning struct {
	table, where, change string
	text                 bool   // its ids are text
	size                 string // what one of its rows counts for; empty: for nobody
	count                func(*Pruned) *int64
}

// oldActivity are rows about how an answer came to be. They are kept while
// their run is not over, while a delivery points to them, and for ever when
// they are what a person was told in the place of an answer. Its last bracket
// is open.
const oldActivity = `created_at < $1 AND kind IN ('status', 'pipeline_step', 'thinking', 'tool_call', 'tool_result')
	AND NOT (kind = 'status' AND (COALESCE(CAST(metadata AS text), '') LIKE '%"pipeline_error"%'
		OR COALESCE(key, '') IN (run_id || ':reply', run_id || ':error')
		OR COALESCE(key, '') LIKE run_id || ':command:%'))
	AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = messages.run_id AND r.finished_at IS NULL)
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = messages.id`

func prunings(dry bool) []pruning {
	activity := oldActivity + ")"
	if dry { // when it is their turn, these deliveries are gone
		activity = oldActivity + " AND NOT (d.state = 'delivered' AND d.created_at < $1))"
	}
	return []pruning{
		{"deliveries", "state = 'delivered' AND created_at < $1", "DELETE FROM deliveries", true, "",
			func(p *Pruned) *int64 { return &p.Deliveries }},
		{"messages", activity, "DELETE FROM messages", false, messageSize,
			func(p *Pruned) *int64 { return &p.Activity }},
		{"metrics", "created_at < $1", "DELETE FROM metrics", false, metricSize,
			func(p *Pruned) *int64 { return &p.Metrics }},
		{"runs", "finished_at < $1 AND (events IS NOT NULL OR steps IS NOT NULL OR hooks IS NOT NULL)", "UPDATE runs SET events = NULL, steps = NULL, hooks = NULL", true, "",
			func(p *Pruned) *int64 { return &p.Runs }},
		{"workspace_changes", "created_at < $1 AND NOT " + headOf, "DELETE FROM workspace_changes", false, "",
			func(p *Pruned) *int64 { return &p.Context }},
		{"files", "created_at < $1 AND NOT attached", "DELETE FROM files", true, fileSize,
			func(p *Pruned) *int64 { return &p.Files }},
	}
}

// Prune deletes what is older than before and not part of any conversation:
// activity rows of runs that are over, metrics, deliveries that were made, and
// files that no message refers to; and clears the stream events, steps and hook calls of runs that
// are over; and what context files have
// said, but for what they say now. The daemon removes the bytes of such files (package files). Text,
// notifications, summaries, failures that a person was told of, and the audit
// log stay. With dry it only counts. It works in small transactions; when it
// fails in the middle, what was counted is done.
func (s *Store) Prune(ctx context.Context, before time.Time, dry bool) (done Pruned, err error) {
	before = instant(before)
	for _, one := range prunings(dry) {
		count := one.count(&done)
		if dry {
			query := "SELECT COUNT(*) FROM " + one.table + " WHERE " + one.where
			err = s.back.reader().QueryRowContext(ctx, query, before).Scan(count)
		} else {
			err = s.prune(ctx, one, before, count)
		}
		if err != nil {
			return done, wrap("prune "+one.table, err)
		}
	}
	if !dry {
		err = s.pruneTexts(ctx)
	}
	return done, wrap("prune workspace_texts", err)
}

// prune goes through a table once, in the order of its ids. The rows are looked
// for on a connection that reads, and looked at again where they are changed.
func (s *Store) prune(ctx context.Context, one pruning, before time.Time, count *int64) error {
	var last any = int64(0)
	if one.text {
		last = ""
	}
	for {
		ids, err := s.prunable(ctx, one, before, last)
		if err != nil || len(ids) == 0 {
			return err
		}
		args := append([]any{before}, ids...)
		statement := one.change + " WHERE " + one.where + " AND id IN (" + parameters(2, len(ids)) + ")"
		var n int64
		if err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
			n, err = tx.prune(ctx, one, statement, args)
			return err
		}); err != nil {
			return err
		}
		*count, last = *count+n, ids[len(ids)-1]
	}
}

// prune runs one of the statements of a pruning, and takes what is deleted off what
// its plugins have stored.
func (t *tx) prune(ctx context.Context, one pruning, statement string, args []any) (n int64, err error) {
	if one.size == "" {
		return t.run(ctx, statement, args...)
	}
	rows, err := t.exec.QueryContext(ctx, statement+" RETURNING plugin, "+one.size, args...)
	if err != nil {
		return 0, err
	}
	sizes := make(storedBytes)
	if n, err = sizes.note(rows, -1); err != nil {
		return 0, err
	}
	return n, t.countStored(ctx, sizes)
}

func (s *Store) prunable(ctx context.Context, one pruning, before time.Time, after any) (ids []any, err error) {
	rows, err := s.back.reader().QueryContext(ctx, fmt.Sprintf("SELECT id FROM %s WHERE %s AND id > $2 ORDER BY id LIMIT %d",
		one.table, one.where, pruneBatch), before, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err is asked below
	for rows.Next() {
		var id any
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// parameters is a list of so many placeholders.
func parameters(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(list, ", ")
}

// MayVacuum fails when Vacuum would be refused the lock now, for who wants to
// know that before deleting anything.
func (s *Store) MayVacuum(ctx context.Context, owner string) error {
	if s.Dialect() == dialect.Postgres {
		return nil
	}
	lease, err := s.Lock(ctx, owner)
	if err != nil {
		return err
	}
	lease.Release()
	return nil
}

// Vacuum gives the disk back what deleted rows took. On SQLite it writes the
// whole file anew and holds up every writer meanwhile, so it takes the lock: a
// daemon must not run. On Postgres it holds up nobody, and autovacuum does it
// too.
func (s *Store) Vacuum(ctx context.Context, owner string) error {
	if s.Dialect() == dialect.Postgres {
		for _, table := range append(knownTables(), derivedTables...) {
			if _, err := s.back.reader().ExecContext(ctx, "VACUUM "+quoted(table)); err != nil {
				return wrap("vacuum "+table, err)
			}
		}
		return nil
	}
	lease, err := s.Lock(ctx, owner)
	if err != nil {
		return err
	}
	defer lease.Release()
	back, err := openSQLite(ctx, s.config.Dir, false) // the store's own writer is always in a transaction
	if err != nil {
		return err
	}
	_, err = back.writer.ExecContext(ctx, "VACUUM")
	return wrap("vacuum the database", errors.Join(err, back.close()))
}
