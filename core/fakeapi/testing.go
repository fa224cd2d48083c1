package fakeapi

import (
	"bytes"
	"context"
	"time"
)

// TB is what this package needs of a testing.TB. The product has this package in it, and
// not the package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// waitLimit is how long a test waits for a request before it fails. The CLI
// needs about a second to start; a loaded machine several.
const waitLimit = time.Minute

// Start serves on loopback until the test ends.
func Start(t TB) *Server {
	t.Helper()
	s := New()
	if err := s.Listen("127.0.0.1:0"); err != nil {
		t.Fatalf("start the fake API: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the fake API: %v", err)
		}
	})
	return s
}

// WaitRequest is Wait with the test's own deadline: it fails the test instead
// of returning an error.
func (s *Server) WaitRequest(t TB, filters ...func(Request) bool) Request {
	t.Helper()
	return s.WaitRequests(t, 1, filters...)
}

// WaitRequests is WaitN likewise.
func (s *Server) WaitRequests(t TB, n int, filters ...func(Request) bool) Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	request, err := s.WaitN(ctx, n, filters...)
	if err != nil {
		t.Fatalf("%v (%d requests in all)", err, len(s.Requests()))
	}
	return request
}

// Saying is a filter for requests whose prompt contains text.
func Saying(text string) func(Request) bool {
	return func(r Request) bool { return r.Says(text) }
}

// Seeing is a filter for requests in which the model sees text anywhere, also in
// what the CLI wraps it in: a message that it takes into a running turn is a part
// of a tool's result. The text is plain: nothing that JSON escapes.
func Seeing(text string) func(Request) bool {
	return func(r Request) bool { return bytes.Contains(r.Body, []byte(text)) }
}
