package lanes

import "sync"

// Gate is something that lanes wait for without a goroutine: that a plugin serves. While
// it is shut, a key that comes to it is kept, and woken when it opens. It is open at
// first, and safe for concurrent use.
type Gate[K comparable] struct {
	mu     sync.Mutex
	opened int // how often
	shut   bool
	kept   map[K]struct{}
}

// Pass reports whether the gate is open. If it is not, Open wakes the key, and a step is
// to return Idle. seen is for Shut.
func (g *Gate[K]) Pass(key K) (seen int, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		if g.kept == nil {
			g.kept = make(map[K]struct{})
		}
		g.kept[key] = struct{}{}
	}
	return g.opened, !g.shut
}

// Shut shuts the gate for who has passed it and found that it should not be open. It does
// not when the gate was opened since that Pass (seen): what was found may hold no more,
// and nobody would open it again. It reports whether the gate was open, and is shut now.
func (g *Gate[K]) Shut(seen int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut || g.opened != seen {
		return false
	}
	g.shut = true
	return true
}

// Open opens the gate, and wakes the keys that were kept.
func (g *Gate[K]) Open(wake func(K)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened++
	g.shut = false
	for key := range g.kept {
		wake(key)
	}
	clear(g.kept)
}
