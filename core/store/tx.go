package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/pluginsdk"
)

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
