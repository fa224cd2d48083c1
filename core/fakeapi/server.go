package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Server is a fake Messages API. It is safe for concurrent use.
type Server struct {
	http     http.Server
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	handler  func(Request) Reply
	requests []Request
	keep     int           // how many of them; 0: all
	arrived  chan struct{} // closed and replaced with every request
	released map[string]chan struct{}
	messages int // made so far; numbers their ids
	calls    []*Call
	windows  map[string]Windows // by model; "": of all
	models   []Model
	strict   bool // only the models are answered for
}

// New returns a server that does not listen yet.
func New() *Server {
	s := &Server{
		arrived: make(chan struct{}), released: map[string]chan struct{}{},
		windows: map[string]Windows{}, models: defaultModels,
	}
	s.http.Handler = s.routes()
	return s
}

// Listen serves on an address, such as 127.0.0.1:0, until Close.
func (s *Server) Listen(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.listener = listener
	s.serving.Go(func() { _ = s.http.Serve(listener) })
	return nil
}

// Close ends the server and the requests that it still answers.
func (s *Server) Close() error {
	err := s.http.Close()
	s.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// URL is what ANTHROPIC_BASE_URL has to be. Listen must have been called.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Handle lets handler decide all replies from now on; nil gives that back to
// the directives. A handler may be called concurrently.
func (s *Server) Handle(handler func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Keep bounds how many of the requests received are kept, from now on: the
// newest n. 0, as at the start, keeps all.
func (s *Server) Keep(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = n
}

// Release lets every reply go on that waits, or will wait, for block:name.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := s.gate(name)
	select {
	case <-gate:
	default:
		close(gate)
	}
}

// gate returns the channel that Release closes. Called with the lock held.
func (s *Server) gate(name string) chan struct{} {
	if s.released[name] == nil {
		s.released[name] = make(chan struct{})
	}
	return s.released[name]
}

// Requests returns what was received so far, in order: the requests that every
// filter holds for.
func (s *Server) Requests(filters ...func(Request) bool) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.requests {
		if all(filters, r) {
			found = append(found, r)
		}
	}
	return found
}

// all reports whether every filter holds for a request.
func all(filters []func(Request) bool, r Request) bool {
	return !slices.ContainsFunc(filters, func(holds func(Request) bool) bool { return !holds(r) })
}

// Wait returns the first request, of those received or to come, that every
// filter holds for.
func (s *Server) Wait(ctx context.Context, filters ...func(Request) bool) (Request, error) {
	return s.WaitN(ctx, 1, filters...)
}

// WaitN returns the nth such request, counted from 1.
func (s *Server) WaitN(ctx context.Context, n int, filters ...func(Request) bool) (Request, error) {
	for {
		s.mu.Lock()
		arrived := s.arrived
		s.mu.Unlock()
		if found := s.Requests(filters...); len(found) >= n {
			return found[n-1], nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for request %d: %w", n, context.Cause(ctx))
		}
	}
}

// record keeps a request and returns who replies to it.
func (s *Server) record(r Request) (handler func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.keep > 0 && len(s.requests) > s.keep {
		s.requests = slices.Delete(s.requests, 0, len(s.requests)-s.keep)
	}
	close(s.arrived)
	s.arrived = make(chan struct{})
	if s.handler != nil {
		return s.handler
	}
	return Directed
}

func (s *Server) nextID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	return s.messages
}
