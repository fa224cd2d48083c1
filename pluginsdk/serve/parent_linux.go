package serve

import "golang.org/x/sys/unix"

// awaitEnd waits until one of the processes has ended, or returns sooner when there says that
// one has. It reports false when the kernel does not tell: one before Linux 5.3 does not, nor
// does any of a process outside of the container.
func awaitEnd(there func() bool, pids ...int) bool {
	ends := make([]unix.PollFd, 0, len(pids))
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return false
		}
		defer func() { _ = unix.Close(fd) }()
		ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) //nolint:gosec // a file descriptor
	}
	if !there() { // a number may be another process's by now
		return true
	}
	for {
		if _, err := unix.Poll(ends, -1); err != unix.EINTR {
			return err == nil
		}
	}
}
