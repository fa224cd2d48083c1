//go:build race

package pluginhost

// raced says that the race detector looks on.
const raced = true
