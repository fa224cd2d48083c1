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
	"sync"
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

	mu    sync.Mutex // guards asked
	asked answer
}

// answer is a version of the database, from when the write-ahead log had been written last at an
// instant, and at rest since. The zero answer is of no log.
type answer struct {
	version int64
	written time.Time
}

// settled is how long after a write another one is sure to have another time in the file system
// (2 s on FAT, a tick of the kernel on Linux's own).
const settled = 3 * time.Second

// openSQLite opens the file, and makes it when it is missing and may be made.
func openSQLite(ctx context.Context, dir string, may bool) (*sqliteBackend, error) {
	path := filepath.Join(dir, "harness.db")
	err := makeSQLite(dir, path, may)
	if err != nil {
		return nil, err
	}
	back := &sqliteBackend{dir: dir, log: path + "-wal"}
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
	return w, nil
}

// version is PRAGMA data_version (sqlite.org/pragma.html). Each commit writes into the write-ahead
// log, so SQLite is not asked again while that file has not changed: to run SQLite costs a daemon
// that does nothing else more than all that it does each second.
func (b *sqliteBackend) version(ctx context.Context) (version int64, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, written := time.Now(), time.Time{}
	if log, err := os.Stat(b.log); err == nil { // before SQLite is asked: what is written meanwhile has it asked again
		written = log.ModTime()
	}
	if !written.IsZero() && written.Equal(b.asked.written) {
		return b.asked.version, true
	}
	b.asked = answer{}
	if err := b.look.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return 0, false
	}
	if now.Sub(written) > settled {
		b.asked = answer{version, written}
	}
	return version, true
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
