package store

import "context"

// Lock makes this process the one daemon of the database until release is
// called. Owner names it for people. It fails (CodeUnavailable, naming the
// holder) when there is another. Lost is closed when the lock is gone without
// release: its holder must stop dispatching at once. Commands that only look
// or change settings need no lock.
func (s *Store) Lock(ctx context.Context, owner string) (lost <-chan struct{}, release func(), err error) {
	lost, release, err = s.back.lock(ctx, owner)
	return lost, release, wrap("lock the database", err)
}
