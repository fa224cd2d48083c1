package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// volume is how much is in a database. Every other message is a reply, and each
// pair has a run. Pairs of different threads lie mixed, as they come about.
type volume struct {
	threads int // the first is the hot one
	hot     int // messages in it
	rest    int // messages that go round over others
	spread  int // how many others
}

// million is what a busy installation has after years.
func million() volume { return volume{threads: 10_000, hot: 100_000, rest: 900_000, spread: 9_999} }

// crowded is one with as many threads, and a thread as long, and not much in the others.
func crowded() volume { return volume{threads: 10_000, hot: 100_000, rest: 100_000, spread: 9_999} }

// part is an nth of it, with as many messages in an ordinary thread.
func (v volume) part(n int) volume {
	return volume{threads: v.threads / n, hot: v.hot / n, rest: v.rest / n, spread: v.threads/n - 1}
}

// onePage is the least that fills every page that is compared, so that the
// pages differ in where they lie and not in how much is on them.
func (v volume) onePage() volume {
	return volume{threads: 2 * threadPage, hot: 4 * historyPage, rest: v.rest / v.spread * walk, spread: walk}
}

func (v volume) messages() int { return v.hot + v.rest }

func (v volume) String() string {
	return fmt.Sprintf("%d threads, %d messages (%d in one thread)", v.threads, v.messages(), v.hot)
}

// walk is how many places of a database its pages are read at.
const walk = 50

// landmarks are rows of a filled database that pages are asked by: the threads
// of the walk are ordinary ones.
type landmarks struct {
	hot      string
	after    [walk]string // ids along the list of threads, with a page or more behind
	ordinary [walk]string
	before   [walk]int64 // ids along the hot thread, with a page or more in front
}

// dialect is where the two databases differ in how rows are made up.
type dialect struct{ hex, clock, after string }

var (
	sqliteDialect = dialect{
		hex:   "printf('%%012x', %s)",
		clock: "strftime('%%Y-%%m-%%d %%H:%%M:%%S', %s, 'unixepoch') || '.123456+00:00'", // as the store writes times
		after: "PRAGMA wal_checkpoint(TRUNCATE)",
	}
	postgresDialect = dialect{hex: "lpad(to_hex(%s), 12, '0')", clock: "to_timestamp(%s)", after: "VACUUM ANALYZE"}
)

// uuid is an expression for a UUID of version 7 of a time in milliseconds.
func (d dialect) uuid(milliseconds, number string) string {
	stamp := fmt.Sprintf(d.hex, milliseconds)
	return fmt.Sprintf("substr(%s, 1, 8) || '-' || substr(%s, 9, 4) || '-7000-8000-' || %s",
		stamp, stamp, fmt.Sprintf(d.hex, number))
}

// fill makes rows by SQL, in an installation that is down and has its schema.
func (v volume) fill(database database, dir string) (marks landmarks, err error) {
	db, err := database.open(dir)
	if err != nil {
		return marks, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return marks, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, statement := range v.statements(database) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return marks, fmt.Errorf("fill %s: %w in\n%s", database.name, err, statement)
		}
	}
	return v.landmarks(ctx, conn)
}

// age is how long before now the first row was made, and lead by how much all
// threads precede all messages.
const (
	age  = 30 * 24 * time.Hour
	lead = 24 * time.Hour
)

func (v volume) statements(database database) []string {
	d, before, after := sqliteDialect, []string{
		"PRAGMA synchronous = OFF", "PRAGMA cache_size = -1000000", "PRAGMA temp_store = MEMORY", "BEGIN",
	}, []string{"COMMIT"}
	if database.url != "" {
		d, before = postgresDialect, []string{"BEGIN"}
		after = append([]string{`SELECT setval(pg_get_serial_sequence('messages', 'id'), (SELECT MAX(id) FROM messages))`}, after...)
	}
	pairs, hot := v.messages()/2, v.hot/2
	start := time.Now().Add(-age).UnixMilli()
	step := (age - 2*lead).Milliseconds() / int64(pairs)
	at := fmt.Sprintf("(%d + i * %d)", start+lead.Milliseconds(), step)
	thread := func(number string) string { return d.uuid(fmt.Sprintf("(%d + %s)", start, number), number) }
	replace := strings.NewReplacer(
		"{threads}", fmt.Sprint(v.threads), "{pairs}", fmt.Sprint(pairs), "{hot}", fmt.Sprint(hot), "{spread}", fmt.Sprint(v.spread),
		"{thread i}", thread("i"), "{thread t}", thread("t"), "{run i}", d.uuid(at, "i"),
		"{start}", fmt.Sprintf(d.clock, fmt.Sprint(start/1000)), "{at}", fmt.Sprintf(d.clock, at+" / 1000"),
		"{text}", "'"+strings.Repeat("words that somebody wrote ", 7)+"'",
	).Replace
	made := []string{replace(fillThreads), replace(makePairs), replace(fillMessages), replace(fillRuns), replace(fillAgentRuns)}
	return append(append(append(before, made...), after...), d.after)
}

const (
	fillThreads = `INSERT INTO threads (id, source, source_id, name, last_activity, created_at)
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {threads})
		SELECT {thread i}, 'web', 'bench-' || i, 'thread ' || i, {start}, {start} FROM n`
	// One pair in pairs/hot is of the hot thread, evenly.
	makePairs = `CREATE TEMP TABLE pair AS
		WITH RECURSIVE n(i) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {pairs}),
		placed AS (SELECT i, CASE WHEN (i + 1) * {hot} / {pairs} > i * {hot} / {pairs} THEN 0
			ELSE 1 + (i - i * {hot} / {pairs}) % {spread} END AS t FROM n)
		SELECT i, {thread t} AS thread, {run i} AS run, {at} AS made FROM placed`
	fillMessages = `INSERT INTO messages (id, thread_id, role, kind, source, content, run_id, key, created_at)
		SELECT 2 * i + 1 + reply, thread, CASE reply WHEN 0 THEN 'user' ELSE 'assistant' END, 'text',
			CASE reply WHEN 0 THEN 'web' ELSE 'agent' END, i || ': ' || {text},
			run, CASE reply WHEN 1 THEN run || ':reply' END, made
		FROM pair CROSS JOIN (SELECT 0 AS reply UNION ALL SELECT 1) AS side ORDER BY 1`
	fillRuns = `INSERT INTO runs (id, thread_id, message_id, kind, state, step, attempt, owner, result,
			source, key, content_hash, queued_at, started_at, finished_at)
		SELECT run, thread, 2 * i + 1, 'message', 'succeeded', 'invoked', 1, 'bench', '{"text": "words"}',
			'web', 'bench-' || i, 'bench', made, made, made FROM pair`
	fillAgentRuns = `INSERT INTO agent_runs (run_id, thread_id, purpose, started_at)
		SELECT run, thread, 'pipeline', made FROM pair`
)

func (v volume) landmarks(ctx context.Context, conn *sql.Conn) (marks landmarks, err error) {
	thread := func(number int) (id string) {
		err = errors.Join(err, conn.QueryRowContext(ctx, "SELECT id FROM threads WHERE source_id = $1",
			fmt.Sprint("bench-", number)).Scan(&id))
		return id
	}
	marks.hot = thread(0)
	for n := range walk {
		marks.after[n] = thread(n * (v.threads - threadPage) / walk)
		marks.ordinary[n] = thread(1 + n*v.spread/walk)
		err = errors.Join(err, conn.QueryRowContext(ctx, "SELECT id FROM messages WHERE thread_id = $1 ORDER BY id LIMIT 1 OFFSET $2",
			marks.hot, historyPage+n*(v.hot-historyPage)/walk).Scan(&marks.before[n]))
	}
	return marks, err
}
