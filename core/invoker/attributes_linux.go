package invoker

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// awaitEnd waits until a child has ended, and leaves it to be waited for: until
// then no other process, and no group, gets its number. It reports whether that is so.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
