package main

import (
	"os"
	"runtime"
)

// shareProcessors leaves half of the processors to the agents and plugins that the daemon waits for,
// unless the environment variable GOMAXPROCS says how many it uses. The steps of a turn follow one another:
// with more processors, Go wakes threads for it that find nothing to do, for a tenth of its CPU.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(halfOf(runtime.GOMAXPROCS(0)))
	}
}

func halfOf(processors int) int { return max(1, processors/2) }
