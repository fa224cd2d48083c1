//go:build !linux

package proc

import "syscall"

// Attributes put a child into a process group of its own. There is no signal at the death
// of its parent here: a child has to see that by itself.
func Attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitEnd cannot be had here.
func awaitEnd(int) bool { return false }
