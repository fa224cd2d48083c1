package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one file of migrations/DATABASE: NNNN_name.sql.
type migration struct {
	version int
	name    string
	sql     string
}

// migrate brings the schema up to date, one transaction a migration.
func migrate(ctx context.Context, back backend) error {
	all, err := migrations(back.dialect())
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	for done := false; !done; {
		err := back.migrating(ctx, func(conn *sql.Conn) (err error) {
			done, err = migrateOnce(ctx, conn, all)
			return err
		})
		if err != nil {
			return wrap("migrate database", err)
		}
	}
	return nil
}

// migrateOnce applies the next migration; done says that there is none.
func migrateOnce(ctx context.Context, conn *sql.Conn, all []migration) (done bool, err error) {
	current, err := schemaVersion(ctx, conn)
	if err != nil {
		return false, err
	}
	newest := all[len(all)-1].version
	if current > newest {
		return false, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"the database is newer than this program: its schema is at version %d, this program knows versions up to %d; "+
				"install the newer program again, or restore a backup from before it", current, newest)
	}
	for _, next := range all {
		if next.version <= current {
			continue
		}
		if _, err := conn.ExecContext(ctx, next.sql); err != nil {
			return false, fmt.Errorf("migration %04d_%s: %w", next.version, next.name, err)
		}
		_, err := conn.ExecContext(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)",
			next.version, next.name, time.Now().UTC().Format(time.RFC3339))
		return next.version == newest, err
	}
	return true, nil
}

// schemaVersion returns the version of the newest migration that was applied.
func schemaVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if _, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_migrations (
		version integer NOT NULL PRIMARY KEY, name text NOT NULL, applied_at text NOT NULL)`); err != nil {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_migrations").Scan(&version)
	return version, err
}

// migrations returns those of a database, oldest first.
func migrations(of string) ([]migration, error) {
	dir := "migrations/postgres"
	if of == dialect.SQLite {
		dir = "migrations/sqlite"
	}
	entries, err := fs.ReadDir(migrationFiles, dir)
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, entry := range entries {
		number, name, ok := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s is not named NNNN_name.sql", entry.Name())
		}
		text, err := fs.ReadFile(migrationFiles, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version: version, name: name, sql: string(text)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].version < all[j].version })
	return all, nil
}
