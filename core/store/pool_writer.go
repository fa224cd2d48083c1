package store

import (
	"context"
	"database/sql/driver"
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
// server's answer, unless a test says otherwise: a connection that hangs must not hang
// its caller for ever.
const transactionMax = time.Minute

// poolWriter runs each write in a transaction of its own, on Postgres.
type poolWriter struct {
	log   *slog.Logger
	back  *postgresBackend
	limit time.Duration // of a transaction
}

func (w *poolWriter) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	from := w.back.lazy
	if how == durable {
		from = w.back.strict
	}
	for attempt := 1; ; attempt++ {
		conn, err := from.get(ctx)
		if err != nil {
			return err // there is no server: trying at once again is no use
		}
		keep, cut, err := w.once(ctx, conn, f)
		if keep {
			from.put(conn)
		} else {
			from.drop(conn)
		}
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

// once runs one transaction. Giving up does not count any more. Keep says that the
// session can be used again; cut that the connection broke before the COMMIT: however
// far it had come, nothing of it is there.
func (w *poolWriter) once(ctx context.Context, conn *session, f func(context.Context, *tx) error) (keep, cut bool, err error) {
	done := conn.link.bounded(w.limit)
	ended, err := transact(context.WithoutCancel(ctx), w.log, conn, f)
	late := done()
	if late && err != nil {
		return false, false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database did not answer within %s: %w", w.limit, err)
	}
	var uncertain *uncertainError
	return ended && !late, severed(err) && !errors.As(err, &uncertain), err
}

// transact runs one transaction. Ended says that none is open any more on a connection
// that still stands.
func transact(ctx context.Context, log *slog.Logger, conn *session, f func(context.Context, *tx) error) (ended bool, err error) {
	if err := conn.begin(ctx); err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	if err := protect(ctx, newTx(dialect.Postgres, conn), f); err != nil {
		undo := conn.end(driver.Tx.Rollback)
		if undo != nil && !severed(err) {
			log.Warn("transaction could not be rolled back", "err", undo, "cause", err)
		}
		return undo == nil, err
	}
	if err := conn.end(driver.Tx.Commit); err != nil {
		var server *pq.Error
		if errors.As(err, &server) && !unreachable(err) || lostRace(err) {
			return false, fmt.Errorf("commit: %w", err) // the server refused it
		}
		return false, &uncertainError{err}
	}
	return true, nil
}

// lostRace reports whether the server ended the transaction only because of
// another one (serialization failure, deadlock).
func lostRace(err error) bool {
	var server *pq.Error
	return errors.As(err, &server) && (server.Code == "40001" || server.Code == "40P01")
}

// close has nothing to wait for: callers run their writes themselves.
func (w *poolWriter) close() error { return nil }
