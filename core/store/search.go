package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The search index is made of the messages, and can be made again: it is in no backup, and
// ent does not know its tables.
//
//   - message_index has the tokens of each message that can be found. On SQLite it is FTS5
//     without the text and without positions, on Postgres a tsvector without positions with
//     a GIN index. Neither database changes the tokens, or takes anything in them for an
//     operator. A trigger on messages deletes what has no message any more
//   - message_index_marks has one row: how far the index has come, and by which rules
//   - message_spans says for each 4096 ids between which times their messages were made

// derivedTables are those that are made of others.
var derivedTables = []string{"message_index", "message_index_marks", "message_spans", "usage_marks", "usage_sums"}

// spanBits is how many ids have a row of message_spans together: 2 to the power of it.
const spanBits = 12

// saidKinds are the kinds of messages that can be found.
const saidKinds = "('text', 'notification', 'summary')"

// saidMost is how many characters of a message a search reads: no fewer than the bytes
// that the index takes of it.
const saidMost = 256 << 10

// IndexMark says how far the search index has come.
func (s *Store) IndexMark(ctx context.Context) (mark ledger.IndexMark, err error) {
	err = row(ctx, s.query, "SELECT rules, epoch, message_id FROM message_index_marks WHERE id = 1", nil,
		&mark.Rules, &mark.Epoch, &mark.MessageID)
	return mark, wrap("read how far the search index has come", err)
}

// NewestMessage returns the greatest id of a message, 0 when there is none.
func (s *Store) NewestMessage(ctx context.Context) (id int64, err error) {
	id, err = s.newest(ctx, "messages")
	return id, wrap("look for the newest message", err)
}

// newest returns the greatest id in a table that numbers its rows, 0 when it has none.
func (s *Store) newest(ctx context.Context, table string) (id int64, err error) {
	err = row(ctx, s.query, "SELECT COALESCE(MAX(id), 0) FROM "+table, nil, &id)
	return id, err
}

// horizonPatience is how long horizon waits for transactions, and horizonPause how
// often it looks at them.
const (
	horizonPatience = 10 * time.Second
	horizonPause    = 20 * time.Millisecond
)

// IndexHorizon returns an id up to which no message can appear any more that is not there
// now (CodeUnavailable: a transaction that writes messages takes too long).
func (s *Store) IndexHorizon(ctx context.Context) (id int64, err error) {
	id, err = s.horizon(ctx, "messages")
	return id, wrap("look how far what was said can be indexed", err)
}

// horizon returns an id up to which no row of a table that numbers its rows can appear any more
// that is not there now. On Postgres an id is given out before its row is committed, so that rows
// appear in another order: whoever had one by now still holds the lock of writers on the table, and
// is waited for (CodeUnavailable: for too long).
func (s *Store) horizon(ctx context.Context, table string) (id int64, err error) {
	if s.Dialect() == dialect.SQLite {
		return s.newest(ctx, table)
	}
	err = row(ctx, s.query, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "+table+"_id_seq", nil, &id)
	if err != nil {
		return 0, err
	}
	late := time.After(horizonPatience)
	writing, err := s.writersOf(ctx, table)
	for err == nil && len(writing) > 0 {
		select {
		case <-time.After(horizonPause):
		case <-late:
			return 0, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "a transaction that writes %s takes more than %s", table, horizonPatience)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		var now []string
		now, err = s.writersOf(ctx, table)
		writing = slices.DeleteFunc(writing, func(id string) bool { return !slices.Contains(now, id) })
	}
	return id, err
}

// writersOf returns the transactions that may have written a table.
func (s *Store) writersOf(ctx context.Context, table string) ([]string, error) {
	return list[string](ctx, s, `SELECT DISTINCT virtualtransaction FROM pg_locks
		WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted AND relation = '`+table+`'::regclass
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

// list reads the one column of a query.
func list[T any](ctx context.Context, s *Store, query string, args ...any) (all []T, err error) {
	rows, err := s.query.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one T
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// ResetIndex empties the search index: from now on it is made by these rules.
func (s *Store) ResetIndex(ctx context.Context, rules int) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		// First the mark: whoever is adding to the index at this moment is waited for, and
		// whoever comes later finds it moved.
		if _, err := tx.run(ctx, "UPDATE message_index_marks SET rules = $1, epoch = epoch + 1, message_id = 0 WHERE id = 1", rules); err != nil {
			return err
		}
		empty := "INSERT INTO message_index (message_index) VALUES ('delete-all')"
		if tx.postgres {
			empty = "TRUNCATE message_index"
		}
		if _, err := tx.run(ctx, empty); err != nil {
			return err
		}
		_, err := tx.run(ctx, "DELETE FROM message_spans")
		return err
	})
	return wrap("begin the search index anew", err)
}

// AddToIndex stores entries and moves the mark from where it is up to an id, in one
// transaction. CodeConflict: it is elsewhere. Entries of messages that are not there any
// more are left out; who is deleting one is waited for.
func (s *Store) AddToIndex(ctx context.Context, from ledger.IndexMark, upTo int64, entries []ledger.IndexEntry) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		n, err := tx.run(ctx, "UPDATE message_index_marks SET message_id = $1 WHERE id = 1 AND rules = $2 AND epoch = $3 AND message_id = $4",
			upTo, from.Rules, from.Epoch, from.MessageID)
		if err != nil {
			return err
		}
		if n == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeConflict, "the search index is not at message %d any more: somebody else has moved it on", from.MessageID)
		}
		if tx.postgres {
			err = tx.indexPostgres(ctx, entries)
		} else {
			err = tx.indexSQLite(ctx, entries)
		}
		if err != nil {
			return err
		}
		return tx.span(ctx, entries)
	})
	return wrap("add to the search index", err)
}

// reindexFrom has the search index made anew from a message on, which says something else
// from now on. Whoever is adding to the index at this moment may have read what it said: the
// epoch tells them.
func (t *tx) reindexFrom(ctx context.Context, messageID int64) error {
	if _, err := t.run(ctx, `UPDATE message_index_marks SET epoch = epoch + 1,
		message_id = CASE WHEN message_id < $1 THEN message_id ELSE $1 - 1 END WHERE id = 1`, messageID); err != nil {
		return err
	}
	entries := "DELETE FROM message_index WHERE rowid >= $1"
	if t.postgres {
		entries = "DELETE FROM message_index WHERE message_id >= $1"
	}
	_, err := t.run(ctx, entries, messageID)
	return err
}

// SettleIndex brings what was added to the search index where it is found fastest. Postgres
// has a list of what was added last, up to 4 MB, which each query reads from end to end.
func (s *Store) SettleIndex(ctx context.Context) error {
	if s.Dialect() == dialect.SQLite {
		return nil
	}
	_, err := list[int64](ctx, s, "SELECT gin_clean_pending_list('message_index_words')")
	return wrap("settle the search index", err)
}

func (t *tx) indexSQLite(ctx context.Context, entries []ledger.IndexEntry) error {
	for _, entry := range entries {
		if _, err := t.run(ctx, "INSERT INTO message_index (rowid, words) SELECT $1, $2 WHERE EXISTS (SELECT 1 FROM messages WHERE id = $1)",
			entry.MessageID, strings.Join(entry.Tokens, " ")); err != nil {
			return fmt.Errorf("message %d: %w", entry.MessageID, err)
		}
	}
	return nil
}

func (t *tx) indexPostgres(ctx context.Context, entries []ledger.IndexEntry) error {
	ids, words := make([]int64, len(entries)), make([]string, len(entries))
	for i, entry := range entries {
		tokens := make([]string, len(entry.Tokens))
		for k, token := range entry.Tokens {
			tokens[k] = inEra(entry.MessageID>>eraBits, token)
		}
		ids[i], words[i] = entry.MessageID, `{"`+strings.Join(tokens, `","`)+`"}`
	}
	_, err := t.run(ctx, `INSERT INTO message_index (message_id, words)
		SELECT m.id, array_to_tsvector(entries.words::text[]) FROM unnest($1::bigint[], $2::text[]) AS entries (id, words)
		JOIN messages m ON m.id = entries.id FOR KEY SHARE OF m`,
		pq.Array(ids), pq.Array(words))
	return err
}

// span widens the times between which the entries' blocks of ids lie.
func (t *tx) span(ctx context.Context, entries []ledger.IndexEntry) error {
	for len(entries) > 0 {
		block := entries[0].MessageID >> spanBits
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for len(entries) > 0 && entries[0].MessageID>>spanBits == block {
			at := entries[0].CreatedAt.UnixMicro()
			low, high, entries = min(low, at), max(high, at), entries[1:]
		}
		if _, err := t.run(ctx, `INSERT INTO message_spans (block, low, high) VALUES ($1, $2, $3) ON CONFLICT (block) DO UPDATE SET
			low = CASE WHEN excluded.low < message_spans.low THEN excluded.low ELSE message_spans.low END,
			high = CASE WHEN excluded.high > message_spans.high THEN excluded.high ELSE message_spans.high END`, block, low, high); err != nil {
			return err
		}
	}
	return nil
}

// IndexSpan returns ids between which, both exclusive, every message of the index lies that
// was made from since on and before until. Zero times do not restrict.
func (s *Store) IndexSpan(ctx context.Context, since, until time.Time) (after, before int64, err error) {
	after, before = -1, math.MaxInt64
	if since.IsZero() && until.IsZero() {
		return after, before, nil
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if !since.IsZero() {
		low = since.UnixMicro()
	}
	if !until.IsZero() {
		high = until.UnixMicro()
	}
	var first, last sql.NullInt64
	err = row(ctx, s.query, "SELECT MIN(block), MAX(block) FROM message_spans WHERE high >= $1 AND low < $2", []any{low, high}, &first, &last)
	if err != nil {
		return 0, 0, wrap("look when what was said was said", err)
	}
	if !first.Valid {
		return 0, 0, nil
	}
	return first.Int64<<spanBits - 1, (last.Int64 + 1) << spanBits, nil
}

// Indexed returns the ids of messages that the search index has.
func (s *Store) Indexed(ctx context.Context, query ledger.IndexQuery) (ids []int64, err error) {
	if len(query.All) == 0 || query.Limit <= 0 || query.Before <= query.After+1 {
		return nil, nil
	}
	if s.Dialect() == dialect.Postgres {
		ids, err = s.indexedPostgres(ctx, query)
	} else {
		// FTS5 goes through its lists from the greatest id on, and stops at the limit.
		ids, err = list[int64](ctx, s, `SELECT rowid FROM message_index WHERE message_index MATCH $1 AND rowid > $2 AND rowid < $3
			ORDER BY rowid DESC LIMIT $4`, matchSQLite(query.All), query.After, query.Before, query.Limit)
	}
	return ids, wrap("ask the search index", err)
}

// matchSQLite is a query in FTS5's language. A token has no quotation mark in it.
func matchSQLite(all [][]ledger.IndexTerm) string {
	return joinTerms(all, " AND ", " OR ", func(term ledger.IndexTerm) string {
		if term.Prefix {
			return `"` + term.Token + `"*`
		}
		return `"` + term.Token + `"`
	})
}

// matchPostgres is a query for what was said in an era, as a tsquery. A token has no
// quotation mark in it.
func matchPostgres(era int64, all [][]ledger.IndexTerm) string {
	return joinTerms(all, " & ", " | ", func(term ledger.IndexTerm) string {
		if term.Prefix {
			return "'" + inEra(era, term.Token) + "':*"
		}
		return "'" + inEra(era, term.Token) + "'"
	})
}

func joinTerms(all [][]ledger.IndexTerm, and, or string, one func(ledger.IndexTerm) string) string {
	parts := make([]string, len(all))
	for i, any := range all {
		terms := make([]string, len(any))
		for k, term := range any {
			terms[k] = one(term)
		}
		parts[i] = "(" + strings.Join(terms, or) + ")"
	}
	return strings.Join(parts, and)
}

// A GIN index finds all messages with a token, in no order. So there each token has the era
// of its message before it, which is 2^eraBits ids long. The newest are found without all
// the others, the beginning of a word is looked for among the words of an era, and what is
// added comes into one place of the index.
//
// The newest era is asked first, then as many as the rest takes if what is asked for is as
// frequent there, at most eraGrowth times as many as before.
const (
	eraBits   = 16
	eraGrowth = 4
)

// inEra is a token as Postgres' index has it. Tokens have no colon in them.
func inEra(era int64, token string) string { return strconv.FormatInt(era, 36) + ":" + token }

func (s *Store) indexedPostgres(ctx context.Context, query ledger.IndexQuery) (ids []int64, err error) {
	newest, err := s.IndexMark(ctx)
	if err != nil {
		return nil, err
	}
	before := min(query.Before, newest.MessageID+1)
	for eras := int64(1); before > query.After+1 && len(ids) < query.Limit; {
		last, first := (before-1)>>eraBits, (query.After+1)>>eraBits
		first = max(first, last-eras+1)
		var queries []string
		for era := last; era >= first; era-- {
			queries = append(queries, matchPostgres(era, query.All))
		}
		// Materialized: else a plan may read the rows in their order and look at each.
		found, err := list[int64](ctx, s, `WITH found AS MATERIALIZED (SELECT message_id
			FROM unnest($1::text[]) AS eras (query) CROSS JOIN message_index WHERE words @@ eras.query::tsquery)
			SELECT message_id FROM found WHERE message_id > $2 AND message_id < $3 ORDER BY message_id DESC LIMIT $4`,
			pq.Array(queries), query.After, before, query.Limit-len(ids))
		if err != nil {
			return nil, err
		}
		eras *= eraGrowth
		ids = append(ids, found...)
		if missing, seen := int64(query.Limit-len(ids)), before-first<<eraBits; len(found) > 0 {
			eras = min(eras, 1+missing*seen/int64(len(found))>>eraBits)
		}
		before = first << eraBits
	}
	return ids, nil
}

// said are the columns that readSaid reads.
var said = fmt.Sprintf("m.id, m.thread_id, m.role, m.kind, m.author, m.run_id, m.created_at, "+
	"EXISTS (SELECT 1 FROM thread_removals x WHERE x.id = m.thread_id), substr(m.content, 1, %d)", saidMost)

// SaidBetween calls each with what was said after one id and before another, until it
// returns false: the newest first with newest, at most limit. What was said in threads that
// are being removed or made is among it, and Going says so.
func (s *Store) SaidBetween(ctx context.Context, after, before int64, newest bool, limit int, each func(ledger.Said) bool) error {
	order := "ASC"
	if newest {
		order = "DESC"
	}
	rows, err := s.query.QueryContext(ctx, "SELECT "+said+" FROM messages m WHERE m.id > $1 AND m.id < $2 AND m.kind IN "+saidKinds+
		" ORDER BY m.id "+order+" LIMIT $3", after, before, limit)
	if err == nil {
		_, err = readSaid(rows, each)
	}
	return wrap("read what was said", err)
}

// saidAtOnce is how many messages one query of SaidOf reads.
const saidAtOnce = 2000

// SaidOf calls each with what was said in the messages of these ids, the newest first, until
// it returns false. The ids are in that order. What is not there any more is left out.
func (s *Store) SaidOf(ctx context.Context, ids []int64, each func(ledger.Said) bool) error {
	query := "SELECT " + said + " FROM json_each($1) i CROSS JOIN messages m ON m.id = i.value WHERE m.kind IN " + saidKinds
	if s.Dialect() == dialect.Postgres {
		query = "SELECT " + said + " FROM messages m WHERE m.id = ANY($1) AND m.kind IN " + saidKinds + " ORDER BY m.id DESC"
	}
	for some := range slices.Chunk(ids, saidAtOnce) {
		var list any = pq.Array(some)
		if s.Dialect() == dialect.SQLite {
			list = strings.ReplaceAll(strings.Trim(fmt.Sprint(some), "[]"), " ", ",")
			list = "[" + list.(string) + "]"
		}
		rows, err := s.query.QueryContext(ctx, query, list)
		more := false
		if err == nil {
			more, err = readSaid(rows, each)
		}
		if err != nil || !more {
			return wrap("read what was said", err)
		}
	}
	return nil
}

// readSaid reads rows to their end, or until each returns false: then more is false.
func readSaid(rows *sql.Rows, each func(ledger.Said) bool) (more bool, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m ledger.Said
		var made any // what was written by hand may be no time
		if err := rows.Scan(&m.ID, &m.ThreadID, &m.Role, &m.Kind, &m.Author, &m.RunID, &made, &m.Going, &m.Content); err != nil {
			return false, err
		}
		if at, ok := made.(time.Time); ok {
			m.CreatedAt = keepable(at.UTC())
		}
		if !each(m) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// ThreadNames returns the names of threads by id.
func (s *Store) ThreadNames(ctx context.Context, ids []string) (map[string]string, error) {
	return s.namesOf(ctx, "threads", "name", ids)
}

// TaskTitles returns by id what people know tasks by: the first line of what was asked for.
func (s *Store) TaskTitles(ctx context.Context, ids []string) (map[string]string, error) {
	titles, err := s.namesOf(ctx, "tasks", "substr(CASE WHEN original_message <> '' THEN original_message ELSE prompt END, 1, 500)", ids)
	for id, text := range titles {
		titles[id], _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	return titles, err
}

func (s *Store) namesOf(ctx context.Context, table, column string, ids []string) (map[string]string, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	names := make(map[string]string, len(ids))
	rows, err := s.back.reader().QueryContext(ctx, "SELECT id, "+column+" FROM "+table+" WHERE id IN ("+parameters(1, len(ids))+")", args...)
	if err != nil {
		return nil, wrap("read the names of "+table, err)
	}
	defer rows.Close() // Err is asked below
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, wrap("read the names of "+table, err)
		}
		names[id] = name
	}
	return names, wrap("read the names of "+table, rows.Err())
}

// IndexIntegrity returns how many messages the search index does not have yet, and what is
// wrong with it, in words for people. It reads all of it.
func (s *Store) IndexIntegrity(ctx context.Context) (behind int64, problems []string, err error) {
	entries := "SELECT id FROM message_index_docsize"
	if s.Dialect() == dialect.Postgres {
		entries = "SELECT message_id AS id FROM message_index"
	}
	const mark = "(SELECT message_id FROM message_index_marks WHERE id = 1)"
	err = row(ctx, s.query, "SELECT COUNT(*) FROM messages m WHERE m.kind IN "+saidKinds+" AND m.id > "+mark, nil, &behind)
	if err != nil {
		return 0, nil, wrap("look at the search index", err)
	}
	for _, check := range []struct{ what, query string }{
		{"messages that a search does not find", "SELECT COUNT(*) FROM messages m WHERE m.kind IN " + saidKinds +
			" AND m.id <= " + mark + " AND NOT EXISTS (SELECT 1 FROM (" + entries + ") AS entries WHERE entries.id = m.id)"},
		{"entries of the search index for no message", "SELECT COUNT(*) FROM (" + entries +
			") AS entries WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = entries.id)"},
	} {
		var n int
		if err := row(ctx, s.query, check.query, nil, &n); err != nil {
			return 0, nil, wrap("look at the search index", err)
		}
		if n > 0 {
			problems = append(problems, fmt.Sprintf("%d %s", n, check.what))
		}
	}
	return behind, problems, nil
}
