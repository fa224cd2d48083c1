package live

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// maxCorked is how much a corked connection holds back, in bytes.
const maxCorked = 64 << 10

// corked is a connection that can hold back what is written to it, so that frames which
// come together cost one write, and wake the other side once.
type corked struct {
	net.Conn

	mu     sync.Mutex
	closed bool // the cork is in
	held   []byte
}

// Write writes, or holds back until uncork.
func (c *corked) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	if len(c.held) < maxCorked {
		return len(p), nil
	}
	return len(p), c.flush()
}

// cork holds back what is written from now on.
func (c *corked) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// uncork writes what was held back.
func (c *corked) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = false
	return c.flush()
}

// flush writes what is held. The lock is held.
func (c *corked) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	return err
}

// hijacker gives away the connection of a request as one that can be corked.
type hijacker struct {
	http.ResponseWriter

	conn *corked // once it was given away
}

// Hijack gives away the connection.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &corked{Conn: conn}
	return h.conn, buffered, nil
}
