//go:build race

package conform_test

// raced says that the race detector looks on.
const raced = true
