package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// lockCheck is how often the connection that holds the lock is tried.
	lockCheck = 2 * time.Second
	// lockPatience is how long it may take to answer: a server that stalls
	// has not given the lock to anybody else.
	lockPatience = 15 * time.Second
)

// lock holds an advisory lock on a connection of its own: the server drops it
// with the connection, so the two are lost together.
func (b *postgresBackend) lock(ctx context.Context, owner string) (<-chan struct{}, func(), error) {
	pool, err := openPool(b.dsn)
	if err != nil {
		return nil, nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	if err := takeAdvisory(ctx, conn, owner); err != nil {
		return nil, nil, errors.Join(err, conn.Close(), pool.Close())
	}
	lost, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		watchConn(conn, stop, lost)
	}()
	var once sync.Once
	release := func() {
		once.Do(func() {
			close(stop)
			<-stopped
			conn.Close() // the pool is closed next
			pool.Close() // ends the connection, and the lock with it
		})
	}
	return lost, release, nil
}

func takeAdvisory(ctx context.Context, conn *sql.Conn, owner string) error {
	if _, err := conn.ExecContext(ctx, "SELECT set_config('application_name', $1, false)", "harness "+owner); err != nil {
		return err
	}
	var taken bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock("+lockKey("daemon")+")").Scan(&taken); err != nil {
		return err
	}
	if !taken {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the database is in use by %s; stop that daemon first", advisoryHolder(ctx, conn))
	}
	return nil
}

// advisoryHolder names who has the lock, for the error's text.
func advisoryHolder(ctx context.Context, conn *sql.Conn) string {
	var holder string
	err := conn.QueryRowContext(ctx, `SELECT format('%s (from %s, server process %s)', a.application_name,
			COALESCE(host(a.client_addr), 'this machine'), a.pid)
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND ((l.classid::bigint << 32) | l.objid::bigint) = `+lockKey("daemon")).Scan(&holder)
	if err != nil {
		return "another daemon"
	}
	return holder
}

// watchConn closes lost when the connection no longer answers.
func watchConn(conn *sql.Conn, stop <-chan struct{}, lost chan<- struct{}) {
	ticker := time.NewTicker(lockCheck)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
		_, err := conn.ExecContext(ctx, "SELECT 1")
		cancel()
		if err != nil {
			close(lost)
			<-stop
			return
		}
	}
}
