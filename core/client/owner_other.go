//go:build !linux

package client

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// ownListener reports whether the daemon of the file's data directory is up, by its lock: whose
// program listens at a port is not known here.
func ownListener(_, file string) bool {
	lock, err := os.Open(filepath.Join(filepath.Dir(file), "harness.lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
