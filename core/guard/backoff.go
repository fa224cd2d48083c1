package guard

import (
	"math/rand/v2"
	"time"
)

// Backoff is how long is waited before what has failed is tried again.
type Backoff struct {
	Base, Max time.Duration
	Jitter    float64 // how far a wait is spread, either way, as a part of it
}

// After returns the wait after so many failures in a row: Base after the first, twice
// as long after each further one, up to Max, spread by Jitter.
func (b Backoff) After(failures int) time.Duration {
	wait := min(b.Base, b.Max)
	for range failures - 1 {
		if wait = min(2*wait, b.Max); wait == b.Max {
			break
		}
	}
	spread := b.Jitter * (2*rand.Float64() - 1) //nolint:gosec // jitter, not a secret
	return time.Duration(float64(wait) * (1 + spread))
}
