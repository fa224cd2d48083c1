package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Config says which database to open.
type Config struct {
	// URL is DATABASE_URL: postgres://..., or empty for SQLite in Dir.
	URL string
	// Dir is the data directory; SQLite's file is Dir/harness.db.
	Dir string
	Log *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Schema says what becomes of a schema that is not this binary's.
	Schema SchemaPolicy
	// Carriers are the plugins whose messages are begun although the plugin is turned off: they
	// come with Harness, and bring what people write.
	Carriers []string
	// Trace, when set, is told of every transaction and of every query outside of one.
	Trace func(ledger.Span)
}

// SchemaPolicy says what Open does about the schema that it finds.
type SchemaPolicy int

// The policies of Open.
const (
	// SchemaMigrate makes what is missing and brings the schema up to date; it
	// refuses a newer one. It is for the daemon.
	SchemaMigrate SchemaPolicy = iota
	// SchemaCurrent refuses a database that is not there, and every schema but
	// this binary's. It is for commands that work on the rows.
	SchemaCurrent
	// SchemaAny refuses a database that is not there, and nothing else. Only
	// Status and Backup work on a schema of another version.
	SchemaAny
)

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	on     string // notOff, of Config.Carriers
	config Config
	back   backend
	write  writer
	read   *ent.Client
	query  entsql.ExecQuerier    // what read goes through
	lease  atomic.Pointer[Lease] // the last that Lock has given

	carrier atomic.Pointer[Carrier]

	// What is asked for every second.
	plugins   remembered[struct{}, []ledger.Plugin]
	levers    remembered[string, ledger.Lever] // by name
	unrevoked remembered[time.Time, bool]      // since then, no token was revoked

	figures *figures
}

// Open opens the database, as config.Schema says. Whoever only looks makes
// nothing: a database that is not there is CodeNotFound.
func Open(ctx context.Context, config Config) (*Store, error) {
	return open(ctx, config, func(*Store) error { return nil })
}

// OpenLocked opens the database under the lock of Store.Lock, taken before
// anything is changed: a newer daemon that is refused must not have migrated
// the database of the one that runs.
func OpenLocked(ctx context.Context, config Config, owner string) (s *Store, lease *Lease, err error) {
	s, err = open(ctx, config, func(s *Store) (err error) {
		lease, err = s.Lock(ctx, owner)
		return err
	})
	if err != nil && lease != nil {
		lease.Release()
	}
	return s, lease, err
}

// open calls first once the database can be reached.
func open(ctx context.Context, config Config, first func(*Store) error) (*Store, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	back, err := openBackend(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &Store{config: config, back: back, figures: newFigures(), on: notOff(config.Carriers)}
	if err := first(s); err != nil {
		return nil, errors.Join(err, back.close())
	}
	if err := prepareSchema(ctx, back, config.Schema); err != nil {
		return nil, errors.Join(err, back.close())
	}
	if s.write, err = back.startWriter(ctx, config.Log); err != nil {
		return nil, errors.Join(err, back.close())
	}
	s.write, s.query = timedWriter{s.write, s.figures}, back.querier()
	if config.Trace != nil {
		s.write, s.query = tracedWriter{s.write, back.dialect(), config.Trace}, tracedReads{s.query, config.Trace}
	}
	s.read = ent.NewClient(ent.Driver(entsql.NewDriver(back.dialect(), entsql.Conn{ExecQuerier: s.query})))
	return s, nil
}

func openBackend(ctx context.Context, config Config) (backend, error) {
	switch {
	case config.URL == "" && config.Dir == "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "open database: neither a data directory nor DATABASE_URL is set")
	case config.URL == "":
		return openSQLite(ctx, config.Dir, config.Schema == SchemaMigrate)
	case strings.HasPrefix(config.URL, "postgres://"), strings.HasPrefix(config.URL, "postgresql://"):
		return openPostgres(ctx, config.URL)
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"DATABASE_URL must begin with postgres:// (or be empty, for SQLite in the data directory)")
}

// Close finishes the writes that were handed in and closes the database. Later
// calls fail with CodeUnavailable.
func (s *Store) Close() error {
	return errors.Join(s.write.close(), s.back.close())
}

// Dialect returns sqlite3 or postgres.
func (s *Store) Dialect() string { return s.back.dialect() }

// Describe says for people which database this is, without its password.
func (s *Store) Describe() string { return s.back.describe() }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return wrap("reach the database", s.back.reader().PingContext(ctx))
}

func (s *Store) now() time.Time { return instant(s.config.Now()) }

// tx is one transaction (or, in a group commit, one savepoint) as a closure
// sees it: ent's builders for most things, SQL for the rest. Parameters are
// written $1, $2, ... which both databases understand.
type tx struct {
	*ent.Client
	exec     entsql.ExecQuerier
	postgres bool
}

// newTx makes ent speak through an open transaction.
func newTx(name string, exec entsql.ExecQuerier) *tx {
	driver := bound{entsql.NewDriver(name, entsql.Conn{ExecQuerier: exec})}
	return &tx{Client: ent.NewClient(ent.Driver(driver)), exec: exec, postgres: name == dialect.Postgres}
}

// bound is a driver that is inside a transaction already.
type bound struct{ *entsql.Driver }

// Tx is what ent calls for a statement of several parts.
func (b bound) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(b), nil }

// run executes a statement and returns how many rows it changed.
func (t *tx) run(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.exec.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads the one row of a query; sql.ErrNoRows says that there is none.
func (t *tx) row(ctx context.Context, query string, args []any, into ...any) error {
	return row(ctx, t.exec, query, args, into...)
}

func row(ctx context.Context, from entsql.ExecQuerier, query string, args []any, into ...any) (err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	return rows.Scan(into...)
}

// protect turns a panic of f into an error, so that one bad write does not
// take the writer with it.
func protect(ctx context.Context, t *tx, f func(context.Context, *tx) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = pluginsdk.Errorf(pluginsdk.CodeInternal, "write panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return f(ctx, t)
}

// uncertainError is a COMMIT of which nobody knows whether it happened.
type uncertainError struct{ cause error }

func (e *uncertainError) Error() string { return fmt.Sprintf("commit: %s", e.cause) }

func (e *uncertainError) Unwrap() error { return e.cause }

// reads is a pool that prepares each query once (on each of its connections):
// parsing costs SQLite more than most of the reads themselves.
type reads struct {
	pool *sql.DB

	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

func newReads(pool *sql.DB) *reads {
	return &reads{pool: pool, prepared: make(map[string]*sql.Stmt)}
}

// QueryContext runs a query. What it reads is little, and is read to its end
// although the caller gives up: watching for that costs more.
func (r *reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.watched(context.WithoutCancel(ctx), query, args...)
}

// watched runs a query that ends with its context.
func (r *reads) watched(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := r.statement(ctx, query); statement != nil { //nolint:sqlclosecheck // it is kept until close
		return statement.QueryContext(ctx, args...)
	}
	return r.pool.QueryContext(ctx, query, args...)
}

// ExecContext is there for ent's interface.
func (r *reads) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return r.pool.ExecContext(ctx, query, args...)
}

// statement returns the prepared query, or nil when it is to be run directly. Nobody
// waits for a statement of somebody else's.
func (r *reads) statement(ctx context.Context, query string) *sql.Stmt {
	r.mu.Lock()
	kept, full := r.prepared[query], len(r.prepared) >= statementsMax
	r.mu.Unlock()
	if kept != nil || full {
		return kept
	}
	made, err := r.pool.PrepareContext(ctx, query)
	if err != nil {
		return nil // run directly, it fails with the better error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept = r.prepared[query]; kept != nil {
		made.Close() //nolint:sqlclosecheck // another one was faster, and its is kept until close
		return kept
	}
	r.prepared[query] = made
	return made
}

func (r *reads) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, statement := range r.prepared {
		statement.Close() // the pool is closed next
	}
}

// SessionClosed notes that no agent process holds the thread's session any
// more. Another session of the thread is left alone, and so is one that a run
// is about to call the agent in: it will be open again at once.
func (s *Store) SessionClosed(ctx context.Context, threadID, sessionID string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, `UPDATE threads SET session_open = false WHERE id = $1 AND session_id = $2
			AND NOT EXISTS (SELECT 1 FROM runs WHERE state = 'running' AND thread_id = $1 AND step = $3 AND NOT beside)`,
			threadID, sessionID, string(pluginsdk.StepInvoking))
		return err
	})
	return wrap("note the end of a session", err)
}

// ResetSession makes the thread's next turn start a new session.
func (s *Store) ResetSession(ctx context.Context, threadID string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		n, err := tx.Thread.Update().Where(thread.ID(threadID)).
			SetSessionID("").SetSessionAccount("").SetSessionOpen(false).SetSeenMessageID(0).Save(ctx)
		if err == nil && n == 0 {
			return notFound("thread", threadID)
		}
		return err
	})
	return wrap("reset session", err)
}

// epoch reads a thread's epoch and keeps the thread as it is until the end of
// the transaction. So rows of one thread are numbered in the order in which
// they become visible, on Postgres too.
func (t *tx) epoch(ctx context.Context, threadID string) (epoch int64, err error) {
	query := "SELECT epoch FROM threads WHERE id = $1"
	if t.postgres {
		query += " FOR UPDATE"
	}
	err = t.row(ctx, query, []any{threadID}, &epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, notFound("thread", threadID)
	}
	return epoch, err
}

// check refuses a write whose thread has been taken by another run; of a run beside
// its thread, one of an attempt that is not the run's any more.
func (t *tx) check(ctx context.Context, fence ledger.Fence) error {
	if fence.Beside() {
		return t.checkBeside(ctx, fence)
	}
	epoch, err := t.epoch(ctx, fence.ThreadID)
	if err == nil && epoch != fence.Epoch {
		return stale(fence)
	}
	return err
}

// setFenced sets columns of the thread if check would allow it (the fence; for the lock
// on the database see holds), with their values as the parameters from $1 on. A run
// beside its thread changes nothing of it.
func (t *tx) setFenced(ctx context.Context, fence ledger.Fence, set string, values ...any) error {
	if fence.Beside() {
		return t.checkBeside(ctx, fence)
	}
	n, err := t.run(ctx, fmt.Sprintf("UPDATE threads SET %s WHERE id = $%d AND epoch = $%d", set, len(values)+1, len(values)+2),
		append(values, fence.ThreadID, fence.Epoch)...)
	return changed(fence, int(n), err)
}

// changed turns "no row changed" into the fence's refusal.
func changed(fence ledger.Fence, n int, err error) error {
	if err == nil && n == 0 {
		return stale(fence)
	}
	return err
}

func stale(fence ledger.Fence) error {
	if fence.Beside() {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "attempt %d of the run %s is over", fence.Attempt, fence.RunID)
	}
	return pluginsdk.Errorf(pluginsdk.CodeStale, "thread %s has been taken by another run since", fence.ThreadID)
}
