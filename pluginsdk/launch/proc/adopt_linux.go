package proc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of each descendant whose own parent ends (prctl(2),
// PR_SET_CHILD_SUBREAPER). Without that the system's first process becomes the parent, and
// nobody can tell who has started the descendant. Adopt also waits for adopted processes
// that end, until release is called. What the process starts itself must either stay in its
// process group, or be started by Start: Adopt takes every other child for an adopted one.
func Adopt() (release func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt detached processes: %w", err)
	}
	ended, quit := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, unix.SIGCHLD)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			reapAdopted()
			select {
			case <-ended:
			case <-quit:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		signal.Stop(ended)
		close(quit)
		work.Wait()
	}), nil
}

// EndAdopted kills the adopted processes and what is below them, until none is left or the
// time is over. It returns how many it has killed.
func EndAdopted(limit time.Duration) int {
	killed := map[ID]bool{}
	for deadline := time.Now().Add(limit); ; {
		left := adopted()
		if len(left) == 0 || time.Now().After(deadline) {
			return len(killed)
		}
		for _, stat := range left {
			if stat.ID.Signal(os.Kill) {
				killed[stat.ID] = true
			}
		}
		<-time.After(2 * time.Millisecond) // their ends are told to their parents only
	}
}

// adopted returns the living processes that were adopted, and those below them.
func adopted() []Stat {
	var r Reader
	all := r.family()
	var top, found []Stat
	children.Lock()
	for _, child := range all[os.Getpid()] {
		if _, started := children.started[child.ID.PID]; started || child.Group == unix.Getpgrp() {
			continue
		}
		if top = append(top, child); !child.Dead() {
			found = append(found, child)
		}
	}
	children.Unlock()
	return append(found, all.below(top...)...)
}

// reapAdopted waits for the adopted processes that have ended. It stops at a child that
// somebody else is about to wait for; the signal of the next child's end calls it again.
func reapAdopted() {
	for {
		if !reapOne() {
			return
		}
	}
}

// reapOne holds the lock of Start from the look at a child to its end, so that its number
// stays the child's.
func reapOne() bool {
	children.Lock()
	defer children.Unlock()
	pid := endedChild()
	if pid <= 0 {
		return false
	}
	_, started := children.started[pid]
	group, err := unix.Getpgid(pid)
	if started || err != nil || group == unix.Getpgrp() {
		return false
	}
	_, err = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return err == nil
}

// endedChild returns a child that has ended and was not waited for; 0: there is none.
func endedChild() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0
		}
		break
	}
	// si_pid of siginfo_t (sigaction(2)): behind three numbers, aligned as a pointer is.
	offset := uintptr(12)
	if unsafe.Sizeof(uintptr(0)) == 8 {
		offset = 16
	}
	pid := *(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))
	runtime.KeepAlive(&info)
	return int(pid)
}
