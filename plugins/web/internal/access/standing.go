package access

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Why a request that was let in is ended before it is over: the causes of Until's context.
var (
	errRevoked  = errors.New("the token is revoked")
	errOver     = errors.New("the token is over")
	errDemanded = errors.New("a token is demanded from now on")
	errUnsure   = errors.New("whether the token is still good cannot be found out; try again")
)

type requestKey struct{}

// Until returns a context that ends with the right to make the request of ctx, for what takes
// longer than a request does: a download, a call that takes an hour, an event socket. What is
// over soon is let end, so that it is answered what has become of it; it may be what has
// ended the right. release is called when it is not needed any more.
func Until(ctx context.Context) (until context.Context, release func()) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return ctx, func() {}
	}
	until, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.right, func() { cancel(context.Cause(r.right)) })
	return until, func() {
		stop()
		cancel(nil)
	}
}

// Beyond returns a context for what goes on when the request of ctx is over. With Until it ends
// with the right to make that request; release says that it is done.
func Beyond(ctx context.Context) (beyond context.Context, release func()) {
	r, ok := ctx.Value(requestKey{}).(*request)
	beyond = context.WithoutCancel(ctx)
	if !ok {
		return beyond, func() {}
	}
	return r.gate.enter(beyond, r.caller)
}

// PutOut says why the gate has ended a context of Until; empty: it has not. again: the same
// caller may come again.
func PutOut(until context.Context) (words string, again bool) {
	switch cause := context.Cause(until); {
	case errors.Is(cause, errUnsure):
		return errUnsure.Error(), true
	case errors.Is(cause, errRevoked), errors.Is(cause, errOver), errors.Is(cause, errDemanded):
		return cause.Error(), false
	}
	return "", false
}

// standing are the requests that were let in and are not over.
type standing struct {
	mu       sync.Mutex
	requests map[*request]struct{}
	revoked  map[string]time.Time // ids of tokens: those whose request was let in and is not among requests yet
	asking   sync.WaitGroup
}

type request struct {
	gate   *Gate
	caller Caller
	right  context.Context // ends with the right to make it
	end    context.CancelCauseFunc
}

const (
	// rememberRevoked is longer than it takes to let a request in.
	rememberRevoked = time.Minute
	// recheckTimeout bounds the question whether a token is still good.
	recheckTimeout = 10 * time.Second
)

// enter keeps a request until leave is called.
func (g *Gate) enter(ctx context.Context, caller Caller) (inside context.Context, leave func()) {
	r := &request{gate: g, caller: caller}
	r.right, r.end = context.WithCancelCause(ctx)
	var timer *time.Timer
	if over := caller.Token.ExpiresAt; !over.IsZero() {
		timer = time.AfterFunc(time.Until(over), func() { r.end(errOver) })
	}
	g.inside.mu.Lock()
	defer g.inside.mu.Unlock()
	g.inside.requests[r] = struct{}{}
	if _, revoked := g.inside.revoked[caller.Token.ID]; revoked && caller.Known() {
		r.end(errRevoked)
	}
	if caller.Open && g.Demands() {
		r.end(errDemanded)
	}
	return context.WithValue(With(ctx, caller), requestKey{}, r), func() {
		if timer != nil {
			timer.Stop()
		}
		g.inside.mu.Lock()
		defer g.inside.mu.Unlock()
		delete(g.inside.requests, r)
		r.end(nil)
	}
}

// Demand says whether a token is demanded of everybody, of those too who were let in without.
func (g *Gate) Demand(on bool) {
	g.inside.mu.Lock()
	defer g.inside.mu.Unlock()
	g.demands.Store(on)
	for r := range g.inside.requests {
		if on && r.caller.Open {
			r.end(errDemanded)
		}
	}
}

// Hear takes in which tokens were revoked, and ends the requests that are made with them.
// It does not wait.
func (g *Gate) Hear(events []pluginsdk.Event) {
	for _, event := range events {
		switch event.Type { //nolint:exhaustive // the others say nothing of tokens
		case pluginsdk.EventTokenRevoked:
			g.tokens.forget()
			var token pluginsdk.TokenPayload
			if err := json.Unmarshal(event.Data, &token); err != nil || token.ID == "" {
				g.log.Error("a token was revoked, and it is not said which", "err", err)
				g.recheck()
				continue
			}
			g.revoke(token.ID)
		case pluginsdk.EventResync:
			g.tokens.forget()
			g.recheck()
		}
	}
}

func (g *Gate) revoke(id string) {
	now := time.Now()
	g.inside.mu.Lock()
	defer g.inside.mu.Unlock()
	for old, at := range g.inside.revoked {
		if now.Sub(at) > rememberRevoked {
			delete(g.inside.revoked, old)
		}
	}
	g.inside.revoked[id] = now
	for r := range g.inside.requests {
		if r.caller.Token.ID == id {
			r.end(errRevoked)
		}
	}
}

// recheck asks of each token with which a request is made whether it is good: that one is not
// may be among what was missed. When that cannot be found out, the request is ended too.
func (g *Gate) recheck() {
	g.inside.mu.Lock()
	defer g.inside.mu.Unlock()
	for r := range g.inside.requests {
		if r.caller.Known() {
			g.inside.asking.Go(func() {
				ctx, cancel := context.WithTimeout(r.right, recheckTimeout)
				defer cancel()
				switch _, err := g.check(ctx, r.caller.secret); {
				case Denied(err):
					r.end(errRevoked)
				case err != nil:
					r.end(errUnsure)
				}
			})
		}
	}
}

// Wait returns when nothing is asked about requests any more, which is soon after the last
// has ended.
func (g *Gate) Wait() { g.inside.asking.Wait() }
