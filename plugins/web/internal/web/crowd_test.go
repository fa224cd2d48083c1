package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// dialRaw opens a connection that says what it is given to say.
func dialRaw(s *instance, words string) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.Fatal(err)
	}
	if _, err := io.WriteString(conn, words); err != nil {
		s.Fatal(err)
	}
	return conn
}

// ends waits for the other side to end a connection.
func (s *instance) ends(what string, conn net.Conn) {
	s.Helper()
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		s.Errorf("%s: the connection stays", what)
	}
}

// busy is an agent that takes its time.
type busy struct {
	pluginsdk.Messages
	begun, done chan struct{}
}

func (b busy) Submit(ctx context.Context, _ *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	b.begun <- struct{}{}
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	return &pluginsdk.SubmitMessageResponse{}, nil
}

// Who opens more connections than there may be, and says nothing on them, must not keep
// others out, however patient the server is; and what is being answered is not cut off.
func TestCrowd(t *testing.T) {
	const most = 4
	s := openSite(t, `{"auth":"network"}`, times{Header: time.Hour, Read: time.Hour, Idle: time.Hour})
	b := busy{begun: make(chan struct{}), done: make(chan struct{})}
	s.most, s.Plugin.host.Messages = most, b
	if err := s.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent := make([]net.Conn, 0, 3*most)
	for range 3 * most {
		silent = append(silent, dialRaw(s, "GET /api/he"))
	}
	for _, conn := range silent[:2*most] {
		s.ends("the longest silent", conn)
	}
	s.expect("somebody else", s.ask("GET", "/api/health", ""), 200)
	said := "Content-Length: 15\r\n\r\n" + `{"content":"a"}`
	for range most {
		for heard := false; !heard; { // one that is not read yet counts as silent, and may have to come again
			conn, gone := dialRaw(s, post("POST", "Connection: close\r\n")[:len(post("POST", "Connection: close\r\n"))-2]+said), make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = io.Copy(io.Discard, conn) // its end is what counts
			}()
			select {
			case <-b.begun:
				heard = true
			case <-gone:
			}
		}
	}
	for _, conn := range silent[2*most:] {
		s.ends("the others, once somebody comes who has something to say", conn)
	}
	s.ends("one more, while all are at work", dialRaw(s, ""))
	close(b.done)
}

// from is a connection from an address.
type from struct {
	net.Conn
	remote *net.TCPAddr
	closed bool
}

func (f *from) RemoteAddr() net.Addr { return f.remote }
func (f *from) Close() error         { f.closed = true; return nil }

// One customer, who has 2^64 addresses of IPv6, must not take all the places; this machine,
// where a proxy may stand for everybody, may.
func TestNobodyTakesAllThePlaces(t *testing.T) {
	c := newCrowd(100, 2)
	arrive := func(address string) *from {
		conn := &from{remote: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
		c.changed(conn, http.StateNew)
		return conn
	}
	other := arrive("192.0.2.1")
	one, two := arrive("2001:db8::1"), arrive("2001:db8::2")
	if three := arrive("2001:db8::3"); !one.closed || two.closed || three.closed || other.closed {
		t.Errorf("closed: %v %v %v, another's %v; the oldest of the network goes", one.closed, two.closed, three.closed, other.closed)
	}
	c.changed(two, http.StateActive)
	if four := arrive("2001:db8::4"); four.closed {
		t.Error("it is sent away although another one of its network says nothing")
	} else {
		c.changed(four, http.StateActive)
	}
	if five := arrive("2001:db8::5"); !five.closed {
		t.Error("it gets a third place")
	}
	c.changed(two, http.StateIdle)
	if six := arrive("2001:db8::6"); six.closed || !two.closed {
		t.Error("a connection that waits for its next request is not given up for a new one")
	}
	if else1, else2 := arrive("2001:db8:0:1::1"), arrive("::ffff:192.0.2.1"); else1.closed || else2.closed {
		t.Error("another's place is taken away")
	}
	var here []*from
	for range 10 {
		here = append(here, arrive("127.0.0.1"), arrive("::1"))
	}
	if slices.ContainsFunc(here, func(conn *from) bool { return conn.closed }) {
		t.Error("this machine is bounded")
	}
	for conn := range c.open {
		c.changed(conn, http.StateClosed)
	}
	if len(c.open)+len(c.from)+c.waiting.Len() != 0 {
		t.Errorf("what has gone is remembered: %d %v %d", len(c.open), c.from, c.waiting.Len())
	}
}
