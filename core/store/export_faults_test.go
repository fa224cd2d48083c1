package store

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-706843ae/harness/ent/run"
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

// CopyRun makes so many turns beside their threads that are as a run is.
func (s *Store) CopyRun(ctx context.Context, id string, copies int) error {
	var columns, values []string
	for _, column := range run.Columns {
		columns = append(columns, `"`+column+`"`)
		switch column {
		case run.FieldID, run.FieldKey:
			values = append(values, "'copy-' || CAST(n AS TEXT)")
		case run.FieldBeside:
			values = append(values, "TRUE")
		default:
			values = append(values, `"`+column+`"`)
		}
	}
	return s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < $2) INSERT INTO runs ("+
			strings.Join(columns, ", ")+") SELECT "+strings.Join(values, ", ")+" FROM counted, runs WHERE id = $1", id, copies)
		return err
	})
}
