// Package clienttest is a stand-in for the daemon's HTTP API, for tests of what
// talks to it. It keeps threads, messages and runs in memory, streams events,
// and can be stopped and started at the same address.
package clienttest

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Primary is the id of the thread that every Daemon begins with.
const Primary = "primary-thread"

// Daemon is the stand-in. Its methods may be called concurrently.
type Daemon struct {
	t       testing.TB
	address string
	work    sync.WaitGroup

	mu          sync.Mutex
	server      *http.Server
	answer      func(*Turn)
	deaf        bool // sockets are refused
	revoked     bool // nobody is let in
	forbidden   bool // answers that people hand in are refused
	threads     []pluginsdk.Thread
	commands    []pluginsdk.Command
	plugins     []client.Plugin
	messages    []pluginsdk.Message
	runs        []client.Run
	keys        map[string]pluginsdk.Accepted
	posts       int
	refusal     string // posts are refused with this detail
	failing     int    // this many posts are carried out and their answers lost
	unavailable int    // this many requests that read are answered with 503
	shortest    int    // the most rows of a page; 0 leaves it to the request
	swollen     bool   // no run can be read by itself
	boot        int
	events      []pluginsdk.Event
	sockets     map[*websocket.Conn]struct{}
	watched     sync.Once
	reading     chan struct{}
	cancels     map[string]chan struct{} // by run
	ended       []string                 // the runs whose end was asked for

	files      []kept
	attached   []string // names of the files that messages refer to
	deliveries []pluginsdk.Delivery
	tools      []tool
	tasks      []client.TaskHistory
	worded     []string          // what was said of tasks
	workflows  []client.Workflow // newest first
	approvals  []*asked
	rules      []pluginsdk.ApprovalRule
	answered   []string // what was said of approvals
	unanswered int      // this many answers to approvals are refused with 503
	attended   []bool   // of the messages, whether somebody is there to answer
}

// New starts a Daemon that answers every message with answer, on a goroutine of
// the message's own. It ends with the test.
func New(t testing.TB, answer func(*Turn)) *Daemon {
	t.Helper()
	d := &Daemon{
		t: t, address: "127.0.0.1:0", answer: answer,
		reading: make(chan struct{}), keys: make(map[string]pluginsdk.Accepted), sockets: make(map[*websocket.Conn]struct{}),
		threads: []pluginsdk.Thread{{
			ID: Primary, Source: "web", SourceID: "primary", Name: "Primary", Kind: pluginsdk.ThreadPrimary,
			LastActivity: time.Now().Add(-time.Hour),
		}},
	}
	d.Start()
	t.Cleanup(func() {
		d.Stop()
		d.work.Wait()
	})
	return d
}

// URL is the address to give to a client.
func (d *Daemon) URL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return "http://" + d.address
}

// Start listens, again at the same address after Stop, under a new boot id.
func (d *Daemon) Start() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		d.t.Fatalf("listen: %v", err)
	}
	d.address = listener.Addr().String()
	d.boot++
	d.events = nil
	server := &http.Server{Handler: d.routes(), ReadHeaderTimeout: time.Minute}
	d.server = server
	d.work.Go(func() { _ = server.Serve(listener) })
}

// Stop ends every connection and listens no more.
func (d *Daemon) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.server.Close()
	d.cutSockets()
}

// Deafen ends the event sockets and refuses new ones, until told otherwise.
func (d *Daemon) Deafen(deaf bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deaf = deaf
	if deaf {
		d.cutSockets()
	}
}

// CutSockets ends the event sockets; they may be opened again.
func (d *Daemon) CutSockets() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutSockets()
}

func (d *Daemon) cutSockets() {
	for conn := range d.sockets {
		_ = conn.Close()
	}
	clear(d.sockets)
}

// LoseAnswers carries out the next posts of messages and closes their
// connections instead of answering.
func (d *Daemon) LoseAnswers(posts int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing = posts
}

// LoseDatabase answers the next requests that read with 503.
func (d *Daemon) LoseDatabase(requests int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unavailable = requests
}

// Refuse refuses posts of messages, with 422 and this detail.
func (d *Daemon) Refuse(detail string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusal = detail
}

// Revoke answers everything with 401 from now on, and ends the event sockets.
func (d *Daemon) Revoke() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revoked = true
	d.cutSockets()
}

// Shorten gives pages of at most this many rows, whatever is asked for.
func (d *Daemon) Shorten(rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shortest = rows
}

// Swell makes the records of runs too large to be read, one by one.
func (d *Daemon) Swell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swollen = true
}

// Turn returns the turn of a run that was accepted.
func (d *Daemon) Turn(accepted pluginsdk.Accepted) *Turn {
	return &Turn{Accepted: accepted, daemon: d}
}

// Watched is closed once somebody has read how a run stands.
func (d *Daemon) Watched() <-chan struct{} { return d.reading }

// Posts returns how often a message was posted, repeats included.
func (d *Daemon) Posts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.posts
}

// Said returns the messages that people said.
func (d *Daemon) Said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var said []string
	for _, message := range d.messages {
		if message.Role == pluginsdk.RoleUser {
			said = append(said, message.Content)
		}
	}
	return said
}

// Attended returns, of the messages that people said, whether somebody is there to answer
// what the agent asks.
func (d *Daemon) Attended() []bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.attended)
}

// AddThread adds a thread.
func (d *Daemon) AddThread(thread pluginsdk.Thread) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.threads = append(d.threads, thread)
}

// AddMessage stores a row and returns its id.
func (d *Daemon) AddMessage(message pluginsdk.Message) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addMessage(message)
}

func (d *Daemon) addMessage(message pluginsdk.Message) int64 {
	message.ID = int64(len(d.messages) + 1)
	d.messages = append(d.messages, message)
	return message.ID
}

// accept stores a message with its run, as the inbox does.
func (d *Daemon) accept(request client.ChatRequest) (accepted pluginsdk.Accepted, turn *Turn) {
	key := request.Source + "\x00" + request.IdempotencyKey
	if accepted, ok := d.keys[key]; ok {
		accepted.Existed = true
		return accepted, nil
	}
	id := d.addMessage(pluginsdk.Message{
		ThreadID: request.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText,
		Source: request.Source, Content: request.Content,
	})
	run := client.Run{
		ID: "run-" + strconv.Itoa(len(d.runs)+1), ThreadID: request.ThreadID, MessageID: id,
		Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued, Attempt: 1,
	}
	if _, _, ok := pluginsdk.ParseCommand(request.Content); ok {
		run.Kind = pluginsdk.RunCommand
	}
	d.runs = append(d.runs, run)
	d.attended = append(d.attended, !request.Unattended)
	d.messages[id-1].RunID = run.ID
	accepted = pluginsdk.Accepted{ThreadID: request.ThreadID, MessageID: id, RunID: run.ID}
	d.keys[key] = accepted
	d.publish(pluginsdk.EventChatMessage, request.ThreadID, pluginsdk.ChatMessage{
		ThreadID: request.ThreadID, MessageID: id, RunID: run.ID, Source: request.Source, Content: request.Content,
	})
	return accepted, &Turn{daemon: d, Accepted: accepted, Said: request.Content, Cancelled: d.cancelled(run.ID)}
}
