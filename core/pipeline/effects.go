package pipeline

import (
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxRunEffects is how much an attempt of a run stores of what hooks did to it,
// in bytes.
const maxRunEffects = 8 << 20

// pending are the effects that wait for the run's next commit. Steered messages
// are told of while the turn runs, so there may be several who add.
type pending struct {
	mu      sync.Mutex
	effects []ledger.Effect
	bytes   int // of all that were admitted, those that are stored included
}

// collect takes a hook's effects up, as far as they are allowed.
func (p *Pipeline) collect(t *trip, plugin string, effects *pluginsdk.Effects) {
	if effects == nil || len(effects.Rows)+len(effects.Metrics) == 0 {
		return
	}
	t.pending.mu.Lock()
	defer t.pending.mu.Unlock()
	if t.thread.ID == "" { // a turn of no thread: there is nowhere to put rows
		effects = &pluginsdk.Effects{Key: effects.Key, Metrics: effects.Metrics}
	}
	admitted, size := p.effects.AdmitEffects(t.work, plugin, effects, maxRunEffects-t.pending.bytes)
	if len(admitted.Rows)+len(admitted.Metrics) == 0 {
		return
	}
	t.pending.bytes += size
	t.pending.effects = append(t.pending.effects, admitted)
}

// waiting returns the effects that the next commit is to store.
func (p *pending) waiting() []ledger.Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

// stored takes off what a commit has stored: the first n.
func (p *pending) stored(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects = slices.Delete(p.effects, 0, n)
}

// takeFrom takes off the effects from the nth on.
func (p *pending) takeFrom(n int) []ledger.Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	later := slices.Clone(p.effects[n:])
	p.effects = p.effects[:n]
	return later
}

// add puts effects that were admitted behind the others.
func (p *pending) add(effects []ledger.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects = append(p.effects, effects...)
}
