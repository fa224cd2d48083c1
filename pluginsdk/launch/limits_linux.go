package launch

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// setRlimits bounds a process that has just been started, from outside:
// syscall.SysProcAttr has no door for it. Between exec(2) and this call, some
// tens of microseconds, the plugin runs without: what it opens then it keeps,
// and a child that it forks then has no limit. The cgroup has no such gap.
func setRlimits(pid int, limits Limits) error {
	if err := lowerRlimit(pid, unix.RLIMIT_CORE, 0); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	if limits.OpenFiles == 0 {
		return nil
	}
	if err := lowerRlimit(pid, unix.RLIMIT_NOFILE, uint64(limits.OpenFiles)); err != nil {
		return fmt.Errorf("limit the open files to %d: %w", limits.OpenFiles, err)
	}
	return nil
}

// lowerRlimit sets both the soft and the hard limit, but never above the hard
// one that the process has.
func lowerRlimit(pid, resource int, limit uint64) error {
	var now unix.Rlimit
	err := unix.Prlimit(pid, resource, nil, &now)
	if err == nil {
		limit = min(limit, now.Max)
		err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended already
	}
	return err
}

// startInto makes a command start in the cgroup whose directory is open.
func startInto(attr *syscall.SysProcAttr, dir *os.File) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
}
