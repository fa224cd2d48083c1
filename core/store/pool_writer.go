package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// attempts bounds how often a transaction is made that lost a race, or its
// connection.
const attempts = 6

// transactionMax is how long a transaction may take, from its beginning to the
// server's answer: a connection that hangs must not hang its caller for ever.
const transactionMax = time.Minute

// poolWriter runs each write in a transaction of its own, on Postgres.
type poolWriter struct {
	log  *slog.Logger
	back *postgresBackend
}

func (w *poolWriter) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	pool := w.back.lazy
	if how == durable {
		pool = w.back.pool
	}
	for attempt := 1; ; attempt++ {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err // there is no server: trying at once again is no use
		}
		cut, err := w.once(ctx, conn, f)
		if !cut && !lostRace(err) || attempt == attempts {
			return err
		}
		w.log.Debug("transaction is repeated", "attempt", attempt, "err", err)
		if cut {
			w.back.renew()
			continue
		}
		pause := time.Duration(rand.IntN(5<<attempt)) * time.Millisecond // jitter, not a secret
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once runs one transaction. Giving up does not count any more. Cut says that
// the connection broke before the COMMIT: however far it had come, nothing of it
// is there.
func (w *poolWriter) once(ctx context.Context, conn *sql.Conn, f func(context.Context, *tx) error) (cut bool, err error) {
	defer conn.Close() // it only goes back to the pool
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transactionMax)
	defer cancel()
	err = transact(ctx, w.log, conn, f)
	if err != nil && ctx.Err() != nil {
		return false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database did not answer within %s: %w", transactionMax, err)
	}
	var uncertain *uncertainError
	return severed(err) && !errors.As(err, &uncertain), err
}

func transact(ctx context.Context, log *slog.Logger, conn *sql.Conn, f func(context.Context, *tx) error) error {
	open, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := protect(ctx, newTx(dialect.Postgres, open), f); err != nil {
		if undo := open.Rollback(); undo != nil && !severed(err) {
			log.Warn("transaction could not be rolled back", "err", undo, "cause", err)
		}
		return err
	}
	if err := open.Commit(); err != nil {
		var server *pq.Error
		if errors.As(err, &server) && !unreachable(err) || lostRace(err) {
			return fmt.Errorf("commit: %w", err) // the server refused it
		}
		return &uncertainError{err}
	}
	return nil
}

// lostRace reports whether the server ended the transaction only because of
// another one (serialization failure, deadlock).
func lostRace(err error) bool {
	var server *pq.Error
	return errors.As(err, &server) && (server.Code == "40001" || server.Code == "40P01")
}

// close has nothing to wait for: callers run their writes themselves.
func (w *poolWriter) close() error { return nil }
