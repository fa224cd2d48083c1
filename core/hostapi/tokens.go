package hostapi

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// Tokens are the run tokens that are good: one for each hook call under way.
// A token ends with its call, so that what a late hook asks for is refused.
type Tokens struct {
	mu   sync.Mutex
	open map[string]grant
}

// grant is what a token stands for.
type grant struct {
	plugin string
	origin ledger.Behalf // of what is asked for under the token
	inside *grant        // of the call that this one was made in; nil: in none
	call   context.Context
	life   context.Context
	end    context.CancelFunc
}

// besideRuns reports whether the call is that of a hook or a tool which no run or task has called:
// of Deliver, of OnBroadcast, or of a tool that another plugin has called of its own accord.
func (g grant) besideRuns() bool {
	return g.plugin != "" && g.origin.Cause() == "" && g.origin.TaskID == ""
}

// typedByAPerson reports whether the call is the hook's of a command that a person has typed.
func (g grant) typedByAPerson() bool {
	return g.origin.Typed.Author != "" && !g.origin.Typed.OfAgent()
}

// NewTokens returns an empty set.
func NewTokens() *Tokens { return &Tokens{open: make(map[string]grant)} }

// Open returns a token that is good for the plugin until it is closed, the call is
// cancelled or its deadline is reached: the hook may learn of the end of its call a
// moment before Close is called. A token that is opened inside of another call ends
// with that one's.
func (t *Tokens) Open(call context.Context, plugin string, origin ledger.Behalf, deadline time.Time) string {
	token := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	opened := grant{plugin: plugin, origin: origin, call: call}
	outer := context.Background()
	if origin.Token != "" {
		opened.inside = t.outer(origin.Token)
		outer = opened.inside.life
	}
	opened.life, opened.end = context.WithDeadline(outer, deadline)
	t.open[token] = opened
	return token
}

// outer is the grant of the call that another one is made in. The lock is held.
func (t *Tokens) outer(token string) *grant {
	if outer, ok := t.open[token]; ok {
		return &outer
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return &grant{call: ended, life: ended}
}

// Close makes the token worthless, and those of the calls inside of its own.
func (t *Tokens) Close(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if closed, ok := t.open[token]; ok {
		closed.end()
		delete(t.open, token)
	}
}

func (t *Tokens) lookup(token string) (grant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.open[token]
	return g, ok && g.alive()
}

// alive goes by the clock: a timer that ends a context can be late.
func (g grant) alive() bool {
	deadline, bounded := g.life.Deadline()
	return g.life.Err() == nil && g.call.Err() == nil && (!bounded || time.Now().Before(deadline)) &&
		(g.inside == nil || g.inside.alive())
}
