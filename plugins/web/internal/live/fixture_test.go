package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const boot = "boot-1"

// stream is the host's side: it numbers events, keeps them, and answers List
// in small pages.
type stream struct {
	pluginsdk.Events

	mu     sync.Mutex
	events []pluginsdk.Event
	forgot uint64 // events up to this are no longer kept
	err    error
	asked  func(after pluginsdk.Position) // called before each answer

	listened [][]pluginsdk.EventRule // what Listen was called with
	refuses  error                   // of Listen
	between  func()                  // called once Listen has decided on its answer
}

const pageSize = 3

func (s *stream) add(kind pluginsdk.EventType, threadID, data string) pluginsdk.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	event := pluginsdk.Event{
		Type: kind, ThreadID: threadID, Data: json.RawMessage(data), Boot: boot, Seq: uint64(len(s.events)) + 1,
		Timestamp: time.Date(2025, 11, 21, 9, 0, 0, 0, time.UTC),
	}
	s.events = append(s.events, event)
	return event
}

func (s *stream) Listen(_ context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	s.mu.Lock()
	s.listened = append(s.listened, request.Rules)
	at, err, between := pluginsdk.Position{Boot: boot, Seq: uint64(len(s.events))}, s.refuses, s.between
	s.mu.Unlock()
	if between != nil {
		between()
	}
	return &pluginsdk.ListenEventsResponse{Position: at}, err
}

// calls are the rules of the calls of Listen, in words: all, or the types.
func (s *stream) calls() (words []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rules := range s.listened {
		if len(rules) == 0 {
			words = append(words, "all")
		}
		for _, rule := range rules {
			words = append(words, strings.Join(rule.Types, " "))
		}
	}
	return words
}

func (s *stream) List(ctx context.Context, request *pluginsdk.ListEventsRequest) (*pluginsdk.ListEventsResponse, error) {
	after := request.After
	if s.asked != nil {
		s.asked(after)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	newest := uint64(len(s.events))
	if after == (pluginsdk.Position{}) {
		return &pluginsdk.ListEventsResponse{Next: pluginsdk.Position{Boot: boot, Seq: newest}}, ctx.Err()
	}
	page := &pluginsdk.ListEventsResponse{Resync: after.Boot != boot || after.Seq > newest || after.Seq < s.forgot}
	if page.Resync {
		after.Seq = s.forgot
	}
	page.Events = s.events[after.Seq:min(newest, after.Seq+pageSize)]
	page.Next = pluginsdk.Position{Boot: boot, Seq: after.Seq + uint64(len(page.Events))}
	return page, ctx.Err()
}

// fixture is an open hub behind a real HTTP server.
type fixture struct {
	*testing.T
	stream *stream
	hub    *Hub
	url    string
}

func open(t *testing.T, limits Limits) *fixture {
	t.Helper()
	f := &fixture{T: t, stream: new(stream)}
	f.hub = NewHub(f.stream, limits, slog.New(slog.DiscardHandler))
	f.hub.Open(t.Context())
	server := httptest.NewServer(f.hub)
	f.url = "ws" + strings.TrimPrefix(server.URL, "http")
	t.Cleanup(func() {
		f.hub.Close(context.Background())
		server.Close()
	})
	return f
}

// happen publishes an event and has it broadcast.
func (f *fixture) happen(kind pluginsdk.EventType, threadID string) pluginsdk.Event {
	event := f.stream.add(kind, threadID, `{"n":1}`)
	f.hub.Broadcast([]pluginsdk.Event{event})
	return event
}

// peer is a client's end of a connection.
type peer struct {
	*testing.T
	conn *websocket.Conn
}

func (f *fixture) dial(query string) *peer {
	f.Helper()
	conn, answer, err := websocket.DefaultDialer.Dial(f.url+query, nil)
	if err != nil {
		f.Fatalf("dial %s: %v (%v)", query, err, answer)
	}
	_ = answer.Body.Close()
	f.Cleanup(func() { _ = conn.Close() })
	// Far off: a test that hangs should say where.
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		f.Fatal(err)
	}
	return &peer{f.T, conn}
}

// join dials and reads the hello.
func (f *fixture) join(query string) (*peer, pluginsdk.Event) {
	f.Helper()
	p := f.dial(query)
	hello := p.next()
	if hello.Type != eventHello {
		f.Fatalf("first frame is %s", hello.Type)
	}
	return p, hello
}

func (p *peer) next() pluginsdk.Event {
	p.Helper()
	var event pluginsdk.Event
	if err := p.conn.ReadJSON(&event); err != nil {
		p.Fatalf("read: %v", err)
	}
	return event
}

// expect reads frames, written as TYPE@SEQ.
func (p *peer) expect(frames ...string) {
	p.Helper()
	for _, want := range frames {
		event := p.next()
		if got := fmt.Sprintf("%s@%d", event.Type, event.Seq); got != want || event.Boot != boot {
			p.Fatalf("got %s of %s; want %s", got, event.Boot, want)
		}
	}
}

// farewell reads to the close frame and returns its code and text, and how many
// frames came before it.
func (p *peer) farewell() (code int, text string, before []pluginsdk.Event) {
	p.Helper()
	for {
		_, raw, err := p.conn.ReadMessage()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code, closed.Text, before
		}
		if err != nil {
			p.Fatalf("no close frame: %v", err)
		}
		var event pluginsdk.Event
		if err := json.Unmarshal(raw, &event); err != nil {
			p.Fatal(err)
		}
		before = append(before, event)
	}
}

// only returns the hub's one client.
func (f *fixture) only() *client {
	f.Helper()
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	if len(f.hub.clients) != 1 {
		f.Fatalf("%d clients", len(f.hub.clients))
	}
	for c := range f.hub.clients {
		return c
	}
	return nil
}

// refused asks for a socket and returns the answer that is none.
func (f *fixture) refused(query string) (*http.Response, string) {
	f.Helper()
	conn, answer, err := websocket.DefaultDialer.Dial(f.url+query, nil)
	if err == nil {
		_ = conn.Close()
		f.Fatalf("%s is accepted", query)
	}
	if answer == nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	var problem struct{ Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil {
		f.Fatal(err)
	}
	return answer, problem.Detail
}
