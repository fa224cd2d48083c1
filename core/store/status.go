package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"entgo.io/ent/dialect"
	"golang.org/x/sys/unix"
)

// Status says which database this is and how it is.
type Status struct {
	Database string        `json:"database"` // in words, without its password
	Dialect  string        `json:"dialect"`
	Bytes    int64         `json:"bytes"`   // what it takes on the disk
	Schema   int           `json:"schema"`  // version of its schema
	Knows    int           `json:"knows"`   // newest version that this binary knows
	Pending  []string      `json:"pending"` // migrations to be applied, oldest first
	Holder   string        `json:"holder"`  // who has the lock; empty when nobody has
	Tables   []TableStatus `json:"tables"`
}

// TableStatus is one table.
type TableStatus struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// Status looks at the database, whatever the version of its schema. It counts
// rows, so it takes a while on a large one.
func (s *Store) Status(ctx context.Context) (Status, error) {
	status := Status{Database: s.Describe(), Dialect: s.Dialect(), Pending: []string{}, Tables: []TableStatus{}}
	for _, read := range []func(context.Context, *Status) error{s.statusOfSchema, s.statusOfTables, s.statusOfDisk} {
		if err := read(ctx, &status); err != nil {
			return Status{}, wrap("look at the database", err)
		}
	}
	holder, err := s.holder(ctx)
	status.Holder = holder
	return status, wrap("look for who holds the lock", err)
}

func (s *Store) statusOfSchema(ctx context.Context, status *Status) (err error) {
	if status.Schema, status.Knows, err = versions(ctx, s.back); err != nil {
		return err
	}
	all, err := migrations(s.Dialect())
	for _, one := range all {
		if one.version > status.Schema {
			status.Pending = append(status.Pending, one.label())
		}
	}
	return err
}

func (s *Store) statusOfTables(ctx context.Context, status *Status) error {
	from := catalog{s.back.reader(), s.Dialect()}
	for _, table := range knownTables() {
		columns, err := from.columns(ctx, table)
		if err != nil {
			return err
		}
		if len(columns) == 0 {
			continue
		}
		rows, err := from.count(ctx, table)
		if err != nil {
			return err
		}
		status.Tables = append(status.Tables, TableStatus{table, rows})
	}
	return nil
}

// statusOfDisk sums up the files of SQLite, and the tables with their indexes
// of Postgres.
func (s *Store) statusOfDisk(ctx context.Context, status *Status) error {
	if s.Dialect() == dialect.Postgres {
		names := make([]string, len(status.Tables))
		for i, table := range status.Tables {
			names[i] = table.Name
		}
		names = append(names, derivedTables...)
		return s.back.reader().QueryRowContext(ctx, `SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = current_schema() AND c.relname = ANY(string_to_array($1, ','))`,
			strings.Join(names, ",")).Scan(&status.Bytes)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(filepath.Join(s.config.Dir, "harness.db"+suffix))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		status.Bytes += info.Size()
	}
	return nil
}

// holder names who has the lock, without taking it.
func (s *Store) holder(ctx context.Context) (string, error) {
	if s.config.Dir != "" {
		holder, err := dirHolder(s.config.Dir)
		if err != nil || holder != "" {
			return holder, err
		}
	}
	if s.Dialect() != dialect.Postgres {
		return "", nil
	}
	conn, err := s.back.reader().Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close() // it only goes back to the pool
	return databaseHolder(ctx, conn)
}

// databaseHolder names who has the lock on Postgres.
func databaseHolder(ctx context.Context, conn *sql.Conn) (string, error) {
	var held bool
	err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1"+fromHolder()+")").Scan(&held)
	if err != nil || !held {
		return "", err
	}
	return advisoryHolder(ctx, conn, ""), nil
}

// dirHolder names who has the lock on a data directory; what the file says
// does not count when nobody has.
func dirHolder(dir string) (string, error) {
	file, err := os.Open(filepath.Join(dir, "harness.lock"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// Closing gives the shared lock back, and at once: a daemon that starts
	// meanwhile would find it taken.
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, 200))
	return holderName(content), err
}
