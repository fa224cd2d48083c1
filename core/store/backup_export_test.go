package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"

	entmigrate "github.com/seed-706843ae/harness/ent/migrate"
)

// Column is a column of a table, with what a test must know to fill it.
type Column struct {
	Name, Kind string
	Nullable   bool
}

// Tables returns the tables of this binary's schema with their columns as this
// database has them.
func (s *Store) Tables(ctx context.Context) (map[string][]Column, error) {
	tables := make(map[string][]Column)
	for _, table := range entmigrate.Tables {
		columns, err := catalog{s.back.reader(), s.Dialect()}.columns(ctx, table.Name)
		if err != nil {
			return nil, err
		}
		for _, column := range columns {
			known := Column{Name: column.Name, Kind: string(column.Kind)}
			for _, field := range table.Columns {
				if field.Name == column.Name {
					known.Nullable = field.Nullable
				}
			}
			tables[table.Name] = append(tables[table.Name], known)
		}
	}
	return tables, nil
}

// Dump returns the rows of a table as a backup has them.
func (s *Store) Dump(ctx context.Context, table string) ([]string, error) {
	from := catalog{s.back.reader(), s.Dialect()}
	columns, err := from.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = from.dump(ctx, table, columns, &out)
	return strings.Split(strings.TrimSpace(out.String()), "\n"), err
}

// BackupInto writes a backup into an open file.
func (s *Store) BackupInto(ctx context.Context, b Backup, file, spool *os.File) error {
	_, err := s.backupInto(ctx, b, file, spool)
	return err
}

// ReplaceFile is what a backup makes its file with.
func ReplaceFile(path string, force bool, write func(file, spool *os.File) error) error {
	return replaceFile(path, force, write)
}

// MigrateTo makes a database whose schema is at a version.
func MigrateTo(ctx context.Context, config Config, version int) (err error) {
	back, err := openBackend(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, back.close()) }()
	all, err := migrations(back.dialect())
	if err != nil {
		return err
	}
	return back.migrating(ctx, func(conn *sql.Conn) error {
		if _, err := schemaVersion(ctx, conn); err != nil {
			return err
		}
		return loader{conn: conn, dialect: back.dialect(), all: all}.migrate(ctx, 0, version)
	})
}

// Newest is the version of the schema that this binary knows.
func Newest(config Config) (int, error) { return newestVersion(config.dialect()) }
