package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// connections is how many each of the three pools may hold.
const connections = 10

// postgresBackend is a database on a server, through three pools: one for reads, and
// two for writes, one whose COMMIT waits for the disk, and one whose does not.
type postgresBackend struct {
	where  string
	dsn    string
	pool   *sql.DB
	strict *sessions // durable writes
	lazy   *sessions // relaxed writes
}

func openPostgres(ctx context.Context, address string) (*postgresBackend, error) {
	parsed, err := url.Parse(address)
	if err != nil { // err holds the address and so the password
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "DATABASE_URL is not a URL; write postgres://user:password@host:5432/database")
	}
	back := &postgresBackend{where: describePostgres(parsed)}
	// One message there and back for a query with parameters, instead of two.
	// A server that does not even refuse must not be waited for as long as TCP does.
	back.dsn = withParameter(parsed, "binary_parameters", "yes", "connect_timeout", "10")
	if back.pool, err = openPool(back.dsn); err != nil {
		return nil, err
	}
	relaxed := withParameter(parsed, "binary_parameters", "yes", "connect_timeout", "10", "synchronous_commit", "off")
	if back.strict, err = openSessions(back.dsn); err == nil {
		back.lazy, err = openSessions(relaxed)
	}
	if err != nil {
		return nil, errors.Join(err, back.pool.Close())
	}
	if err := back.pool.PingContext(ctx); err != nil {
		return nil, wrap("open database "+back.where, errors.Join(err, back.close()))
	}
	return back, nil
}

func openPool(dsn string) (*sql.DB, error) {
	from, err := newConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(from)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

// renew closes the connections that lie idle. After an outage they are dead, or
// hang, and the pools do not know. Those in use fail by themselves. It waits for no
// server.
func (b *postgresBackend) renew() {
	b.pool.SetMaxIdleConns(0)
	b.pool.SetMaxIdleConns(connections)
	b.strict.renew()
	b.lazy.renew()
}

// steady is the pool as queries go to it: one whose connection turns out to be
// dead is made again on a new one.
type steady struct {
	*postgresBackend

	reads *reads
}

// QueryContext runs a query that changes nothing.
func (s steady) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.reads.watched(ctx, query, args...)
	if severed(err) && ctx.Err() == nil {
		s.renew()
		return s.pool.QueryContext(ctx, query, args...)
	}
	return rows, err
}

// ExecContext is there for ent's interface.
func (s steady) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.pool.ExecContext(ctx, query, args...)
}

// withParameter sets connection parameters that the address does not set.
func withParameter(address *url.URL, pairs ...string) string {
	query := address.Query()
	for i := 0; i < len(pairs); i += 2 {
		if !query.Has(pairs[i]) {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	with := *address
	with.RawQuery = query.Encode()
	return with.String()
}

func describePostgres(address *url.URL) string {
	name := "Postgres at " + address.Host + address.Path
	if user := address.User.Username(); user != "" {
		name += " as " + user
	}
	return name
}

func (b *postgresBackend) dialect() string { return dialect.Postgres }

func (b *postgresBackend) describe() string { return b.where }

func (b *postgresBackend) reader() *sql.DB { return b.pool }

func (b *postgresBackend) querier() entsql.ExecQuerier { return steady{b, newReads(b.pool)} }

// migrating holds an advisory lock of the transaction, so that two programs
// that start at once do not both migrate.
func (b *postgresBackend) migrating(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := b.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // it only goes back to the pool
	return inTransaction(ctx, conn, "BEGIN", func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+lockKey("migrate")+")"); err != nil {
			return err
		}
		return f(conn)
	})
}

// lockKey is the advisory lock of a purpose, of this schema of this database.
func lockKey(purpose string) string {
	return fmt.Sprintf("hashtextextended('harness %s ' || current_schema(), 0)", purpose)
}

func (b *postgresBackend) startWriter(_ context.Context, log *slog.Logger) (writer, error) {
	return &poolWriter{log: log, back: b, limit: transactionMax}, nil
}

// version is not known: Postgres would have to be asked in a way that costs as much as most queries.
func (b *postgresBackend) version(context.Context) (int64, bool) { return 0, false }

// integrity has nothing to ask: Postgres checks its pages as it reads them.
func (b *postgresBackend) integrity(context.Context) ([]string, error) { return nil, nil }

// close ends the connections. One that is dead already, or hangs, ends all the same.
func (b *postgresBackend) close() error {
	var errs []error
	for _, shut := range []func() error{b.strict.close, b.lazy.close, b.pool.Close} {
		if err := shut(); err != nil && !unreachable(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
