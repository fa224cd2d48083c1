package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// sessions are connections to Postgres that transactions are made on. They are kept
// with what was prepared on them: the server plans each statement once, and nothing
// on this side watches a statement's context. What ends one that hangs is its session's
// link.
type sessions struct {
	pool   *sql.DB       // where they come from; it gets none back
	places chan struct{} // one for each that is in use

	mu   sync.Mutex
	idle []*session // the newest last
}

// session is one connection.
type session struct {
	*statements

	link *link // what it speaks through
}

func openSessions(dsn string) (*sessions, error) {
	from, err := newConnector(dsn)
	if err != nil {
		return nil, err
	}
	return &sessions{pool: sql.OpenDB(from), places: make(chan struct{}, connections)}, nil
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
		made.link = raw.(*link)
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
