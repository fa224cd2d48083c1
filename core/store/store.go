package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
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
	config Config
	back   backend
	write  writer
	read   *ent.Client
	query  entsql.ExecQuerier    // what read goes through
	lease  atomic.Pointer[Lease] // the last that Lock has given

	carrier atomic.Pointer[Carrier]
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
	s := &Store{config: config, back: back}
	if err := first(s); err != nil {
		return nil, errors.Join(err, back.close())
	}
	if err := prepareSchema(ctx, back, config.Schema); err != nil {
		return nil, errors.Join(err, back.close())
	}
	if s.write, err = back.startWriter(ctx, config.Log); err != nil {
		return nil, errors.Join(err, back.close())
	}
	s.query = back.querier()
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
