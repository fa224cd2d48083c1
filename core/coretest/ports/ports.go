// Package ports picks TCP ports for the servers of tests that have to be told theirs.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// The ports are below those that Linux hands out by itself (from 32768, by
// ip_local_port_range), to whoever asks for any and to each connection that is made: one of
// those may be in use again by the time a server starts on it.
const (
	lowest  = 12000
	highest = 32000
)

var (
	mu   sync.Mutex
	next = lowest + rand.IntN(highest-lowest) // other processes look for ports too
)

// Free returns a port of 127.0.0.1 that nothing listens on, and never the same twice. It
// may be called by any goroutine.
func Free() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	for range highest - lowest {
		port := next
		if next++; next == highest {
			next = lowest
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("every port of 127.0.0.1 from %d to %d is in use", lowest, highest-1)
}
