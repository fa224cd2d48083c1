package conform

import (
	"context"
	"time"
)

// glance is how often a condition is looked at that nothing tells of.
const glance = 5 * time.Millisecond

// until waits for a condition, at most so long, and reports whether it came.
func until(ctx context.Context, limit time.Duration, condition func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticks := time.NewTicker(glance)
	defer ticks.Stop()
	for !condition() {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return condition()
		}
	}
	return true
}
