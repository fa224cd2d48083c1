package store

import (
	"context"
	"database/sql"
	"sync"
)

// reads is a pool that prepares each query once (on each of its connections):
// parsing costs SQLite more than most of the reads themselves.
type reads struct {
	pool *sql.DB

	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

func newReads(pool *sql.DB) *reads {
	return &reads{pool: pool, prepared: make(map[string]*sql.Stmt)}
}

// QueryContext runs a query. What it reads is little, and is read to its end
// although the caller gives up: watching for that costs more.
func (r *reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.watched(context.WithoutCancel(ctx), query, args...)
}

// watched runs a query that ends with its context.
func (r *reads) watched(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := r.statement(ctx, query); statement != nil { //nolint:sqlclosecheck // it is kept until close
		return statement.QueryContext(ctx, args...)
	}
	return r.pool.QueryContext(ctx, query, args...)
}

// ExecContext is there for ent's interface.
func (r *reads) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return r.pool.ExecContext(ctx, query, args...)
}

// statement returns the prepared query, or nil when it is to be run directly. Nobody
// waits for a statement of somebody else's.
func (r *reads) statement(ctx context.Context, query string) *sql.Stmt {
	r.mu.Lock()
	kept, full := r.prepared[query], len(r.prepared) >= statementsMax
	r.mu.Unlock()
	if kept != nil || full {
		return kept
	}
	made, err := r.pool.PrepareContext(ctx, query)
	if err != nil {
		return nil // run directly, it fails with the better error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept = r.prepared[query]; kept != nil {
		made.Close() //nolint:sqlclosecheck // another one was faster, and its is kept until close
		return kept
	}
	r.prepared[query] = made
	return made
}

func (r *reads) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, statement := range r.prepared {
		statement.Close() // the pool is closed next
	}
}
