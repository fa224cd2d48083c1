package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"

	entmigrate "github.com/seed-706843ae/harness/ent/migrate"
)

// querier is what a pool, a connection and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// catalog asks a database what tables it has, whatever its schema's version.
type catalog struct {
	from    querier
	dialect string
}

// kind is what a column holds, on both databases.
type kind string

const (
	kindText  kind = "text"
	kindInt   kind = "int"
	kindFloat kind = "float"
	kindBool  kind = "bool"
	kindTime  kind = "time"
	kindJSON  kind = "json"
	kindBytes kind = "bytes"
)

// kinds are the types that columns are declared with.
var kinds = map[string]kind{
	"text": kindText, "character varying": kindText,
	"integer": kindInt, "bigint": kindInt,
	"real": kindFloat, "double precision": kindFloat,
	"bool": kindBool, "boolean": kindBool,
	"datetime": kindTime, "timestamp with time zone": kindTime,
	"json": kindJSON,
	"blob": kindBytes, "bytea": kindBytes,
}

// savedColumn is a column as the database declares it.
type savedColumn struct {
	Name string `json:"name"`
	Kind kind   `json:"kind"`
}

// knownTables are the names of the tables of this binary's schema; their rows
// are in the order of the first column.
func knownTables() []string {
	names := make([]string, 0, len(entmigrate.Tables))
	for _, table := range entmigrate.Tables {
		names = append(names, table.Name)
	}
	return names
}

// version returns the version of the schema, 0 when there is none.
func (c catalog) version(ctx context.Context) (version int, err error) {
	found, err := c.columns(ctx, "schema_migrations")
	if err != nil || len(found) == 0 {
		return 0, err
	}
	err = c.from.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_migrations").Scan(&version)
	return version, err
}

// columns returns those of a table in their order, none when there is no such
// table.
func (c catalog) columns(ctx context.Context, table string) (found []savedColumn, err error) {
	query := "SELECT name, type FROM pragma_table_info($1) ORDER BY cid"
	if c.dialect == dialect.Postgres {
		query = `SELECT column_name, data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`
	}
	rows, err := c.from.QueryContext(ctx, query, table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, declared string
		if err := rows.Scan(&name, &declared); err != nil {
			return nil, err
		}
		kind, ok := kinds[strings.ToLower(declared)]
		if !ok {
			return nil, fmt.Errorf("column %s.%s has the type %q, which is not one of Harness", table, name, declared)
		}
		found = append(found, savedColumn{name, kind})
	}
	return found, rows.Err()
}

// count returns how many rows a table has.
func (c catalog) count(ctx context.Context, table string) (n int64, err error) {
	err = c.from.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+quoted(table)).Scan(&n)
	return n, err
}

// sequence returns the highest id that a table with ids of the database's own
// has given out, nil for other tables.
func (c catalog) sequence(ctx context.Context, table string) (*int64, error) {
	var last sql.NullInt64
	var has bool
	if c.dialect == dialect.Postgres {
		name, err := c.sequenceName(ctx, table)
		if err != nil || name == "" {
			return nil, err
		}
		err = c.from.QueryRowContext(ctx, "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM "+name).Scan(&last)
		return &last.Int64, err
	}
	err := c.from.QueryRowContext(ctx,
		"SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE type = 'table' AND name = $1", table).Scan(&has)
	if err != nil || !has {
		return nil, err
	}
	err = c.from.QueryRowContext(ctx, "SELECT MAX(seq) FROM sqlite_sequence WHERE name = $1", table).Scan(&last)
	return &last.Int64, err
}

// sequenceName returns, quoted, the sequence behind a table's identity column,
// empty when it has none.
func (c catalog) sequenceName(ctx context.Context, table string) (string, error) {
	var name sql.NullString
	err := c.from.QueryRowContext(ctx, `SELECT pg_get_serial_sequence(quote_ident(table_name), column_name)
		FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'`, table).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return name.String, err
}

// quoted is a name as SQL takes it, on both databases.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quotedList(columns []savedColumn) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = quoted(column.Name)
	}
	return strings.Join(names, ", ")
}
