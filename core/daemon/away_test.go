package daemon_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// gateway stands between the daemon and Postgres and can be closed.
type gateway struct {
	server string // path of the server's socket

	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]bool
}

// postgresBehindGateway returns a database that is reached through a gateway.
func postgresBehindGateway(t *testing.T) (address string, g *gateway) {
	t.Helper()
	direct, err := url.Parse(storetest.Postgres(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	query := direct.Query()
	if !strings.HasPrefix(query.Get("host"), "/") {
		t.Skip("left out: the Postgres server of " + storetest.Variable + " is not reached through a unix socket")
	}
	g = &gateway{server: filepath.Join(query.Get("host"), ".s.PGSQL.5432"), conns: map[net.Conn]bool{}}
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		g.close()
	})
	go g.serve(listener)
	query.Set("host", dir)
	direct.RawQuery = query.Encode()
	return direct.String(), g
}

func (g *gateway) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", g.server)
		if err != nil || !g.enter(client, server) {
			_ = client.Close()
			continue
		}
		go g.pass(client, server)
		go g.pass(server, client)
	}
}

func (g *gateway) enter(both ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range both {
		if g.shut {
			_ = conn.Close()
		} else {
			g.conns[conn] = true
		}
	}
	return !g.shut
}

func (g *gateway) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// close cuts what is connected and lets nobody in.
func (g *gateway) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for conn := range g.conns {
		_ = conn.Close()
	}
	clear(g.conns)
}

func (g *gateway) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// The database goes away in the middle of a turn: a message is refused with
// words that say so, the turn's answer is kept until it can be stored, and
// everything goes on when the database is back, without a restart.
func TestDatabaseGoesAwayAndComesBack(t *testing.T) {
	address, gate := postgresBehindGateway(t)
	in := newInstallation(t, address)
	in.demo(`[{"match":"slow","delay":1500,"text":"slow answer"}]`)
	in.start()
	watch := in.watch()
	thread := in.thread("a thread")
	slow := in.chat(thread, "slow")
	watch.atWork(slow.RunID)
	waiting := in.chat(thread, "waiting")

	gate.close()
	var problem struct{ Detail string }
	status := in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": "refused", "idempotencyKey": "k"}, &problem)
	if status != http.StatusServiceUnavailable || !strings.Contains(problem.Detail, "database") && !strings.Contains(problem.Detail, "accept message") {
		t.Errorf("during the outage: %d %q", status, problem.Detail)
	}
	in.until("the turn waits for the database", func() bool {
		return strings.Contains(in.log.String(), "the database does not answer; trying again")
	})
	gate.open()

	watch.end(slow.RunID)
	watch.end(waiting.RunID)
	if run := in.run(slow.RunID); run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
		t.Errorf("the run that was at work: %+v", run)
	}
	var accepted pluginsdk.Accepted
	in.until("messages are accepted again", func() bool {
		return in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": "refused", "idempotencyKey": "k"}, &accepted) == http.StatusAccepted
	})
	if accepted.Repeated {
		t.Error("the refused message had been accepted")
	}
	in.until("the message after the outage is answered", func() bool { return in.run(accepted.RunID).State == pluginsdk.RunSucceeded })
}

// Connections that are cut one by one, the one with the lock among them, are
// made again; nobody is answered twice.
func TestCutConnectionsAreMadeAgain(t *testing.T) {
	address, gate := postgresBehindGateway(t)
	in := newInstallation(t, address)
	in.start()
	thread := in.thread("a thread")
	var runs []string
	for range 5 {
		var accepted pluginsdk.Accepted
		body := map[string]string{"threadId": thread, "content": "hello", "idempotencyKey": in.t.Name() + string(rune('a'+len(runs)))}
		in.until("the message is accepted", func() bool {
			return in.call(http.MethodPost, "/api/chat", body, &accepted) == http.StatusAccepted
		})
		runs = append(runs, accepted.RunID)
		gate.close()
		gate.open()
	}
	for _, run := range runs {
		in.until("the message is answered", func() bool {
			var got pluginsdk.Run
			return in.call(http.MethodGet, "/api/runs/"+run, nil, &got) == http.StatusOK && got.State == pluginsdk.RunSucceeded
		})
	}
	var page struct{ Messages []pluginsdk.Message }
	in.until("the thread can be read", func() bool {
		return in.call(http.MethodGet, "/api/threads/"+thread+"/messages?limit=1000&role=assistant&kind=text", nil, &page) == http.StatusOK
	})
	if len(page.Messages) != len(runs) {
		t.Errorf("%d replies to %d messages", len(page.Messages), len(runs))
	}
}
