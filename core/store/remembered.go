package store

import (
	"context"
	"sync"
)

// remembered is what a query has come to that is asked again and again. It is the same as long as nobody
// has committed anything.
type remembered[T any] struct {
	mu      sync.Mutex
	version int64 // of the database, before value was read
	value   T
	known   bool
}

// of returns what read returns, or has returned if nothing was committed since. Who gets it changes
// nothing in it.
func (s *remembered[T]) of(ctx context.Context, back backend, read func() (T, error)) (T, error) {
	version, known := back.version(ctx) // before it is read: what is committed meanwhile has it read again
	if value, same := s.at(version); known && same {
		return value, nil
	}
	value, err := read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.value, s.known = version, value, known && err == nil
	return value, err
}

func (s *remembered[T]) at(version int64) (value T, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.known && s.version == version
}
