package gateway

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

const (
	patience = 10 * time.Second
	token    = "a.bot.token"
	never    = time.Hour // between heartbeats
)

// server is Discord's side: a test plays it connection by connection.
type server struct {
	*httptest.Server
	peers chan *peer
}

type peer struct {
	*websocket.Conn
	t    *testing.T
	path string
}

func serve(t *testing.T) *server {
	s := &server{peers: make(chan *peer, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		s.peers <- &peer{conn, t, r.URL.String()}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) url() string { return "ws" + strings.TrimPrefix(s.URL, "http") }

// accept waits for the next connection and greets it.
func (s *server) accept(t *testing.T, interval time.Duration) *peer {
	t.Helper()
	select {
	case p := <-s.peers:
		t.Cleanup(func() { p.Close() })
		p.say(opHello, fmt.Sprintf(`{"heartbeat_interval":%d}`, interval.Milliseconds()), 0, "")
		return p
	case <-time.After(patience):
		t.Fatal("no connection came")
		return nil
	}
}

// ready accepts a connection, which must identify, and gives it a session.
func (s *server) ready(t *testing.T, interval time.Duration) *peer {
	t.Helper()
	p := s.accept(t, interval)
	p.hears(opIdentify)
	p.say(opDispatch, `{"session_id":"session-1","resume_gateway_url":"`+s.url()+`/resume"}`, 1, "READY")
	return p
}

// resumed accepts a connection, which must resume after seq.
func (s *server) resumed(t *testing.T, seq int) *peer {
	t.Helper()
	p := s.accept(t, never)
	want := fmt.Sprintf(`{"token":"%s","session_id":"session-1","seq":%d}`, token, seq)
	if got := p.hears(opResume); got != want {
		t.Fatalf("resumed with %s, want %s", got, want)
	}
	p.say(opDispatch, `{}`, seq+1, "RESUMED")
	return p
}

func (p *peer) say(op int, data string, seq int, kind string) {
	p.t.Helper()
	payload := map[string]any{"op": op, "d": json.RawMessage(data), "s": nil, "t": nil}
	if kind != "" {
		payload["s"], payload["t"] = seq, kind
	}
	if err := p.WriteJSON(payload); err != nil {
		p.t.Fatal(err)
	}
}

// hears returns the data of the next payload, which must have the op.
func (p *peer) hears(op int) string {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	var got struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if err := p.ReadJSON(&got); err != nil || got.Op != op {
		p.t.Fatalf("heard op %d %s, %v; want op %d", got.Op, got.Data, err, op)
	}
	return string(got.Data)
}

// closed returns the code with which the client closes; 1006 for none.
func (p *peer) closed() int {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	for {
		_, _, err := p.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code
		} else if err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *peer) close(code int) {
	_ = p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "words of Discord's"), time.Now().Add(patience))
	p.Close()
}

// client is a connection at work.
type client struct {
	*Connection
	t      *testing.T
	events chan Event
	done   chan error
	stop   context.CancelFunc
	log    *record
}

type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func run(t *testing.T, s *server, change func(*Config)) *client {
	c := &client{t: t, events: make(chan Event, 1000), done: make(chan error, 1), log: new(record)}
	config := Config{
		Token: token, Intents: 513, Wait: time.Millisecond,
		Log:    slog.New(slog.NewTextHandler(c.log, nil)),
		Handle: func(e Event) { c.events <- e },
		URL: func(context.Context) (wire.GatewayBot, error) {
			return wire.GatewayBot{URL: s.url()}, nil
		},
	}
	if change != nil {
		change(&config)
	}
	c.Connection = New(config)
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.done <- c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		for over := false; !over; {
			select {
			case <-ended:
				over = true
			case p := <-s.peers: // whom the test was not waiting for any more
				p.Close()
			}
		}
		if strings.Contains(c.log.String(), token) || strings.Contains(c.Status().Error, token) {
			t.Error("the token is in the log or the status")
		}
	})
	return c
}

func (c *client) event(kind string) Event {
	c.t.Helper()
	select {
	case e := <-c.events:
		if e.Type != kind {
			c.t.Fatalf("got %s, want %s", e.Type, kind)
		}
		return e
	case <-time.After(patience):
		c.t.Fatalf("%s did not come", kind)
		return Event{}
	}
}

func (c *client) ended() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(patience):
		c.t.Fatal("Run goes on")
		return nil
	}
}

// until waits for a status.
func (c *client) until(what string, holds func(Status) bool) Status {
	c.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if s := c.Status(); holds(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("never %s: %+v", what, c.Status())
		}
	}
}

func TestWhatComesWhileTheConnectionIsBrokenIsNotLost(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.accept(t, never)
	if p.path != "/?encoding=json&v=10" {
		t.Errorf("connected to %s", p.path)
	}
	var identified identify
	if err := json.Unmarshal([]byte(p.hears(opIdentify)), &identified); err != nil {
		t.Fatal(err)
	}
	if identified.Token != token || identified.Intents != 513 || !identified.Compress || identified.Properties.Browser == "" {
		t.Errorf("identified as %+v", identified)
	}
	p.say(opDispatch, `{"session_id":"session-1","resume_gateway_url":"`+s.url()+`/resume"}`, 1, "READY")
	c.event("READY")
	p.say(opDispatch, `{"content":"first"}`, 2, "MESSAGE_CREATE")
	c.event("MESSAGE_CREATE")
	c.until("connected", func(s Status) bool { return s.Connected && s.Sessions == 1 })
	p.Close() // no code: the network

	p = s.accept(t, never)
	if p.path != "/resume?encoding=json&v=10" {
		t.Errorf("resumed at %s", p.path)
	}
	if got, want := p.hears(opResume), `{"token":"a.bot.token","session_id":"session-1","seq":2}`; got != want {
		t.Errorf("resumed with %s, want %s", got, want)
	}
	p.say(opDispatch, `{"content":"missed"}`, 3, "MESSAGE_CREATE")
	p.say(opDispatch, `{}`, 4, "RESUMED")
	if e := c.event("MESSAGE_CREATE"); string(e.Data) != `{"content":"missed"}` {
		t.Errorf("got %s", e.Data)
	}
	c.event("RESUMED")
	c.until("resumed", func(s Status) bool { return s.Connected && s.Resumed == 1 && s.Sessions == 1 })
}

func TestAnEventThatIsBeingHandledDoesNotCount(t *testing.T) {
	s := serve(t)
	release := make(chan struct{})
	handling := make(chan struct{})
	run(t, s, func(c *Config) {
		c.Handle = func(e Event) {
			if e.Type == "MESSAGE_CREATE" {
				close(handling)
				<-release
			}
		}
	})
	p := s.ready(t, 100*time.Millisecond)
	p.say(opDispatch, `{}`, 2, "MESSAGE_CREATE")
	<-handling
	for p.hears(opHeartbeat) == "null" { // READY was not handled yet
	}
	// Nothing is read meanwhile, no ACK either: that is not the connection's fault.
	for range 3 {
		if got := p.hears(opHeartbeat); got != "1" {
			t.Fatalf("a heartbeat said %s while 2 was being handled", got)
		}
		p.say(opHeartbeatACK, "null", 0, "")
	}
	close(release)
	for p.hears(opHeartbeat) != "2" {
		p.say(opHeartbeatACK, "null", 0, "")
	}
}

func TestAConnectionThatIsDeadIsNoticed(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.ready(t, 200*time.Millisecond)
	c.event("READY")
	for range 2 {
		p.hears(opHeartbeat)
		p.say(opHeartbeatACK, "null", 0, "")
	}
	p.hears(opHeartbeat) // and no ACK
	if code := p.closed(); code != keepSession {
		t.Errorf("closed with %d, which may end the session", code)
	}
	s.resumed(t, 1)
	if got := c.until("resumed", func(s Status) bool { return s.Resumed == 1 }); !strings.Contains(got.Error, "heartbeat") || got.Latency <= 0 {
		t.Errorf("the status is %+v", got)
	}
}

func TestAHeartbeatThatIsAskedForIsSentAtOnceButNotWithoutEnd(t *testing.T) {
	s := serve(t)
	run(t, s, nil)
	p := s.accept(t, never)
	p.hears(opIdentify)
	p.say(opHeartbeat, "null", 0, "")
	if got := p.hears(opHeartbeat); got != "null" {
		t.Errorf("before any event it said %s", got)
	}
	p.say(opDispatch, `{"session_id":"session-1"}`, 7, "READY")
	for range answers + 20 {
		p.say(opHeartbeat, "null", 0, "")
	}
	for range answers - 1 {
		if got := p.hears(opHeartbeat); got != "7" {
			t.Fatalf("it said %s", got)
		}
	}
	p.say(opReconnect, "null", 0, "")
	_, more, err := p.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != keepSession {
		t.Errorf("after %d heartbeats came %s, %v", answers, more, err)
	}
}

func TestWhatDiscordSaysOfTheSessionIsHeeded(t *testing.T) {
	for name, test := range map[string]struct {
		end     func(*peer)
		resumes bool
	}{
		"reconnect":              {func(p *peer) { p.say(opReconnect, "null", 0, "") }, true},
		"invalid, resumable":     {func(p *peer) { p.say(opInvalidSession, "true", 0, "") }, true},
		"invalid":                {func(p *peer) { p.say(opInvalidSession, "false", 0, "") }, false},
		"1001":                   {func(p *peer) { p.close(1001) }, true},
		"4000":                   {func(p *peer) { p.close(4000) }, true},
		"4008":                   {func(p *peer) { p.close(4008) }, true},
		"4007, invalid seq":      {func(p *peer) { p.close(4007) }, false},
		"4009, session timeout":  {func(p *peer) { p.close(4009) }, false},
		"the line is cut":        {func(p *peer) { p.Close() }, true},
		"what cannot be decoded": {func(p *peer) { _ = p.WriteMessage(websocket.TextMessage, []byte("{")); p.close(4000) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			c := run(t, s, nil)
			p := s.ready(t, never)
			c.event("READY")
			c.until("connected", func(s Status) bool { return s.Connected })
			test.end(p)
			if test.resumes {
				s.resumed(t, 1)
				c.event("RESUMED")
			} else {
				p = s.accept(t, never)
				if p.path != "/?encoding=json&v=10" {
					t.Errorf("a new session was begun at %s", p.path)
				}
				p.hears(opIdentify)
				p.say(opHeartbeat, "null", 0, "")
				if got := p.hears(opHeartbeat); got != "null" {
					t.Errorf("the new session begins with %s", got)
				}
			}
		})
	}
}

func TestWhereConnectingCannotHelpNobodyConnects(t *testing.T) {
	for _, code := range []int{4004, 4010, 4011, 4012, 4013, 4014} {
		s := serve(t)
		c := run(t, s, nil)
		p := s.accept(t, never)
		p.hears(opIdentify)
		p.close(code)
		var fatal *Fatal
		if err := c.ended(); !errors.As(err, &fatal) || fatal.Code != code || fatal.Reason == "" {
			t.Errorf("%d: Run returned %v", code, err)
		}
		if len(s.peers) > 0 {
			t.Errorf("%d: connected again", code)
		}
	}
	refused := &Fatal{4004, "the token is refused"}
	c := run(t, serve(t), func(c *Config) {
		c.URL = func(context.Context) (wire.GatewayBot, error) { return wire.GatewayBot{}, refused }
	})
	if err := c.ended(); !errors.Is(err, refused) {
		t.Errorf("Run returned %v", err)
	}
}

// That connections break soon is no reason to resume elsewhere than where Discord says.
func TestASessionIsResumedWhereItWasSaidHoweverOftenItBreaks(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.ready(t, never)
	c.event("READY")
	for n := range 5 {
		p.Close()
		p = s.resumed(t, n+1)
		if p.path != "/resume?encoding=json&v=10" {
			t.Errorf("resumed at %s after %d broken connections", p.path, n+1)
		}
		c.event("RESUMED")
	}
}

func TestASessionThatCannotBeResumedIsGivenUp(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.ready(t, never)
	c.event("READY")
	p.Close()
	for range maxDenied {
		p = s.accept(t, never)
		p.hears(opResume)
		p.Close()
	}
	s.ready(t, never)
	c.until("connected", func(s Status) bool { return s.Connected && s.Sessions == 2 })
}

func TestNoMoreSessionsAreBegunThanDiscordAllows(t *testing.T) {
	s := serve(t)
	asked := make(chan int, 100)
	c := run(t, s, func(c *Config) {
		times := 0
		c.URL = func(context.Context) (bot wire.GatewayBot, err error) {
			bot.URL, bot.Limit.Total = s.url(), 1000
			if times++; times > 1 {
				bot.Limit.Remaining = 5
			}
			bot.Limit.ResetAfter = 300
			asked <- times
			return bot, nil
		}
	})
	status := c.until("told of", func(s Status) bool { return !s.WaitsUntil.IsZero() })
	if status.IdentifiesLeft != 0 || !strings.Contains(status.Error, "1000 sessions") {
		t.Errorf("the status is %+v", status)
	}
	s.ready(t, never)
	if time.Now().Before(status.WaitsUntil.Add(-time.Millisecond)) {
		t.Error("a session was begun too early")
	}
	c.until("connected", func(s Status) bool { return s.Connected && s.WaitsUntil.IsZero() && s.IdentifiesLeft == 5 })
}

func TestTheEndIsToldSoThatTheBotIsOfflineAtOnce(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.ready(t, never)
	c.event("READY")
	c.stop()
	if code := p.closed(); code != websocket.CloseNormalClosure {
		t.Errorf("closed with %d", code)
	}
	if err := c.ended(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if c.Status().Connected {
		t.Error("it is connected")
	}
}

func TestLargePayloadsComeCompressed(t *testing.T) {
	s := serve(t)
	c := run(t, s, nil)
	p := s.ready(t, never)
	c.event("READY")
	for seq := range 3 {
		text := strings.Repeat("a", 100_000*(3-seq))
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		fmt.Fprintf(w, `{"op":0,"s":%d,"t":"GUILD_CREATE","d":{"name":"%s"}}`, seq+2, text)
		w.Close()
		if err := p.WriteMessage(websocket.BinaryMessage, b.Bytes()); err != nil {
			t.Fatal(err)
		}
		_ = p.WriteMessage(websocket.BinaryMessage, []byte("not compressed"))
		if e := c.event("GUILD_CREATE"); string(e.Data) != `{"name":"`+text+`"}` {
			t.Errorf("%d bytes came", len(e.Data))
		}
	}
	c.stop()
	p.closed()
	_ = c.ended()
	if n := c.payload.buffer.Cap(); n > keptBuffer {
		t.Errorf("a buffer of %d bytes is kept", n)
	}
}

func TestAPanicEndsNothing(t *testing.T) {
	s := serve(t)
	var mu sync.Mutex
	var got []string
	done := make(chan struct{})
	c := run(t, s, func(c *Config) {
		c.Handle = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, e.Type)
			switch e.Type {
			case "BAD":
				panic("on purpose")
			case "RESUMED":
				close(done)
			}
		}
	})
	p := s.ready(t, never)
	p.say(opDispatch, `{}`, 2, "BAD")
	p.say(opDispatch, `{}`, 3, "GOOD")
	p.say(opReconnect, "null", 0, "")
	s.resumed(t, 3)
	<-done
	if want := []string{"READY", "BAD", "GOOD", "RESUMED"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if log := c.log.String(); !strings.Contains(log, "on purpose") || !strings.Contains(log, "gateway_test.go") {
		t.Errorf("the log has no stack: %s", log)
	}
}

func TestTheTokenGoesNowhereInTheOpen(t *testing.T) {
	for address, want := range map[string]string{
		"wss://gateway.discord.gg":              "wss://gateway.discord.gg/?encoding=json&v=10",
		"wss://gateway.discord.gg/?v=10":        "wss://gateway.discord.gg/?encoding=json&v=10",
		"ws://127.0.0.1:80/x?of=1":              "ws://127.0.0.1:80/x?encoding=json&of=1&v=10",
		"ws://localhost":                        "ws://localhost/?encoding=json&v=10",
		"ws://gateway.discord.gg":               "",
		"https://gateway.discord.gg":            "",
		"ws://127.0.0.1.example.org/":           "",
		"":                                      "",
		"wss://":                                "",
		"\x00":                                  "",
		"ws://localhost.example.org?localhost=": "",
	} {
		got, err := endpoint(address)
		if got != want || (err == nil) == (want == "") {
			t.Errorf("%q is %q, %v; want %q", address, got, err, want)
		}
	}
}
