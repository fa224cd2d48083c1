package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// watching is a Watch under way.
type watching struct {
	events chan pluginsdk.Event
	up     chan struct{}
	down   chan struct{}
	ended  chan error
	stop   context.CancelFunc
}

func watch(t *testing.T, c *client.Client) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{
		events: make(chan pluginsdk.Event, 100), up: make(chan struct{}, 100), down: make(chan struct{}, 1000),
		ended: make(chan error, 1), stop: cancel,
	}
	go func() {
		defer close(w.ended)
		w.ended <- c.Watch(ctx, client.Subscription{
			Threads: []string{clienttest.Primary},
			Event:   func(event pluginsdk.Event) { w.events <- event },
			Up:      func() { w.up <- struct{}{} },
			Down: func(error) {
				select {
				case w.down <- struct{}{}:
				default:
				}
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		for range w.ended { // until it has ended
			continue
		}
	})
	return w
}

// Without the position of the last event, a terminal would lose what happens
// while it reconnects.
func TestAWatchGoesOnAfterTheLastEvent(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	w := watch(t, connect(t, daemon.URL()))
	<-w.up
	daemon.Publish("test:one", clienttest.Primary, nil)
	if event := <-w.events; event.Type != "test:one" {
		t.Fatalf("first event is %s", event.Type)
	}
	daemon.Deafen(true)
	<-w.down
	daemon.Publish("test:missed", clienttest.Primary, nil)
	daemon.Deafen(false)
	<-w.up
	daemon.Publish("test:two", clienttest.Primary, nil)
	for _, want := range []pluginsdk.EventType{"test:missed", "test:two"} {
		if event := <-w.events; event.Type != want {
			t.Fatalf("event is %s; want %s", event.Type, want)
		}
	}
}

// After a restart old positions mean nothing; the reader must be told to look
// at the database.
func TestAWatchIsToldThatADaemonWasRestarted(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	w := watch(t, connect(t, daemon.URL()))
	<-w.up
	daemon.Stop()
	<-w.down
	daemon.Start()
	<-w.up
	if event := <-w.events; event.Type != pluginsdk.EventResync {
		t.Fatalf("event is %s; want %s", event.Type, pluginsdk.EventResync)
	}
	daemon.Publish("test:new", clienttest.Primary, nil)
	if event := <-w.events; event.Type != "test:new" {
		t.Fatalf("event is %s; want test:new", event.Type)
	}
}

func TestAWatchThatIsRefusedEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"detail":"the Host header names a host that is not allowed"}`))
	}))
	defer server.Close()
	err := connect(t, server.URL).Watch(t.Context(), client.Subscription{})
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Detail != "the Host header names a host that is not allowed" {
		t.Errorf("err = %v; want the Problem", err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	w := watch(t, connect(t, daemon.URL()))
	<-w.up
	w.stop()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v; want context.Canceled", err)
	}
}
