package store

import (
	"context"
	"errors"
)

// ErrDied is what every write fails with after DieAfter's.
var ErrDied = errors.New("the daemon has died")

// dying lets some writes through, and fails the others.
type dying struct {
	writer

	left int
}

func (d *dying) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	if d.left == 0 {
		return ErrDied
	}
	d.left--
	return d.writer.do(ctx, how, f)
}

// DieAfter lets so many transactions of the store through, and none after them until it is
// revived.
func (s *Store) DieAfter(writes int) (revive func()) {
	whole := s.write
	s.write = &dying{whole, writes}
	return func() { s.write = whole }
}

// meanwhile has something else happen before one of the writes.
type meanwhile struct {
	writer

	left int
	also func()
}

func (m *meanwhile) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	if m.left == 0 {
		m.also()
	}
	m.left--
	return m.writer.do(ctx, how, f)
}

// Meanwhile has also happen, once, after so many of the store's transactions. It writes
// through another store.
func (s *Store) Meanwhile(writes int, also func()) (end func()) {
	whole := s.write
	s.write = &meanwhile{whole, writes, also}
	return func() { s.write = whole }
}
