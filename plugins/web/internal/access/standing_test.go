package access

import (
	"context"
	"log/slog"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What ends the right to a request in the instant in which it is let in ends it all the same.
func TestWhoComesInWhileTheyArePutOut(t *testing.T) {
	g := New(nil, nil, slog.New(slog.DiscardHandler), nil)
	enter := func(caller Caller) (words string) {
		inside, leave := g.enter(t.Context(), caller)
		defer leave()
		until, release := Until(inside)
		defer release()
		<-until.Done()
		words, _ = PutOut(until)
		return words
	}
	g.Hear([]pluginsdk.Event{{Type: pluginsdk.EventTokenRevoked, Data: []byte(`{"id":"A"}`)}})
	if words := enter(Caller{Token: pluginsdk.Token{ID: "A"}}); words != errRevoked.Error() {
		t.Errorf("a token that is revoked: %q", words)
	}
	g.Demand(true)
	if words := enter(Caller{Open: true}); words != errDemanded.Error() {
		t.Errorf("none where one is demanded: %q", words)
	}
	for _, caller := range []Caller{{Token: pluginsdk.Token{ID: "B"}}, {}} {
		inside, leave := g.enter(t.Context(), caller)
		until, release := Until(inside)
		if err := context.Cause(until); err != nil {
			t.Errorf("%+v is put out: %v", caller, err)
		}
		release()
		leave()
	}
	if n := len(g.inside.requests); n != 0 {
		t.Errorf("%d requests are remembered", n)
	}
}

// What goes on when its request is over is ended with the token all the same.
func TestWhatGoesOnBeyondItsRequestEndsWithTheToken(t *testing.T) {
	g := New(nil, nil, slog.New(slog.DiscardHandler), nil)
	ctx, over := context.WithCancel(t.Context())
	inside, leave := g.enter(ctx, Caller{Token: pluginsdk.Token{ID: "A"}})
	beyond, release := Beyond(inside)
	until, done := Until(beyond)
	leave()
	over()
	if err := context.Cause(until); err != nil {
		t.Fatalf("it ends with its request: %v", err)
	}
	g.Hear([]pluginsdk.Event{{Type: pluginsdk.EventTokenRevoked, Data: []byte(`{"id":"A"}`)}})
	<-until.Done()
	if words, _ := PutOut(until); words != errRevoked.Error() {
		t.Errorf("it ends with %q", words)
	}
	done()
	release()
	if n := len(g.inside.requests); n != 0 {
		t.Errorf("%d requests are remembered", n)
	}
}
