package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/coretest/ports"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// each runs a test on every database that there is. database makes one of the (sub)test's own,
// which has the schema and nothing else.
func each(t *testing.T, test func(t *testing.T, database func(*testing.T) string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, inSQLite) })
	t.Run("postgres", func(t *testing.T) { test(t, inPostgres) })
}

// inSQLite is the database of an installation's own data directory.
func inSQLite(*testing.T) string { return "" }

// inPostgres makes a database of the test's own.
func inPostgres(t *testing.T) string {
	t.Helper()
	return storetest.PreparedPostgres(t).URL
}

// withRealAgent runs a test on SQLite alone: a session of the real agent takes a second of processor
// time, and what becomes of it is the same on every database. TestTurnsWithTheRealAgent is on each.
func withRealAgent(t *testing.T, test func(t *testing.T, database func(*testing.T) string)) {
	t.Helper()
	test(t, inSQLite)
}

// installation is a directory with plugins and a configuration.
type installation struct {
	t      *testing.T
	config daemon.Config
	log    *safeBuffer
	base   string    // of the API
	opened func()    // called when the daemon has the lock and before it starts; may be nil
	daemon *exec.Cmd // in a process of its own, the last that was started; nil: none was
}

// newInstallation has the shipped plugins, and those of the parts that this program plays.
func newInstallation(t *testing.T, databaseURL string, parts ...string) *installation {
	t.Helper()
	in := leanInstallation(t, databaseURL, parts...)
	for _, name := range []string{"context", "time"} {
		in.link(filepath.Join(pluginDir, name), name)
	}
	return in
}

// leanInstallation has of the shipped plugins those with which one talks to it and sees
// what it does. It is for a test that starts many daemons, or few that start often: each
// reads the files of its plugins and starts them.
func leanInstallation(t *testing.T, databaseURL string, parts ...string) *installation {
	t.Helper()
	programs.Used()
	in := &installation{t: t, config: daemon.Defaults(), log: &safeBuffer{}}
	in.config.Data = t.TempDir()
	in.config.DatabaseURL = databaseURL
	if databaseURL == "" {
		storetest.PrepareSQLite(t, in.config.Data)
	}
	in.config.Agent = "demo"
	in.config.Port = freePort(t)
	in.config.Plugins = filepath.Join(in.config.Data, "plugins")
	in.config.RetryBase = 10 * time.Millisecond
	in.config.Supervise = attentive
	in.config.Log = slog.New(slog.NewTextHandler(in.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in.base = fmt.Sprintf("http://127.0.0.1:%d", in.config.Port)
	owner.Know(in.base, filepath.Join(in.config.Data, daemon.OwnerTokenFile))
	if err := os.MkdirAll(in.config.Plugins, 0o755); err != nil { //nolint:gosec // plugins are executed
		t.Fatal(err)
	}
	for _, name := range []string{"activity", "web"} {
		in.link(filepath.Join(pluginDir, name), name)
	}
	for _, name := range parts {
		in.link(filepath.Join(pluginDir, partsName), name)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", in.log.String())
		}
	})
	return in
}

// attentive is a daemon that soon sees what the test changes in the registry.
func attentive(c *pluginhost.Config) { c.Poll = 100 * time.Millisecond }

func (in *installation) link(target, name string) {
	in.t.Helper()
	if err := os.Symlink(target, filepath.Join(in.config.Plugins, name)); err != nil {
		in.t.Fatal(err)
	}
}

// demo scripts the demo agent.
func (in *installation) demo(rules string) {
	in.t.Helper()
	in.config.DemoScript = filepath.Join(in.t.TempDir(), "script.json")
	if err := os.WriteFile(in.config.DemoScript, []byte(rules), 0o600); err != nil {
		in.t.Fatal(err)
	}
}

// start runs the daemon in this process until stop, or the test's end.
func (in *installation) start() (stop func()) {
	in.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d, err := daemon.New(ctx, in.config)
	if err != nil {
		in.t.Fatal(err)
	}
	if in.opened != nil {
		in.opened()
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Run(ctx, context.Background(), func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		in.t.Fatalf("the daemon did not start: %v", err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			in.t.Errorf("stop of the daemon: %v", err)
		}
		if err := d.Close(); err != nil {
			in.t.Errorf("close of the daemon: %v", err)
		}
	})
	in.t.Cleanup(stop)
	return stop
}

// subtest does a part of the test with the installation, and reports whether it passed.
func (in *installation) subtest(name string, test func(t *testing.T)) bool {
	outer := in.t
	return outer.Run(name, func(t *testing.T) {
		in.t = t
		defer func() { in.t = outer }()
		test(t)
	})
}

// database opens the store beside the daemon, as an operator would.
func (in *installation) database() *store.Store {
	in.t.Helper()
	s, err := daemon.OpenStore(context.Background(), in.config)
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = s.Close() })
	return s
}

// call speaks to the API and decodes the answer into out.
func (in *installation) call(method, path string, body, out any) int {
	in.t.Helper()
	return in.callAs(owner.Token(in.base), method, path, body, out)
}

// callAs is call with another token than the owner's.
func (in *installation) callAs(token, method, path string, body, out any) int {
	in.t.Helper()
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			in.t.Fatal(err)
		}
		payload = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(in.t.Context(), method, in.base+path, payload)
	if err != nil {
		in.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		in.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(content, out); err != nil {
			in.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, content)
		}
	}
	return response.StatusCode
}

func (in *installation) chat(thread, content string) pluginsdk.Accepted {
	in.t.Helper()
	var accepted pluginsdk.Accepted
	status := in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": content}, &accepted)
	if status != http.StatusAccepted {
		in.t.Fatalf("POST /api/chat: %d", status)
	}
	return accepted
}

// thread makes a thread.
func (in *installation) thread(name string) string {
	in.t.Helper()
	var made pluginsdk.Thread
	if status := in.call(http.MethodPost, "/api/threads", map[string]string{"name": name}, &made); status != http.StatusCreated {
		in.t.Fatalf("POST /api/threads: %d", status)
	}
	return made.ID
}

func (in *installation) messages(thread string) []pluginsdk.Message {
	in.t.Helper()
	var page struct{ Messages []pluginsdk.Message }
	in.call(http.MethodGet, "/api/threads/"+thread+"/messages?limit=1000", nil, &page)
	return page.Messages
}

func (in *installation) run(id string) pluginsdk.Run {
	in.t.Helper()
	var run pluginsdk.Run
	in.call(http.MethodGet, "/api/runs/"+id, nil, &run)
	return run
}

// wire is one event as the websocket sends it.
type wire struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	Boot  string          `json:"boot"`
	Seq   uint64          `json:"seq"`
}

func (e wire) runID() string {
	var data struct{ RunID string }
	_ = json.Unmarshal(e.Data, &data)
	return data.RunID
}

// watch subscribes to the events of all threads.
func (in *installation) watch() *watcher {
	in.t.Helper()
	u, err := url.Parse(in.base)
	if err != nil {
		in.t.Fatal(err)
	}
	conn, response, err := websocket.DefaultDialer.DialContext(in.t.Context(), "ws://"+u.Host+"/ws", owner.Header(in.base))
	if err != nil {
		in.t.Fatal(err)
	}
	_ = response.Body.Close()
	w := &watcher{t: in.t, frames: make(chan wire, 1<<16), leave: func() { _ = conn.Close() }}
	in.t.Cleanup(w.leave)
	go w.read(conn)
	if hello := w.next(); hello.Event != "hello" {
		in.t.Fatalf("first frame %+v", hello)
	}
	return w
}

// watcher has what a websocket says, which it reads all the time: a client that does not, is sent away.
type watcher struct {
	t      *testing.T
	leave  func()
	frames chan wire // closed after leave
	err    error     // set when frames is closed
}

func (w *watcher) read(conn *websocket.Conn) {
	defer close(w.frames)
	for {
		var event wire
		if w.err = conn.ReadJSON(&event); w.err != nil {
			return
		}
		w.frames <- event
	}
}

func (w *watcher) next() wire {
	w.t.Helper()
	select {
	case event, open := <-w.frames:
		if !open {
			w.t.Fatalf("websocket: %v", w.err)
		}
		return event
	case <-time.After(patience):
		w.t.Fatal("the websocket says nothing more")
		return wire{}
	}
}

// end reads until the run's last event and returns all of the run's.
func (w *watcher) end(runID string) []wire {
	w.t.Helper()
	var events []wire
	for {
		event := w.next()
		if event.runID() != runID {
			continue
		}
		events = append(events, event)
		if event.Event == string(pluginsdk.EventPipelineComplete) || event.Event == string(pluginsdk.EventPipelineError) {
			return events
		}
	}
}

// say sends a message and waits until its run is over.
func (in *installation) say(w *watcher, thread, content string) (pluginsdk.Accepted, []wire) {
	in.t.Helper()
	accepted := in.chat(thread, content)
	return accepted, w.end(accepted.RunID)
}

// until waits for a condition that another process brings about. What takes long is
// looked at less often: each look is work for the machine that is waited for.
func (in *installation) until(what string, holds func() bool) {
	in.t.Helper()
	began := time.Now()
	for !holds() {
		waited := time.Since(began)
		if waited > patience {
			in.t.Fatalf("%s did not come about", what)
		}
		select {
		case <-in.t.Context().Done():
		case <-time.After(min(5*time.Millisecond+waited/10, 100*time.Millisecond)): // nothing signals across processes
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	free, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return free
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// sql changes the database as an operator does: by hand, past the daemon.
func (in *installation) sql(statement string) {
	in.t.Helper()
	db := in.rawDatabase()
	defer db.Close()
	result, err := db.ExecContext(in.t.Context(), statement)
	if err != nil {
		in.t.Fatalf("%s: %v", statement, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		in.t.Fatalf("%s: changed %d rows, %v", statement, n, err)
	}
}

// rawDatabase is the database as an operator's own tools see it.
func (in *installation) rawDatabase() *sql.DB {
	in.t.Helper()
	driver, source := "sqlite", "file:"+filepath.Join(in.config.Data, "harness.db")+"?_pragma=busy_timeout(10000)"
	if in.config.DatabaseURL != "" {
		driver, source = "postgres", in.config.DatabaseURL
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		in.t.Fatal(err)
	}
	return db
}

// count returns the number that a query comes to.
func (in *installation) count(query string) (n int) {
	in.t.Helper()
	db := in.rawDatabase()
	defer db.Close()
	if err := db.QueryRowContext(in.t.Context(), query).Scan(&n); err != nil {
		in.t.Fatalf("%s: %v", query, err)
	}
	return n
}
