package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

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
}

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	config Config
	back   backend
	write  writer
	read   *ent.Client
	reads  *reads // nil where the database's driver does as well by itself
}

// Open opens the database, makes it when it is missing, and brings its schema
// up to date. A database that is newer than this binary is refused.
func Open(ctx context.Context, config Config) (*Store, error) {
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
	if err := migrate(ctx, back); err != nil {
		return nil, errors.Join(err, back.close())
	}
	write, err := back.startWriter(ctx, config.Log)
	if err != nil {
		return nil, errors.Join(err, back.close())
	}
	s := &Store{config: config, back: back, write: write}
	driver := entsql.OpenDB(back.dialect(), back.reader())
	if back.dialect() == dialect.SQLite {
		s.reads = newReads(back.reader())
		driver = entsql.NewDriver(dialect.SQLite, entsql.Conn{ExecQuerier: s.reads})
	}
	s.read = ent.NewClient(ent.Driver(driver))
	return s, nil
}

func openBackend(ctx context.Context, config Config) (backend, error) {
	switch {
	case config.URL == "" && config.Dir == "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "open database: neither a data directory nor DATABASE_URL is set")
	case config.URL == "":
		return openSQLite(ctx, config.Dir)
	case strings.HasPrefix(config.URL, "postgres://"), strings.HasPrefix(config.URL, "postgresql://"):
		return openPostgres(ctx, config.URL)
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"DATABASE_URL must begin with postgres:// (or be empty, for SQLite in the data directory)")
}

// Close finishes the writes that were handed in and closes the database. Later
// calls fail with CodeUnavailable.
func (s *Store) Close() error {
	err := s.write.close()
	if s.reads != nil {
		s.reads.close()
	}
	return errors.Join(err, s.back.close())
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
