// Package tally counts: the calls of one thing, and the figures that rooms tell of
// themselves.
package tally

import (
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// recentCalls is how many calls the quantiles are taken from.
const recentCalls = 512

// Calls counts the calls of one thing. The zero value has counted none. Who uses it
// locks it.
type Calls struct {
	calls, errors, timeouts int64
	recent                  [recentCalls]time.Duration
}

// Record counts a call. One that failed with CodeDeadline counts as a timeout, and
// as an error.
func (c *Calls) Record(took time.Duration, err error) {
	c.recent[c.calls%recentCalls] = took
	c.calls++
	if err == nil {
		return
	}
	c.errors++
	if pluginsdk.CodeOf(err) == pluginsdk.CodeDeadline {
		c.timeouts++
	}
}

// Figures returns what was counted; the quantiles are of the latest calls.
func (c *Calls) Figures() pluginsdk.CallFigures {
	figures := pluginsdk.CallFigures{Calls: c.calls, Errors: c.errors, Timeouts: c.timeouts}
	if c.calls > 0 {
		recent := slices.Sorted(slices.Values(c.recent[:min(c.calls, recentCalls)]))
		figures.P50, figures.P99 = quantile(recent, 0.50), quantile(recent, 0.99)
	}
	return figures
}

// quantile is the nearest rank; sorted must be, and not empty.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
