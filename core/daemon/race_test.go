//go:build race

package daemon_test

// slowdown is what the race detector's bookkeeping costs: tests that repeat
// themselves repeat themselves less.
const slowdown = 4
