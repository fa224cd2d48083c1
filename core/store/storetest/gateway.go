package storetest

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
)

// Gateway stands between a store and Postgres, and loses its connections.
type Gateway struct {
	server string // path of the server's socket

	mu    sync.Mutex
	shut  bool
	conns map[*passage]bool
}

// passage is one connection through a Gateway.
type passage struct {
	client *net.TCPConn
	server net.Conn
	breaks bool // with what the client sends next
	hangs  bool // what either side sends is lost
}

// BehindGateway is a database of the test's own that is reached through a
// gateway.
func BehindGateway(t testing.TB) (store.Config, *Gateway) {
	t.Helper()
	config := Postgres(t)
	address, err := url.Parse(config.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	if !strings.HasPrefix(query.Get("host"), "/") {
		t.Skip("left out: the Postgres server of " + Variable + " is not reached through a unix socket")
	}
	g := &Gateway{server: filepath.Join(query.Get("host"), ".s.PGSQL.5432"), conns: make(map[*passage]bool)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("close the gateway: %s", err)
		}
		g.Close()
	})
	go g.serve(listener)
	query.Del("host")
	address.Host, address.RawQuery = listener.Addr().String(), query.Encode()
	config.URL = address.String()
	return config, g
}

func (g *Gateway) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", g.server)
		if err != nil {
			client.Close()
			continue
		}
		g.enter(&passage{client: client.(*net.TCPConn), server: server})
	}
}

func (g *Gateway) enter(p *passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		p.end()
		return
	}
	g.conns[p] = true
	go func() {
		defer p.end()
		io.Copy(answers{g, p}, p.server) //nolint:errcheck // it ends as it ends
	}()
	go g.send(p)
}

// answers is where the server's go.
type answers struct {
	gateway *Gateway
	passage *passage
}

// Write passes an answer on, unless nothing is to arrive any more.
func (a answers) Write(answer []byte) (int, error) {
	if a.gateway.hangs(a.passage) {
		return len(answer), nil
	}
	return a.passage.client.Write(answer)
}

// send passes on what the client sends.
func (g *Gateway) send(p *passage) {
	defer p.end()
	buffer := make([]byte, 32<<10)
	for {
		n, err := p.client.Read(buffer)
		if err != nil {
			return
		}
		if g.breaks(p) {
			p.client.SetLinger(0) //nolint:errcheck // the client is told with a reset
			return
		}
		if g.hangs(p) {
			continue
		}
		if _, err := p.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (g *Gateway) breaks(p *passage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return p.breaks
}

func (g *Gateway) hangs(p *passage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return p.hangs
}

func (p *passage) end() {
	p.client.Close()
	p.server.Close()
}

// Close cuts what is connected and lets nobody in.
func (g *Gateway) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for p := range g.conns {
		p.end()
	}
	clear(g.conns)
}

// Refuse lets nobody in; what is connected stays so.
func (g *Gateway) Refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// Open lets connections in again.
func (g *Gateway) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// Break makes each connection there is end with a reset as soon as something is
// sent on it: its server is gone, and it does not know.
func (g *Gateway) Break() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.conns {
		p.breaks = true
	}
}

// Swallow makes each connection there is stand without a word from now on: the network
// to its server is gone, and nobody says so.
func (g *Gateway) Swallow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.conns {
		p.hangs = true
	}
}
