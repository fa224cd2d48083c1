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
	life   context.Context
	end    context.CancelFunc
}

// besideRuns reports whether the call is that of a hook or a tool which no run or task has called:
// of Deliver, of OnBroadcast, or of a tool that another plugin has called of its own accord.
func (g grant) besideRuns() bool {
	return g.plugin != "" && g.origin.Cause() == "" && g.origin.TaskID == ""
}

// NewTokens returns an empty set.
func NewTokens() *Tokens { return &Tokens{open: make(map[string]grant)} }

// Open returns a token that is good for the plugin until it is closed, or
// until the call's deadline: who closes it may notice that a moment later than
// the hook does. A token that is opened inside of another call ends with that
// one's.
func (t *Tokens) Open(plugin string, origin ledger.Behalf, deadline time.Time) string {
	token := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	life, end := context.WithDeadline(t.outer(origin.Token), deadline)
	t.open[token] = grant{plugin: plugin, origin: origin, life: life, end: end}
	return token
}

// outer is the life that a new token's is part of. The lock is held.
func (t *Tokens) outer(token string) context.Context {
	if token == "" {
		return context.Background()
	}
	if outer, ok := t.open[token]; ok {
		return outer.life
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return ended
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
	return g.life.Err() == nil && (!bounded || time.Now().Before(deadline))
}
