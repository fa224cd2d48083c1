package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// statementsMax bounds how many prepared statements the writer keeps. What it
// runs all the time is far less; lists of varying length make the rest.
const statementsMax = 300

// statements is a connection that prepares each statement once: parsing costs
// SQLite more than most of the writes themselves.
type statements struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	// strict says that what cannot be prepared fails with that error: on Postgres it has
	// ended the transaction. SQLite has a better error for what is run directly.
	strict bool
}

func newStatements(conn *sql.Conn) *statements {
	return &statements{conn: conn, prepared: make(map[string]*sql.Stmt)}
}

// ExecContext runs a statement.
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := s.statement(ctx, query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return nil, err
	}
	if statement != nil {
		return statement.ExecContext(ctx, args...)
	}
	return s.conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a query. Its rows must be closed before it is run again.
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := s.statement(ctx, query) //nolint:sqlclosecheck // kept until close
	if err != nil {
		return nil, err
	}
	if statement != nil {
		return statement.QueryContext(ctx, args...)
	}
	return s.conn.QueryContext(ctx, query, args...)
}

// direct runs a statement once, without keeping it.
func (s *statements) direct(ctx context.Context, query string) (sql.Result, error) {
	return s.conn.ExecContext(ctx, query)
}

// statement returns the prepared query, or nil when it is to be run directly.
func (s *statements) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, ok := s.prepared[query]; ok {
		return statement, nil
	}
	if len(s.prepared) >= statementsMax {
		return nil, nil
	}
	statement, err := s.conn.PrepareContext(ctx, query)
	switch {
	case err != nil && s.strict:
		return nil, err
	case err != nil:
		return nil, nil
	}
	s.prepared[query] = statement
	return statement, nil
}

// close gives the connection back to its pool, which is closed next.
func (s *statements) close() {
	s.forget()
	s.conn.Close()
}

// discard ends the connection: its pool makes another one.
func (s *statements) discard() {
	s.forget()
	discard(s.conn)
}

func (s *statements) forget() {
	for _, statement := range s.prepared {
		statement.Close() // the connection is closed next
	}
}

// discard ends a connection instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn }) //nolint:errcheck // it is what was just said
}
