package access

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// Peers says where the process at the other end of a connection stands to the daemon.
type Peers interface {
	Peer(local, remote netip.AddrPort) proc.Standing
}

const (
	errBelow = "this comes from a process that the agent, a check or a plugin has started; such a process has no person's right here, " +
		"whatever token it shows. A person does this, in a terminal or a browser of their own"
	errUnseen = "this comes from this machine, and no process is seen that has the other end of the connection: it was closed, or is hidden. " +
		"Whether a person does this cannot be told, so that it is refused, whatever token it shows"
)

type connectionKey struct{}

// connection is one that requests arrive on.
type connection struct {
	local, remote netip.AddrPort

	mu    sync.Mutex
	found bool
	words string // why nobody has a right on it; empty: they may have
}

// Connected is for http.Server.ConnContext: a request is known by its connection.
func (g *Gate) Connected(ctx context.Context, conn net.Conn) context.Context {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	remote, also := conn.RemoteAddr().(*net.TCPAddr)
	if g.peers == nil || !ok || !also {
		return ctx
	}
	return context.WithValue(ctx, connectionKey{}, &connection{local: local.AddrPort(), remote: remote.AddrPort()})
}

// barred says why a request has no person's right, whatever token it shows; empty: it may
// have. That is found out once for a connection, and again for each request that may change
// something.
func (g *Gate) barred(r *http.Request) string {
	if g.peers == nil {
		return ""
	}
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return errUnseen // no connection is without: see Connected
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if c.found && (reads || c.words != "") {
		return c.words
	}
	c.found = true
	switch g.peers.Peer(c.local, c.remote) {
	case proc.Beside, proc.Away:
		c.words = ""
	case proc.Below:
		c.words = errBelow
	default:
		c.words = errUnseen
	}
	return c.words
}
