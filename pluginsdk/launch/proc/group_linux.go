package proc

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attributes put a child into a process group of its own, and have the kernel send it
// the signal when its parent dies: when the thread that forked it ends, see Forker.
func Attributes(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
}

// awaitEnd waits until a child has ended, and leaves it to be waited for: until then no
// other process, and no group, gets its number. It reports whether that is so.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
