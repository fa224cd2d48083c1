//go:build !linux

package launch

import (
	"os"
	"syscall"
)

// setRlimits does nothing: a process cannot be limited from outside here.
func setRlimits(int, Limits) error { return nil }

// startInto does nothing: there are no cgroups here.
func startInto(*syscall.SysProcAttr, *os.File) {}
