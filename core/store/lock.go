package store

import (
	"context"

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
// A write that is the holder's alone calls it last: whatever another daemon has
// done before that, it did with the lock.
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
