package store

import (
	"context"
	"sync"
)

// remembered is the last result of a query that is made again and again, with its argument (about). It
// holds until somebody commits something.
type remembered[K comparable, T any] struct {
	mu      sync.Mutex
	about   K
	version int64 // of the database, before value was read
	value   T
	known   bool
}

// of returns what read returns, or has returned for the same question if nothing was committed since.
// Who gets it changes nothing in it.
func (s *remembered[K, T]) of(ctx context.Context, back backend, about K, read func() (T, error)) (T, error) {
	version, known := back.version(ctx) // before it is read: what is committed meanwhile has it read again
	if value, same := s.at(about, version); known && same {
		return value, nil
	}
	value, err := read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about, s.version, s.value, s.known = about, version, value, known && err == nil
	return value, err
}

func (s *remembered[K, T]) at(about K, version int64) (value T, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.known && s.about == about && s.version == version
}
