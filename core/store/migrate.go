package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
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

// label is how people know a migration.
func (m migration) label() string { return fmt.Sprintf("%04d_%s", m.version, m.name) }

// prepareSchema does what a policy asks of the schema that was found.
func prepareSchema(ctx context.Context, back backend, policy SchemaPolicy) error {
	switch policy {
	case SchemaMigrate:
		_, err := migrate(ctx, back)
		return err
	case SchemaCurrent:
		version, newest, err := versions(ctx, back)
		if err != nil {
			return err
		}
		return wantVersion(version, newest)
	case SchemaAny:
		_, _, err := versions(ctx, back)
		return err
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "open database: there is no schema policy %d", policy)
}

// versions returns the version of the schema, and of the newest that this
// binary knows. A database without a schema is CodeNotFound.
func versions(ctx context.Context, back backend) (version, newest int, err error) {
	if newest, err = newestVersion(back.dialect()); err != nil {
		return 0, 0, err
	}
	version, err = catalog{back.reader(), back.dialect()}.version(ctx)
	if err != nil {
		return 0, 0, wrap("read the version of the schema", err)
	}
	if version == 0 {
		return 0, 0, noDatabase(back.describe())
	}
	return version, newest, nil
}

// newestVersion returns the version of the schema that this binary knows.
func newestVersion(dialect string) (int, error) {
	all, err := migrations(dialect)
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return all[len(all)-1].version, nil
}

func wantVersion(version, newest int) error {
	switch {
	case version > newest:
		return newerSchema(version, newest)
	case version < newest:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"the schema of the database is at version %d and this program needs version %d: make a backup, stop the daemon, "+
				"then run `harness db migrate` (or start the daemon of this version, which does it)", version, newest)
	}
	return nil
}

func newerSchema(version, newest int) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"the database is newer than this program: its schema is at version %d, this program knows versions up to %d; "+
			"install the newer program again, or restore a backup from before it", version, newest)
}

// migrate brings the schema up to date, one transaction a migration, and
// returns what it applied. One that is up to date is only read. On SQLite it waits while
// another process does the same, for as long as that one gets on.
func migrate(ctx context.Context, back backend) (applied []migration, err error) {
	all, err := migrations(back.dialect())
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	for {
		was, err := catalog{back.reader(), back.dialect()}.version(ctx)
		if err != nil {
			return applied, wrap("read the version of the schema", err)
		}
		if was == all[len(all)-1].version {
			return applied, nil
		}
		var next *migration
		err = back.migrating(ctx, func(conn *sql.Conn) (err error) {
			next, err = migrateOnce(ctx, conn, all)
			return err
		})
		if busy(err) {
			if is, _ := (catalog{back.reader(), back.dialect()}).version(ctx); is > was {
				continue
			}
		}
		if err != nil {
			return applied, wrap("migrate database", err)
		}
		if next == nil {
			return applied, nil
		}
		applied = append(applied, *next)
	}
}

// migrateOnce applies the next migration and returns it, or nil when there is
// none.
func migrateOnce(ctx context.Context, conn *sql.Conn, all []migration) (*migration, error) {
	current, err := schemaVersion(ctx, conn)
	if err != nil {
		return nil, err
	}
	if newest := all[len(all)-1].version; current > newest {
		return nil, newerSchema(current, newest)
	}
	for _, next := range all {
		if next.version > current {
			return &next, next.apply(ctx, conn)
		}
	}
	return nil, nil //nolint:nilnil // no migration and no error
}

// apply runs a migration, in the transaction that is open.
func (m migration) apply(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, m.sql); err != nil {
		return fmt.Errorf("migration %s: %w", m.label(), err)
	}
	_, err := conn.ExecContext(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)",
		m.version, m.name, time.Now().UTC().Format(time.RFC3339))
	return err
}

// schemaVersion returns the version of the newest migration that was applied,
// and makes the table that says so.
func schemaVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if _, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_migrations (
		version integer NOT NULL PRIMARY KEY, name text NOT NULL, applied_at text NOT NULL)`); err != nil {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_migrations").Scan(&version)
	return version, err
}

// Migrated is what Migrate did.
type Migrated struct {
	From, To int
	Applied  []string // NNNN_name, oldest first
}

// Migrate brings the schema of a database that exists up to date. It holds the
// lock meanwhile, and is refused (CodeConflict, naming the holder) while a
// daemon has it.
func Migrate(ctx context.Context, config Config, owner string) (done Migrated, err error) {
	config.Schema = SchemaAny
	back, err := openBackend(ctx, config)
	if err != nil {
		return Migrated{}, err
	}
	defer func() { err = errors.Join(err, back.close()) }()
	if done.From, _, err = versions(ctx, back); err != nil {
		return Migrated{}, err
	}
	lease, err := (&Store{config: config, back: back}).Lock(ctx, owner)
	if err != nil {
		return Migrated{}, err
	}
	defer lease.Release()
	applied, err := migrate(ctx, back)
	done.To = done.From
	for _, one := range applied {
		done.To, done.Applied = one.version, append(done.Applied, one.label())
	}
	return done, err
}

// SchemaVersion is the version of the schema that this binary needs, which is the same
// on both databases.
func SchemaVersion() int {
	version, err := newestVersion(dialect.SQLite)
	if err != nil {
		panic(err) // they are in the binary: it was built wrong
	}
	return version
}

// SchemaSum tells schemas apart by what the migrations of a database (a dialect) say.
func SchemaSum(of string) (string, error) {
	all, err := migrations(of)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, one := range all {
		fmt.Fprintf(sum, "%s\n%s\n", one.label(), one.sql)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
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
