// Package fake is a Discord for tests: its HTTP API, its gateway and its store of files,
// as strict as Discord's documentation, with the people who write there and the faults
// that happen there. What the bot does against the documentation is a breach, which is
// recorded by the name of its rule (rules.go) and answered as Discord answers it.
//
// Everything is reachable over HTTP as well, so that tests that may not import this
// package run fake/serve and speak JSON to /control (control.go).
//
// What a test asks that cannot be, such as a message in a channel that there is not,
// panics with a sentence; over HTTP it is answered with 400 and the sentence.
package fake

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says what kind of Discord it is. The zero of a field is what Discord does.
type Config struct {
	Token string // of the bot, without "Bot "; default "token"
	Base  string // http://host:port; learned from requests when empty
	Seed  uint64 // of everything random

	HeartbeatInterval time.Duration // default 41.25 s
	HeartbeatGrace    time.Duration // how late a heartbeat may be; default 2 s and a quarter of the interval
	Lag               time.Duration // after which the bot has what it was sent; default 2 s
	IdentifyEvery     time.Duration // one identify in that time; default 5 s
	AfterInvalid      time.Duration // least time from op 9 to the next identify; default none
	SessionStarts     int           // a day; default 1000
	SessionFor        time.Duration // how long a session without a connection is kept; default 3 minutes
	CompressFrom      int           // bytes from which payloads are compressed if asked; default 300
	Privileged        int           // privileged intents that the app may use; default MESSAGE_CONTENT; -1 for none

	NonceFor          time.Duration // how long a nonce is remembered; default 3 minutes
	InteractionWithin time.Duration // to the first answer; default 3 s
	InteractionFor    time.Duration // the life of a token; default 15 minutes

	Limits   map[string]Limit // by the name of a bucket (limits.go), in place of its default
	Global   int              // requests a second; default 50
	NoLimits bool             // for tests of something else

	// TellNonces makes the nonce of a message part of it wherever it is read. The
	// documentation leaves that open; otherwise only the answer to its sending and the
	// event have it.
	TellNonces bool

	// OwnerIsTeam makes the application belong to a team instead of a person.
	OwnerIsTeam bool
}

func (c *Config) defaults() {
	set := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	if c.Token == "" {
		c.Token = "token"
	}
	set(&c.HeartbeatInterval, 41250*time.Millisecond)
	set(&c.HeartbeatGrace, 2*time.Second+c.HeartbeatInterval/4)
	set(&c.Lag, 2*time.Second)
	set(&c.IdentifyEvery, 5*time.Second)
	set(&c.SessionFor, 3*time.Minute)
	set(&c.NonceFor, 3*time.Minute)
	set(&c.InteractionWithin, 3*time.Second)
	set(&c.InteractionFor, 15*time.Minute)
	if c.SessionStarts == 0 {
		c.SessionStarts = 1000
	}
	if c.CompressFrom == 0 {
		c.CompressFrom = 300
	}
	if c.Privileged == 0 {
		c.Privileged = intentMessageContent
	}
	if c.Global == 0 {
		c.Global = 50
		if c.NoLimits {
			c.Global = 100000
		}
	}
}

// Server is the fake. All its methods may be called at any time, by several goroutines.
type Server struct {
	config  Config
	handler http.Handler
	listen  *http.Server

	mu      sync.Mutex
	changed chan struct{} // closed and replaced by every change
	version int           // counts changes
	closed  chan struct{}
	offset  time.Duration // by which its clock is ahead
	lastID  uint64
	random  *rand.Rand
	base    string

	world
	limits
	faults   []*fault
	requests []*Request
	breaches []Breach

	sessions      map[string]*session
	conns         map[*conn]bool
	mostConns     int
	identifies    []time.Time
	tooSoon       int // identifies in a row that came too soon
	lastInvalid   time.Time
	final         string // as what the bot is not to come again, after a close code that says so
	refuse        refusing
	eventFaults   []*EventFault
	interactions  map[string]*interaction
	interactionOf map[string]*interaction // by token
}

// New makes a Discord with nobody in it but the bot and the owner of its application.
func New(config Config) *Server {
	config.defaults()
	s := &Server{
		config:  config,
		changed: make(chan struct{}),
		closed:  make(chan struct{}),
		random:  rand.New(rand.NewPCG(config.Seed, 1)),
		base:    config.Base,

		sessions:      make(map[string]*session),
		conns:         make(map[*conn]bool),
		interactions:  make(map[string]*interaction),
		interactionOf: make(map[string]*interaction),
	}
	s.limits = newLimits(config)
	s.newWorld()
	s.handler = s.routes()
	return s
}

// ServeHTTP answers at /api/v10, /gateway, /resume, /attachments and /control.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.base == "" {
		s.base = "http://" + r.Host
	}
	s.mu.Unlock()
	s.handler.ServeHTTP(w, r)
}

// Listen serves at the address until Close and returns the base, "http://host:port".
// An empty address is a port of its own on 127.0.0.1.
func (s *Server) Listen(addr string) (string, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base == "" {
		s.base = "http://" + listener.Addr().String()
	}
	s.listen = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	server := s.listen
	go func() { _ = server.Serve(listener) }() // ends with Close, and says so
	return s.base, nil
}

// Close ends all connections. The server is of no use afterwards.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return
	default:
	}
	close(s.closed)
	for c := range s.conns {
		c.cut()
	}
	if s.listen != nil {
		_ = s.listen.Close() // the listener's only error is that it was closed before
	}
	s.touch()
}

// Base is where the server is, "http://host:port"; empty before its first request.
func (s *Server) Base() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base
}

// touch tells those who wait that something changed. The lock is held.
func (s *Server) touch() {
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Wait returns when the condition is met, which it asks after every change, or with the
// context's error.
func (s *Server) Wait(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if condition() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Advance puts the server's clock forward: nonces are forgotten, tokens end, limits
// reset. Heartbeats are not affected.
func (s *Server) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += by
	s.touch()
}

func (s *Server) now() time.Time { return time.Now().Add(s.offset) }

// epoch is the first second of 2015 in Unix milliseconds.
// Source: reference#snowflakes.
const epoch = 1420070400000

// id makes a snowflake, later than all before it. The lock is held.
func (s *Server) id() string {
	n := uint64(s.now().UnixMilli()-epoch) << 22
	if n <= s.lastID {
		n = s.lastID + 1
	}
	s.lastID = n
	return snowflake(n)
}
