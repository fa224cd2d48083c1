package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// lockCheck is how often the connection that holds the lock is tried.
	lockCheck = time.Second
	// lockPatience is how long it may take to answer: a server that stalls
	// has not given the lock to anybody else.
	lockPatience = 15 * time.Second
)

// advisory is a lock on a connection of its own: the server drops it with the
// connection, so the two are lost together.
type advisory struct {
	back *postgresBackend
	pool *sql.DB
	name string // what the connection is called in the server's list

	mu       sync.Mutex
	conn     *sql.Conn     // nil once the lock is lost
	gone     chan struct{} // closed when it is
	stop     chan struct{} // ends the watch
	watching sync.WaitGroup
	released bool
}

func (b *postgresBackend) lock(ctx context.Context, owner string) (grip, error) {
	pool, err := openPool(b.dsn)
	if err != nil {
		return nil, err
	}
	a := &advisory{back: b, pool: pool, name: connectionName("harness " + owner)}
	holder, err := a.take(ctx)
	if err == nil && holder != "" {
		err = inUse(holder)
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return a, nil
}

// connectionName is as much of a name as the server keeps.
func connectionName(name string) string {
	const most = 63 // NAMEDATALEN - 1
	return name[:min(len(name), most)]
}

// take connects and asks for the lock. It returns who has it, when that is
// somebody else.
func (a *advisory) take(ctx context.Context) (holder string, err error) {
	conn, err := a.pool.Conn(ctx)
	if err != nil {
		return "", err
	}
	var taken bool
	_, err = conn.ExecContext(ctx, "SELECT set_config('application_name', $1, false)", a.name)
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock("+lockKey("daemon")+")").Scan(&taken)
	}
	if err == nil && taken {
		a.hold(conn)
		return "", nil
	}
	if err == nil {
		holder = advisoryHolder(ctx, conn, a.name)
	}
	return holder, errors.Join(err, conn.Close())
}

// hold begins to watch the connection that has the lock.
func (a *advisory) hold(conn *sql.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn, a.gone, a.stop = conn, make(chan struct{}), make(chan struct{})
	gone, stop := a.gone, a.stop
	a.watching.Go(func() { watchConn(conn, stop, gone) })
}

func (a *advisory) lost() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// regain gives the dead connection back and takes the lock on a new one. The
// server may not have noticed yet that the old one is dead: then it is asked
// to end it. Once the lock is back, no connection from before is used any more.
func (a *advisory) regain(ctx context.Context) error {
	a.drop()
	holder, err := a.take(ctx)
	switch {
	case err != nil:
		return err
	case holder == a.name:
		return errors.Join(a.evict(ctx), pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the server still has the connection that was lost"))
	case holder != "":
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "the database is in use by %s now", holder)
	}
	a.back.renew()
	return nil
}

// evict ends the connections of this very daemon that still hold the lock.
func (a *advisory) evict(ctx context.Context) error {
	_, err := a.pool.ExecContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = $1 AND pid <> pg_backend_pid()`, a.name)
	return err
}

// drop ends the watch and closes the connection.
func (a *advisory) drop() {
	a.mu.Lock()
	conn := a.conn
	a.conn = nil
	if conn != nil {
		close(a.stop)
	}
	released := a.released
	a.mu.Unlock()
	a.watching.Wait()
	if conn == nil {
		return
	}
	if released {
		// The server notices the end of a connection a moment later, in which who comes next
		// would be refused. Of one that does not answer it has to notice.
		ctx, cancel := context.WithTimeout(context.Background(), unlockTime)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "SELECT pg_advisory_unlock_all()")
	}
	conn.Close() // what matters is that the server's end is closed, with the pool at the latest
}

// unlockTime is how long a lock that is given back may take the server.
const unlockTime = time.Second

func (a *advisory) release() {
	a.mu.Lock()
	released := a.released
	a.released = true
	a.mu.Unlock()
	if released {
		return
	}
	a.drop()
	a.pool.Close() // ends the connection, and the lock with it
}

// fromHolder selects the connection that has the lock.
func fromHolder() string {
	return ` FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND ((l.classid::bigint << 32) | l.objid::bigint) = ` + lockKey("daemon")
}

// held asks the server: it drops the lock with the connection, and this side
// hears of that later.
func (a *advisory) held(ctx context.Context, tx *tx) error {
	var ours bool
	err := tx.row(ctx, "SELECT EXISTS (SELECT 1"+fromHolder()+" AND a.application_name = $1)", []any{a.name}, &ours)
	if err == nil && !ours {
		err = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the lock on the database was lost; nothing is begun until it is back")
	}
	return err
}

// advisoryHolder names who has the lock, for the error's text. Own is what
// this process would be called.
func advisoryHolder(ctx context.Context, conn *sql.Conn, own string) string {
	var name, where string
	err := conn.QueryRowContext(ctx, `SELECT a.application_name,
			format('(from %s, server process %s)', COALESCE(host(a.client_addr), 'this machine'), a.pid)`+fromHolder()).Scan(&name, &where)
	if err != nil {
		return "another daemon"
	}
	if name == own {
		return own
	}
	return name + " " + where
}

// watchConn closes lost when the connection no longer answers.
func watchConn(conn *sql.Conn, stop <-chan struct{}, lost chan<- struct{}) {
	ticker := guard.NewTicker(lockCheck)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.Next():
		}
		ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
		_, err := conn.ExecContext(ctx, "SELECT 1")
		cancel()
		if err != nil {
			close(lost)
			return
		}
	}
}
