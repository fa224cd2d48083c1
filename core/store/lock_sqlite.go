package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// directoryOnly is the grip of a database that needs nothing beside the lock on
// its directory, which cannot be lost.
type directoryOnly struct{}

func (directoryOnly) lost() <-chan struct{}           { return nil }
func (directoryOnly) held(context.Context, *tx) error { return nil }
func (directoryOnly) regain(context.Context) error    { return nil }
func (directoryOnly) release()                        {}

func (b *sqliteBackend) lock(context.Context, string) (grip, error) { return directoryOnly{}, nil }

// lockDir holds a flock on a file in the data directory. The kernel drops it
// with the process, so it cannot be lost and needs no cleaning up. The file's
// content is for the error message of whoever comes second.
func lockDir(dir, owner string) (release func(), err error) {
	path := filepath.Join(dir, "harness.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 200)) // for the message only
		file.Close()                                       // nothing was written
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict,
			"the data directory %s is in use by %s; stop that process first", dir, holderName(holder))
	}
	if err := errors.Join(file.Truncate(0), writeHolder(file, owner)); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, errors.Join(err, file.Close()))
	}
	return sync.OnceFunc(func() { file.Close() }), nil
}

const (
	// lockTries is how often, and lockPause how far apart, the lock is asked
	// for: who only looks whether a daemon runs holds it for an instant.
	lockTries = 5
	lockPause = 20 * time.Millisecond
)

func flock(file *os.File) (err error) {
	for try := range lockTries {
		if try > 0 {
			<-time.After(lockPause)
		}
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
	return err
}

func writeHolder(file *os.File, owner string) error {
	name := fmt.Sprintf("pid %d", os.Getpid())
	switch {
	case strings.HasPrefix(owner, name):
		name = owner
	case owner != "":
		name += " (" + owner + ")"
	}
	_, err := file.WriteAt([]byte(name+"\n"), 0)
	return err
}

func holderName(content []byte) string {
	if name := strings.TrimSpace(string(content)); name != "" {
		return name
	}
	return "another process"
}
