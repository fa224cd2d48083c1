package hostapi

import (
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

type grant struct {
	plugin   string
	fence    ledger.Fence
	deadline time.Time
}

// NewTokens returns an empty set.
func NewTokens() *Tokens { return &Tokens{open: make(map[string]grant)} }

// Open returns a token that is good for the plugin until it is closed, or
// until the call's deadline: who closes it may notice that a moment later than
// the hook does.
func (t *Tokens) Open(plugin string, fence ledger.Fence, deadline time.Time) string {
	token := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[token] = grant{plugin: plugin, fence: fence, deadline: deadline}
	return token
}

// Close makes the token worthless.
func (t *Tokens) Close(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, token)
}

func (t *Tokens) lookup(token string) (grant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.open[token]
	return g, ok && time.Now().Before(g.deadline)
}
