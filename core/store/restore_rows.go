package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// restoreRows is how many rows one statement stores, and restoreBytes how
	// many bytes of the archive they are at most (one row may be more).
	restoreRows  = 100
	restoreBytes = 4 << 20
)

// loader fills a database from an archive, in the transaction that is open.
type loader struct {
	conn     *sql.Conn
	dialect  string
	manifest Manifest
	all      []migration
}

func (l loader) catalog() catalog { return catalog{l.conn, l.dialect} }

// bystanders are tables that the first start of a daemon fills, or that hold only what others
// refer to. Their rows do not make an installation one that is in use.
var bystanders = []string{"plugins", "plugin_states", "plugin_usages", "plugin_bytes", "audit_entries", "metrics", "tokens", "workspace_texts"}

// firstRows selects, in tables of which a first start fills a part, what it has stored there: the
// primary thread, and that the starter files were found. Who has changed one of these since has
// more than one change of it.
var firstRows = map[string]string{
	"threads":           "source = '" + primarySource + "' AND source_id = '" + primaryID + "'",
	"workspace_changes": "kind = '" + string(pluginsdk.ChangeOutside) + "' AND before = ''",
}

// checkEmpty refuses a database that anybody has used.
func (l loader) checkEmpty(ctx context.Context) error {
	version, err := l.catalog().version(ctx)
	if err != nil {
		return err
	}
	if newest := l.all[len(l.all)-1].version; version > newest {
		return newerSchema(version, newest)
	}
	for _, table := range knownTables() {
		columns, err := l.catalog().columns(ctx, table)
		if err != nil || len(columns) > 0 && version == 0 {
			return errors.Join(err, pluginsdk.Errorf(pluginsdk.CodeConflict,
				"the database has a table %s that is not Harness's; make a database of its own for Harness (createdb)", table))
		}
		if len(columns) == 0 || slices.Contains(bystanders, table) {
			continue
		}
		query := "SELECT COUNT(*) FROM " + quoted(table)
		if first := firstRows[table]; first != "" {
			query += " WHERE NOT (" + first + ")"
		}
		var n int64
		if err := l.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return l.inUse(n, table)
		}
	}
	return nil
}

func (l loader) inUse(n int64, table string) error {
	how := "move the data directory away first"
	if l.dialect == dialect.Postgres {
		how = "make another database (createdb) and name it in DATABASE_URL"
	}
	return pluginsdk.Errorf(pluginsdk.CodeConflict,
		"the database is not empty, it has %d %s: a backup is restored into a new installation only; %s", n, table, how)
}

// makeSchema makes the tables anew, as they were when the backup was made. What is made of
// others begins empty.
func (l loader) makeSchema(ctx context.Context) error {
	for _, table := range slices.Concat(knownTables(), derivedTables, []string{"schema_migrations"}) {
		if _, err := l.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+quoted(table)); err != nil {
			return fmt.Errorf("drop table %s: %w", table, err)
		}
	}
	if _, err := schemaVersion(ctx, l.conn); err != nil {
		return err
	}
	return l.migrate(ctx, 0, l.manifest.Schema)
}

// migrate applies the migrations after one version, up to another.
func (l loader) migrate(ctx context.Context, after, upTo int) error {
	for _, one := range l.all {
		if one.version > after && one.version <= upTo {
			if err := one.apply(ctx, l.conn); err != nil {
				return err
			}
		}
	}
	return nil
}

// load stores the rows of one table.
func (l loader) load(ctx context.Context, table SavedTable, content io.Reader) error {
	if err := l.checkColumns(ctx, table); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(content, 1<<16)
	var args []any
	rows, size := int64(0), 0
	store := func() error {
		err := l.insert(ctx, table, args)
		args, size = args[:0], 0
		if err != nil {
			return fmt.Errorf("up to row %d: %w", rows, err)
		}
		return nil
	}
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return err
		}
		rows++
		values, err := parseRow(line, table.Columns)
		if err != nil {
			return fmt.Errorf("row %d: %w", rows, err)
		}
		args, size = append(args, values...), size+len(line)
		if len(args) >= restoreRows*len(table.Columns) || size >= restoreBytes {
			if err := store(); err != nil {
				return err
			}
		}
	}
	if rows != table.Rows {
		return fmt.Errorf("%d rows instead of %d: the file was changed meanwhile", rows, table.Rows)
	}
	return store()
}

// checkColumns compares a table with what the archive has for it.
func (l loader) checkColumns(ctx context.Context, table SavedTable) error {
	there, err := l.catalog().columns(ctx, table.Name)
	if err != nil {
		return err
	}
	for _, column := range table.Columns {
		if !slices.Contains(there, column) {
			return fmt.Errorf("the backup has a column %s (%s), which version %d of the schema has not; it was added by hand",
				column.Name, column.Kind, l.manifest.Schema)
		}
	}
	return nil
}

func (l loader) insert(ctx context.Context, table SavedTable, args []any) error {
	if len(args) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", quoted(table.Name), quotedList(table.Columns))
	for i := range args {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%len(table.Columns) == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(")")
	_, err := l.conn.ExecContext(ctx, b.String(), args...)
	return err
}

// resume makes a table give out ids that neither the saved rows nor rows that
// were deleted before have had.
func (l loader) resume(ctx context.Context, table SavedTable) error {
	if table.Sequence == nil {
		return nil
	}
	id := quoted(table.Columns[0].Name)
	var highest int64
	if err := l.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COALESCE(MAX(%s), 0) FROM %s", id, quoted(table.Name))).Scan(&highest); err != nil {
		return err
	}
	highest = max(highest, *table.Sequence)
	if l.dialect == dialect.Postgres {
		name, err := l.catalog().sequenceName(ctx, table.Name)
		if err != nil || name == "" {
			return err
		}
		_, err = l.conn.ExecContext(ctx, "SELECT setval($1::regclass, $2, $3)", name, max(highest, 1), highest > 0)
		return err
	}
	if _, err := l.conn.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = $1", table.Name); err != nil {
		return err
	}
	_, err := l.conn.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)", table.Name, highest)
	return err
}

// sign leaves the row in the audit log by which it is known that the restore of
// this id was committed.
func (l loader) sign(ctx context.Context, id string, now time.Time) error {
	_, err := l.conn.ExecContext(ctx,
		"INSERT INTO audit_entries (id, who, action, target, detail, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
		id, "operator", restoredAction, "database", "backup of "+l.manifest.CreatedAt.UTC().Format(time.RFC3339), now)
	return err
}
