package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

// sessions are connections to Postgres that transactions are made on. They are kept
// with what was prepared on them: the server plans each statement once, and nothing
// on this side watches a statement's context. What ends one that hangs is its session's
// link.
type sessions struct {
	pool   *sql.DB // where they come from; it gets none back
	links  *links
	places chan struct{} // one for each that is in use

	mu   sync.Mutex
	idle []*session // the newest last
}

// session is one connection.
type session struct {
	*statements

	link net.Conn // what it speaks through
}

func openSessions(dsn string) (*sessions, error) {
	if _, err := pq.NewConnector(dsn); err != nil {
		return nil, badAddress(err)
	}
	links := &links{dsn: dsn, open: make(map[driver.Conn]net.Conn)}
	pool := sql.OpenDB(links)
	return &sessions{pool: pool, links: links, places: make(chan struct{}, connections)}, nil
}

// get returns a session, which the caller puts back or drops. While all are in use it
// waits.
func (s *sessions) get(ctx context.Context) (*session, error) {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if kept := s.kept(); kept != nil {
		return kept, nil
	}
	made, err := s.connect(ctx)
	if err != nil {
		<-s.places
	}
	return made, err
}

func (s *sessions) connect(ctx context.Context) (*session, error) {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	made := &session{statements: newStatements(conn)}
	made.strict = true
	err = conn.Raw(func(raw any) error {
		made.link = s.links.of(raw)
		return nil
	})
	if err != nil {
		made.discard()
		return nil, err
	}
	return made, nil
}

func (s *sessions) kept() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	newest := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return newest
}

// put keeps a session for the next one.
func (s *sessions) put(one *session) {
	s.mu.Lock()
	s.idle = append(s.idle, one)
	s.mu.Unlock()
	<-s.places
}

// drop ends a session.
func (s *sessions) drop(one *session) {
	one.discard()
	<-s.places
}

// renew ends the sessions that lie idle.
func (s *sessions) renew() {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	for _, one := range idle {
		one.discard()
	}
}

func (s *sessions) close() error {
	s.renew()
	return s.pool.Close()
}

// begin begins a transaction, and end ends it. (Not through database/sql, which has a
// goroutine watch each transaction and each of its queries.)
func (s *session) begin(ctx context.Context) error {
	return s.conn.Raw(func(raw any) error {
		_, err := raw.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
		return err
	})
}

func (s *session) end(how func(driver.Tx) error) error {
	return s.conn.Raw(func(raw any) error { return how(raw.(driver.Tx)) })
}

// bounded breaks the connection once limit has passed, until done, which reports
// whether it did.
func (s *session) bounded(limit time.Duration) (done func() (late bool)) {
	timer := time.AfterFunc(limit, func() {
		if s.link != nil {
			s.link.Close()
		}
	})
	return func() bool { return !timer.Stop() }
}

// links makes the connections of a pool and knows what each speaks through.
type links struct {
	dsn string

	mu   sync.Mutex
	open map[driver.Conn]net.Conn
}

// Connect makes a connection.
func (l *links) Connect(ctx context.Context) (driver.Conn, error) {
	connector, err := pq.NewConnector(l.dsn)
	if err != nil {
		return nil, badAddress(err)
	}
	made := &dialled{links: l}
	connector.Dialer(made)
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	made.conn = conn
	l.open[conn] = made.link
	return conn, nil
}

// Driver is there for driver.Connector.
func (l *links) Driver() driver.Driver { return &pq.Driver{} }

func (l *links) of(raw any) net.Conn {
	conn, _ := raw.(driver.Conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[conn]
}

func (l *links) forget(conn driver.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
}

// dialled dials for one connection.
type dialled struct {
	links *links
	conn  driver.Conn // once it is made; under the lock of links
	link  net.Conn
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
	if d.link == nil { // what comes later asks the server to give up a query
		d.link = conn
		return forgetful{conn, d}, nil
	}
	return conn, nil
}

// forgetful is a link whose connection is not kept in mind once it is closed.
type forgetful struct {
	net.Conn

	dialled *dialled
}

// Close closes the link.
func (f forgetful) Close() error {
	f.dialled.links.mu.Lock()
	conn := f.dialled.conn
	f.dialled.links.mu.Unlock()
	if conn != nil {
		f.dialled.links.forget(conn)
	}
	return f.Conn.Close()
}
