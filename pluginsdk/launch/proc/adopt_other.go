//go:build !linux

package proc

import "time"

// Adopt does nothing here: detached processes go to the system's first process.
func Adopt() (release func(), err error) { return func() {}, nil }

// EndAdopted ends nothing here.
func EndAdopted(time.Duration) int { return 0 }
