package store

import "context"

// Lock makes this process the one daemon of the database, and of the data
// directory, until release is called. Owner names it for people. It fails
// (CodeUnavailable, naming the holder) when there is another. Lost is closed
// when the lock is gone without release: its holder must stop dispatching at
// once. Commands that only look or change settings need no lock.
func (s *Store) Lock(ctx context.Context, owner string) (lost <-chan struct{}, release func(), err error) {
	unlock := func() {}
	if s.config.Dir != "" { // the directory has one daemon too, wherever the database is
		if unlock, err = lockDir(s.config.Dir, owner); err != nil {
			return nil, nil, wrap("lock the data directory", err)
		}
	}
	lost, free, err := s.back.lock(ctx, owner)
	if err != nil {
		unlock()
		return nil, nil, wrap("lock the database", err)
	}
	return lost, func() { free(); unlock() }, nil
}
