package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden closes the process to others of the same user, its plugins among them:
// they can read neither its environment, where keys are, nor its memory, and it
// leaves no core file (prctl(2), PR_SET_DUMPABLE). Root can do both all the same.
// A debugger cannot attach either. What the process starts is not affected.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	return nil
}
