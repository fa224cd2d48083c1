package store

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/lever"
	"github.com/seed-706843ae/harness/ent/schema"
)

// Lever returns how a lever stands.
func (s *Store) Lever(ctx context.Context, name string) (ledger.Lever, error) {
	return s.levers.of(ctx, s.back, name, func() (ledger.Lever, error) { return s.readLever(ctx, name) })
}

// readLever is Lever for who does not ask again and again.
func (s *Store) readLever(ctx context.Context, name string) (ledger.Lever, error) {
	row, err := s.read.Lever.Get(ctx, name)
	if ent.IsNotFound(err) {
		return ledger.Lever{}, nil
	}
	if err != nil {
		return ledger.Lever{}, wrap("read what is switched on", err)
	}
	return ledger.Lever{On: bool(row.On), Who: row.Who, At: row.UpdatedAt.UTC()}, nil
}

// SetLever turns a lever, on disk, with an entry in the audit log when it stood
// otherwise.
func (s *Store) SetLever(ctx context.Context, name string, on bool, who string) error {
	now := s.now()
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		before, err := tx.Lever.Get(ctx, name)
		if err != nil && !ent.IsNotFound(err) {
			return err
		}
		if (before != nil && bool(before.On)) == on {
			return nil
		}
		err = tx.Lever.Create().SetID(name).SetOn(schema.Switch(on)).SetWho(clean(who)).SetUpdatedAt(now).
			OnConflictColumns(lever.FieldID).UpdateNewValues().Exec(ctx)
		if err != nil {
			return err
		}
		action := "lever.off"
		if on {
			action = "lever.on"
		}
		return s.note(ctx, tx, who, action, name, "")
	})
	return wrap("switch "+name, err)
}
