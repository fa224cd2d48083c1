package store

import (
	"context"
	"database/sql"
	"log/slog"

	entsql "entgo.io/ent/dialect/sql"
)

// backend is what differs between the two databases.
type backend interface {
	dialect() string
	describe() string
	// reader is the pool that reads go to.
	reader() *sql.DB
	// querier is how queries go to reader, unless they need a connection of
	// their own.
	querier() entsql.ExecQuerier
	// migrating runs f while no other process can migrate, in a transaction.
	migrating(ctx context.Context, f func(*sql.Conn) error) error
	startWriter(ctx context.Context, log *slog.Logger) (writer, error)
	// version is another one once anybody, also another process, has committed something; known is
	// false where the database does not tell, or cannot at the moment.
	version(ctx context.Context) (version int64, known bool)
	lock(ctx context.Context, owner string) (grip, error)
	// integrity asks the database itself what is wrong with it.
	integrity(ctx context.Context) ([]string, error)
	close() error
}

// durability says what a write waits for.
type durability bool

const (
	// durable writes are on disk when they are answered.
	durable durability = true
	// relaxed writes may be lost to a power failure, not to a crash.
	relaxed durability = false
)

// writer runs closures, each all or nothing. A closure may be run more than
// once, so what it sets outside must not depend on that.
type writer interface {
	do(ctx context.Context, how durability, f func(context.Context, *tx) error) error
	// close finishes what was handed in.
	close() error
}
