package store

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// HoldRun notes that a run at work waits for a plugin. The row that tells the thread's people
// is stored, and carried to them, unless there is one with its key. It returns the lanes that
// have something new to carry. It does not wait for the disk.
func (s *Store) HoldRun(ctx context.Context, fence ledger.Fence, held ledger.HeldRun) (lanes []ledger.Lane, err error) {
	var rows []ledger.Row
	if held.Row != nil {
		rows = append(rows, *held.Row)
	}
	more, err := s.newAdditions(fence.ThreadID, held.RunID, nil, rows)
	if err != nil {
		return nil, err
	}
	more.careful = len(rows) > 0 // an earlier attempt may have told of the same plugin
	now := s.now()
	err = s.writeWith(ctx, relaxed, &more, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		n, err := tx.Run.Update().Where(run.ID(held.RunID), run.StateEQ(pluginsdk.RunRunning)).SetHooks(held.Hooks).Save(ctx)
		if err := atWork(held.RunID, n, err); err != nil {
			return err
		}
		lanes, err = s.addAndDeliver(ctx, tx, more, fence.ThreadID, now)
		return err
	})
	return lanes, wrap("note that a run waits for a plugin", err)
}

// Waits returns the calls that runs at work wait for, as HoldRun has noted them. Once its
// agent was asked, a run waits for grants only.
func (s *Store) Waits(ctx context.Context) (all []ledger.Waits, err error) {
	rows, err := s.read.Run.Query().Where(run.StateEQ(pluginsdk.RunRunning)).
		Order(run.ByID()).Select(run.FieldID, run.FieldThreadID, run.FieldStep, run.FieldAttempt, run.FieldHooks).Limit(page(1000)).All(ctx)
	if err != nil {
		return nil, wrap("list the runs that wait for plugins", err)
	}
	for _, row := range rows {
		if len(row.Hooks) == 0 {
			continue
		}
		call := row.Hooks[len(row.Hooks)-1]
		if call.State == pluginsdk.CallWaiting && call.Attempt == row.Attempt && (row.Step == pluginsdk.StepAccepted || call.Error != "") {
			all = append(all, ledger.Waits{RunID: row.ID, ThreadID: row.ThreadID, Call: call})
		}
	}
	return all, nil
}
