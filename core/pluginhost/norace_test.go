//go:build !race

package pluginhost

const raced = false
