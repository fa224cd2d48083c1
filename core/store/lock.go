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

// Lease is the right to be the one daemon of a database.
type Lease struct {
	grip   grip
	unlock func() // of the data directory
}

// grip is a backend's part of a Lease.
type grip interface {
	// lost is closed when the lock is gone without release.
	lost() <-chan struct{}
	// held fails when the lock is not ours at this moment, as the database that
	// tx is of sees it.
	held(ctx context.Context, tx *tx) error
	// regain takes a lost lock again. It fails when somebody else has it, and
	// when the database does not answer.
	regain(ctx context.Context) error
	release()
}

// Lock makes this process the one daemon of the database, and of the data
// directory, until the Lease is released. Owner names it for people. It fails
// (CodeConflict, naming the holder) when there is another. Commands that
// only look or change settings need no lock.
func (s *Store) Lock(ctx context.Context, owner string) (lease *Lease, err error) {
	lease = &Lease{unlock: func() {}}
	if s.config.Dir != "" { // the directory has one daemon too, wherever the database is
		if lease.unlock, err = lockDir(s.config.Dir, owner); err != nil {
			return nil, wrap("lock the data directory", err)
		}
	}
	if lease.grip, err = s.back.lock(ctx, owner); err != nil {
		lease.unlock()
		return nil, wrap("lock the database", err)
	}
	s.lease.Store(lease)
	return lease, nil
}

// holds fails when this store has had the lock and has lost it, noticed or not.
// A write that is the holder's alone calls it last in its transaction: who still holds the
// lock then has held it all the time, so that no other daemon has acted meanwhile.
func (s *Store) holds(ctx context.Context, tx *tx) error {
	if lease := s.lease.Load(); lease != nil {
		return lease.grip.held(ctx, tx)
	}
	return nil
}

// Lost is closed when the lock is gone without Release: its holder must stop
// dispatching at once. After Regain, Lost is another channel.
func (l *Lease) Lost() <-chan struct{} { return l.grip.lost() }

// Regain tries once to take a lost lock again. CodeConflict says that another
// daemon has it, any other error that the database does not answer yet.
func (l *Lease) Regain(ctx context.Context) error {
	return wrap("take the lock on the database again", l.grip.regain(ctx))
}

// Release gives the lock back. It may be called more than once.
func (l *Lease) Release() {
	l.grip.release()
	l.unlock()
}

// inUse is the refusal of a lock that another daemon holds.
func inUse(holder string) error {
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "the database is in use by %s; stop that daemon first", holder)
}

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
