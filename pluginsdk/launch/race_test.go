//go:build race

package launch_test

// raced: the test runs under the race detector, several times as slow.
const raced = true
