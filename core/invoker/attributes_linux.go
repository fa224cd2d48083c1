package invoker

import (
	"os"
	"syscall"
)

const terminateSignal = syscall.SIGTERM

// processAttributes puts the CLI into a process group of its own and has the
// kernel send it SIGTERM, at which it saves its transcript, when the daemon
// dies. The signal follows the thread that forked: see forker.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// killGroup kills a process that has not been waited for, and its group.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	_ = process.Kill()
}
