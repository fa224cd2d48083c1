package web

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
)

const (
	// maxConnections may be open, event sockets not counted, of which there are at most 256: a
	// plugin has 1024 open files. maxEach of them may come from one address (of IPv6, from the
	// network of 64 bits that one customer has), but for this machine's, where a proxy may be.
	maxConnections = 512
	maxEach        = 256
)

// crowd bounds how many connections are open. For one that is too many the one goes that has
// been waited for the longest, for its first or its next request: who opens many and says
// nothing keeps nobody out. When all are at work, the new one goes.
type crowd struct {
	most, each int

	mu      sync.Mutex
	open    map[net.Conn]*guest
	waiting *list.List // of guests, the longest first
	from    map[netip.Prefix]int
}

type guest struct {
	conn    net.Conn
	network netip.Prefix  // not valid: this machine
	place   *list.Element // in waiting; nil: at work
}

func newCrowd(most, each int) *crowd {
	return &crowd{most: most, each: each, open: make(map[net.Conn]*guest), waiting: list.New(), from: make(map[netip.Prefix]int)}
}

// changed is for http.Server.ConnState.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		c.admit(conn)
		return
	}
	g := c.open[conn]
	if g == nil { // it was sent away
		return
	}
	if g.place != nil {
		c.waiting.Remove(g.place)
		g.place = nil
	}
	switch state { //nolint:exhaustive // the new ones are above
	case http.StateIdle:
		g.place = c.waiting.PushBack(g)
	case http.StateClosed, http.StateHijacked:
		c.forget(g)
	}
}

func (c *crowd) admit(conn net.Conn) {
	g := &guest{conn: conn, network: networkOf(conn)}
	full := func() bool { return len(c.open) >= c.most }
	crowded := func() bool { return g.network.IsValid() && c.from[g.network] >= c.each }
	if crowded() {
		c.makeRoom(func(other *guest) bool { return other.network == g.network })
	} else if full() {
		c.makeRoom(func(*guest) bool { return true })
	}
	if crowded() || full() {
		hangUp(conn)
		return
	}
	c.open[conn] = g
	c.from[g.network]++
	g.place = c.waiting.PushBack(g)
}

// makeRoom sends away the one of some that has been waited for the longest, if any is.
func (c *crowd) makeRoom(of func(*guest) bool) {
	for e := c.waiting.Front(); e != nil; e = e.Next() {
		if g := e.Value.(*guest); of(g) { //nolint:forcetypeassert // nothing else is put in
			c.waiting.Remove(e)
			c.forget(g)
			hangUp(g.conn)
			return
		}
	}
}

func (c *crowd) forget(g *guest) {
	delete(c.open, g.conn)
	if c.from[g.network]--; c.from[g.network] == 0 {
		delete(c.from, g.network)
	}
}

// hangUp closes a connection without a word: a farewell over TLS could wait for its reader.
func hangUp(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}

// networkOf is where a connection comes from, as wrong tokens are counted; of this machine it
// is none.
func networkOf(conn net.Conn) netip.Prefix {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || remote.IP.IsLoopback() {
		return netip.Prefix{}
	}
	return access.Network(remote.AddrPort().Addr())
}
