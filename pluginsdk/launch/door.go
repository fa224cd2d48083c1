package launch

import (
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// maxConns is how many connections to its host a plugin may hold. It
	// needs one.
	maxConns = 4
	// connRate and connBurst bound how often a plugin may connect, a second
	// and at once: each time takes the daemon a TLS handshake.
	connRate  = 1
	connBurst = 16
)

// door is where a plugin reaches its host. Only maxConns connections can be
// open; the plugin that tries more is at fault.
type door struct {
	net.Listener
	blame func(error) // does not block

	mu     sync.Mutex
	tries  bucket
	open   map[*doorConn]struct{}
	closed bool // nobody gets in any more
}

func newDoor(listener net.Listener, blame func(error)) *door {
	return &door{
		Listener: listener, blame: blame,
		tries: bucket{rate: connRate, burst: connBurst}, open: map[*doorConn]struct{}{},
	}
}

// Accept returns the next connection that may stay. It fails for good when
// the plugin connects again and again.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted, ok := d.enter(conn); ok {
			return admitted, nil
		}
		_ = conn.Close()
		if d.isClosed() {
			return nil, net.ErrClosed
		}
	}
}

func (d *door) enter(conn net.Conn) (net.Conn, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch allowed := d.tries.allow(time.Now()); {
	case d.closed:
		return nil, false
	case !allowed:
		d.closed = true
		d.blame(fmt.Errorf("it connects to its host again and again; it is let in no more"))
		return nil, false
	case len(d.open) >= maxConns:
		d.blame(fmt.Errorf("it opens more than %d connections to its host", maxConns))
		return nil, false
	}
	admitted := &doorConn{Conn: conn, door: d}
	d.open[admitted] = struct{}{}
	return admitted, true
}

func (d *door) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// shut closes the door and every connection. A server would wait for those
// that have not finished their handshake.
func (d *door) shut() {
	d.mu.Lock()
	d.closed = true
	open := d.open
	d.open = nil
	d.mu.Unlock()
	_ = d.Close()
	for conn := range open {
		_ = conn.Conn.Close()
	}
}

type doorConn struct {
	net.Conn
	door *door
}

// Close frees the place.
func (c *doorConn) Close() error {
	c.door.mu.Lock()
	delete(c.door.open, c)
	c.door.mu.Unlock()
	return c.Conn.Close()
}
