package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"modernc.org/sqlite" // also the driver "sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// readers is how many queries run at a time on SQLite.
	readers = 4
	// busyTimeout is how long to wait for another process that writes, and
	// busyPause how often to ask where SQLite does not wait by itself.
	busyTimeout = 10 * time.Second
	busyPause   = 20 * time.Millisecond
)

// sqliteBackend is a file in the data directory: one connection that writes,
// and a pool that only reads.
type sqliteBackend struct {
	dir    string
	log    string // the write-ahead log's file
	writer *sql.DB
	pool   *sql.DB
	reads  *reads    // through pool
	look   *sql.Conn // asks for version, which SQLite tells each connection of the others

	group *groupWriter           // nil before startWriter
	last  atomic.Pointer[answer] // of version
}

// answer is a version of the database. It is kept if the write-ahead log had been written last more
// than settled before, at written.
type answer struct {
	version int64
	at      time.Time
	written time.Time
	own     int64 // COMMITs of this process's writer that had ended
}

const (
	// settled is after how long a new write surely gives a file another modification time: a file
	// system may give two writes the same one (FAT within 2 s, Linux's own within a tick).
	settled = 3 * time.Second
	// answerAge is how long an answer is good. Another process's commit is seen a moment after it
	// has written the log, which takes longer than settled when its disk is slow.
	answerAge = 5 * time.Second
)

// openSQLite opens the file, and makes it when it is missing and may be made.
func openSQLite(ctx context.Context, dir string, may bool) (*sqliteBackend, error) {
	path := filepath.Join(dir, "harness.db")
	err := makeSQLite(dir, path, may)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path) // as SQLite does, which has the log beside the file itself
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	back := &sqliteBackend{dir: dir, log: real + "-wal"}
	if back.writer, err = sql.Open("sqlite", sqliteDSN(path, url.Values{
		"_txlock":       {"immediate"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"NORMAL"},
		"_pragma":       {"wal_autocheckpoint(4000)", "journal_size_limit(67108864)"},
	})); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	back.writer.SetMaxOpenConns(1)
	if err := connect(ctx, back.writer); err != nil {
		return nil, wrap("open database "+path, errors.Join(err, back.writer.Close()))
	}
	if back.pool, err = sql.Open("sqlite", sqliteDSN(path, url.Values{"_query_only": {"1"}})); err != nil {
		return nil, fmt.Errorf("open database: %w", errors.Join(err, back.writer.Close()))
	}
	back.pool.SetMaxOpenConns(readers + 1)
	back.pool.SetMaxIdleConns(readers + 1)
	if back.look, err = back.pool.Conn(ctx); err != nil {
		return nil, fmt.Errorf("open database: %w", errors.Join(err, back.pool.Close(), back.writer.Close()))
	}
	back.reads = newReads(back.pool)
	return back, nil
}

func makeSQLite(dir, path string, may bool) error {
	flags := os.O_RDWR
	if may {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the data directory: %w", err)
		}
		flags |= os.O_CREATE
	}
	// Made here for its mode: SQLite gives its side files the same one.
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) && !may {
		return noDatabase(dir)
	}
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return nil
}

// noDatabase is the error of commands that find nothing: they have been given
// the wrong place.
func noDatabase(where string) error {
	return pluginsdk.Errorf(pluginsdk.CodeNotFound,
		"there is no database in %s yet: start the daemon once with `harness up`, or name its directory with --data", where)
}

// connect opens the first connection. While another process makes the same
// database, switching to WAL is refused at once, whatever the busy timeout.
func connect(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if !busy(err) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return err
		}
	}
}

// busy reports whether an error says that somebody else has SQLite's file.
func busy(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == sqlitelib.SQLITE_BUSY
}

// sqliteDSN names the file and what all connections have in common. Times are
// stored as text that sorts as they do.
func sqliteDSN(path string, more url.Values) string {
	more.Set("_busy_timeout", strconv.FormatInt(busyTimeout.Milliseconds(), 10))
	more.Set("mode", "rw") // openSQLite has made the file; one that is gone is not made again
	more.Set("_foreign_keys", "1")
	more.Set("_time_format", "sqlite")
	more.Set("_timezone", "UTC")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: more.Encode()}).String()
}

func (b *sqliteBackend) dialect() string { return dialect.SQLite }

func (b *sqliteBackend) describe() string {
	return "SQLite at " + filepath.Join(b.dir, "harness.db")
}

func (b *sqliteBackend) reader() *sql.DB { return b.pool }

func (b *sqliteBackend) querier() entsql.ExecQuerier { return b.reads }

func (b *sqliteBackend) migrating(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := b.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // it only goes back to the pool
	return inTransaction(ctx, conn, "BEGIN IMMEDIATE", f)
}

// inTransaction runs f on conn between begin and COMMIT, or ROLLBACK. A
// connection whose transaction does not end is thrown away.
func inTransaction(ctx context.Context, conn *sql.Conn, begin string, f func(*sql.Conn) error) error {
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	err := f(conn)
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		if undo != nil {
			discard(conn)
		}
		return errors.Join(err, undo)
	}
	return nil
}

func (b *sqliteBackend) startWriter(ctx context.Context, log *slog.Logger) (writer, error) {
	w, err := startGroupWriter(ctx, b.writer, log)
	if err != nil {
		return nil, wrap("open database", err)
	}
	b.group = w
	return w, nil
}

// version is PRAGMA data_version (sqlite.org/pragma.html). In a daemon that has nothing to do, this
// PRAGMA took a fifth of the CPU. So SQLite is not asked again for answerAge while the write-ahead
// log has the same modification time (each commit writes into that file) and the writer of this
// process has ended no COMMIT.
func (b *sqliteBackend) version(ctx context.Context) (version int64, known bool) {
	now := answer{at: time.Now()}
	if b.group != nil {
		now.own = b.group.ended.Load()
	}
	if log, err := os.Stat(b.log); err == nil { // before SQLite is asked: what is written meanwhile has it asked again
		now.written = log.ModTime()
	}
	last := b.last.Load()
	if last != nil && last.own == now.own && last.written.Equal(now.written) && now.at.Sub(last.at) < answerAge {
		return last.version, true
	}
	if err := b.look.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now.version); err != nil {
		return 0, false
	}
	if !now.written.IsZero() && now.at.Sub(now.written) > settled {
		b.last.Store(&now)
	}
	return now.version, true
}

func (b *sqliteBackend) integrity(ctx context.Context) ([]string, error) {
	rows, err := b.pool.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err is asked below
	var problems []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if line != "ok" {
			problems = append(problems, line)
		}
	}
	return problems, rows.Err()
}

func (b *sqliteBackend) close() error {
	b.reads.close()
	err := b.look.Close()
	if errors.Is(err, sql.ErrConnDone) { // it is closed already, which pools do not mind
		err = nil
	}
	return errors.Join(err, b.pool.Close(), b.writer.Close())
}
