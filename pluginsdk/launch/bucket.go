package launch

import "time"

// bucket measures a rate: it is filled by what happens and leaks evenly.
type bucket struct {
	rate  float64 // what leaks out a second
	burst float64 // what fits in

	level float64
	at    time.Time // of the level
}

// allow fills in one, if that fits.
func (b *bucket) allow(now time.Time) bool {
	b.leak(now)
	if b.level+1 > b.burst {
		return false
	}
	b.level++
	return true
}

// owe fills in n, whether that fits or not, and returns how long it takes
// until the bucket no longer overflows.
func (b *bucket) owe(n int, now time.Time) time.Duration {
	b.leak(now)
	b.level += float64(n)
	return time.Duration(max(0, b.level-b.burst) / b.rate * float64(time.Second))
}

func (b *bucket) leak(now time.Time) {
	b.level = max(0, b.level-now.Sub(b.at).Seconds()*b.rate)
	b.at = now
}
