//go:build race

package daemon_test

// raced says that the race detector looks on.
const raced = true
