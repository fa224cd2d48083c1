package store

import (
	"context"
	"database/sql/driver"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// farewellMax is how long a connection to Postgres may take to say that it ends.
const farewellMax = time.Second

// pgConn is what lib/pq's connections can do, of what database/sql asks for.
type pgConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.Tx
}

// link is a connection to Postgres that ends soon, whatever the server does. Ending one
// of lib/pq's waits for an answer for each statement that was prepared on it; one whose
// server is gone without a word waits for as long as TCP does.
type link struct {
	pgConn

	below net.Conn // what it speaks through
}

// PrepareContext prepares a statement, which stays until the connection ends.
func (l *link) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	made, err := l.pgConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if one, ok := made.(pgStmt); ok {
		return lasting{one}, nil
	}
	return made, nil // one of COPY, which ends with its data
}

// Close says to the server that the connection ends, without waiting for an answer, and
// ends it.
func (l *link) Close() error {
	defer l.bounded(farewellMax)()
	return l.pgConn.Close()
}

// bounded breaks the connection once limit has passed, until done, which reports
// whether it did.
func (l *link) bounded(limit time.Duration) (done func() (late bool)) {
	timer := time.AfterFunc(limit, func() { l.below.Close() })
	return func() bool { return !timer.Stop() }
}

// pgStmt is what lib/pq's statements can do, of what database/sql asks for.
type pgStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// lasting is a statement that the server forgets with its connection.
type lasting struct{ pgStmt }

// Close does nothing.
func (lasting) Close() error { return nil }

// connector makes the connections of a pool.
type connector struct{ dsn string }

func newConnector(dsn string) (connector, error) {
	if _, err := pq.NewConnector(dsn); err != nil {
		return connector{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "DATABASE_URL: %w", err)
	}
	return connector{dsn}, nil
}

// Connect makes a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	one, err := pq.NewConnector(c.dsn)
	if err != nil {
		return nil, err
	}
	dialled := new(dialled)
	one.Dialer(dialled)
	conn, err := one.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &link{pgConn: conn.(pgConn), below: dialled.settle()}, nil
}

// Driver is there for driver.Connector.
func (connector) Driver() driver.Driver { return &pq.Driver{} }

// dialled dials for one connection: as often as it takes until a server is found and
// agrees on TLS. The newest link counts.
type dialled struct {
	mu      sync.Mutex
	newest  net.Conn
	settled bool // the connection is made
}

// settle returns what the connection speaks through. What is dialled later asks the
// server to give up a query.
func (d *dialled) settle() net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = true
	return d.newest
}

// Dial dials.
func (d *dialled) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout dials for as long.
func (d *dialled) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext dials until ctx ends.
func (d *dialled) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settled {
		return conn, nil
	}
	if d.newest != nil {
		d.newest.Close() // a server refused TLS on it, or was not the right one; lib/pq may leave it open
	}
	d.newest = conn
	return conn, nil
}
