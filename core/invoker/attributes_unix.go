//go:build unix && !linux

package invoker

import (
	"os"
	"syscall"
)

const terminateSignal = syscall.SIGTERM

// processAttributes puts the CLI into a process group of its own. There is no
// parent-death signal here: a CLI ends when its stdin does, which happens when
// the daemon dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// killGroup kills a process that has not been waited for, and its group.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	_ = process.Kill()
}

// awaitEnd cannot be had here: for a moment after its end a process's number is
// free and not yet given up.
func awaitEnd(int) bool { return false }
