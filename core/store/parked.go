package store

import (
	"context"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ParkRun puts a claimed run back into the queue, as if this attempt had not been made, not to
// be claimed before the window of the plan opens that it waits for. The row that tells the
// thread's people of it is stored, and carried to them, unless there is one with its key. It
// returns the lanes that have something new to carry.
func (s *Store) ParkRun(ctx context.Context, fence ledger.Fence, parked ledger.ParkedRun) (lanes []ledger.Lane, err error) {
	var rows []ledger.Row
	if parked.Row != nil && !fence.Beside() {
		rows = append(rows, *parked.Row)
	}
	more, err := s.newAdditions(fence.ThreadID, parked.RunID, parked.Effects, rows)
	if err != nil {
		return nil, err
	}
	more.careful = len(rows) > 0 // people are told once for each window, of many parks
	now := s.now()
	err = s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		if err := tx.park(ctx, parked); err != nil {
			return err
		}
		lanes, err = s.addAndDeliver(ctx, tx, more, fence.ThreadID, now)
		return err
	})
	return lanes, wrap("park run", err)
}

func (t *tx) park(ctx context.Context, parked ledger.ParkedRun) error {
	why := parked.Parked
	why.Reason, why.Budget, why.Until, why.Since = clean(why.Reason), clean(why.Budget), instant(why.Until), instant(why.Since)
	due := instant(parked.Due)
	if parked.Due.IsZero() {
		due = why.Until
	}
	why.Until, why.Since = keepable(why.Until), keepable(why.Since) // what cannot be kept must not hold the run at work
	update := t.Run.Update().Where(run.ID(parked.RunID), run.StateEQ(pluginsdk.RunRunning)).
		SetState(pluginsdk.RunQueued).SetOwner("").ClearLeaseUntil().AddAttempt(-1).
		SetNextAttemptAt(due).SetParked(&why)
	if parked.Override != nil {
		update.SetOverride(parked.Override)
	} else {
		update.ClearOverride()
	}
	if parked.Hooks != nil {
		update.SetHooks(parked.Hooks)
	}
	n, err := update.Save(ctx)
	return atWork(parked.RunID, n, err)
}

// ResumeRun has a parked run wait no longer, and go on as the override says; with the zero one
// as it is. The audit log says who has said so. A run that is not parked is
// CodeStale. It returns the run, and the queue that it is in.
func (s *Store) ResumeRun(ctx context.Context, resumed ledger.ResumedRun) (r pluginsdk.Run, queue ledger.Queue, err error) {
	runID, override := resumed.RunID, resumed.Override
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		update := tx.Run.Update().Where(run.ID(runID), run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtNotNil()).
			ClearNextAttemptAt().ClearParked().SetOverride(&override)
		n, err := update.Save(ctx)
		if err != nil {
			return err
		}
		row, err := tx.Run.Query().Where(run.ID(runID)).Select(listedColumns...).Only(ctx)
		if ent.IsNotFound(err) {
			return notFound("run", runID)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is not parked: it is %s", runID, row.State)
		}
		r = runOf(row)
		queue = ledger.Queue{ThreadID: r.ThreadID}
		if row.Beside {
			queue = ledger.Queue{TurnID: r.ID}
		}
		return s.note(ctx, tx, resumed.Who, "run.resume", runID, resumedWords(override))
	})
	return r, queue, wrap("resume a parked run", err)
}

// resumedWords say for the audit log how a run goes on.
func resumedWords(override pluginsdk.RunOverride) string {
	var how []string
	if override.Model != "" {
		how = append(how, "model "+override.Model)
	}
	if override.Account != "" {
		how = append(how, "account "+override.Account)
	}
	return strings.Join(how, ", ")
}

// ParkedRuns returns the runs that are parked in a thread, or in all (empty), in the order in
// which they go on.
func (s *Store) ParkedRuns(ctx context.Context, threadID string) ([]pluginsdk.Run, error) {
	query := s.read.Run.Query().Where(notGoing, run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtNotNil()).
		Order(run.ByNextAttemptAt(), run.ByID()).Limit(page(0))
	if threadID != "" {
		query.Where(run.ThreadID(threadID))
	}
	rows, err := query.Select(listedColumns...).All(ctx)
	if err != nil {
		return nil, wrap("list parked runs", err)
	}
	return all(rows, runOf), nil
}

// HastenParked has parked runs that are due after later go on when due says, unless that is the
// zero time. people says that people wait for the run. It returns the queues of those that go on
// earlier than before.
func (s *Store) HastenParked(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) (queues []ledger.Queue, err error) {
	late := []predicate.Run{run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtGT(instant(later))}
	rows, err := s.read.Run.Query().Where(late...).Order(run.ByID()).
		Select(run.FieldID, run.FieldThreadID, run.FieldBeside, run.FieldKind, run.FieldParked).All(ctx)
	if err != nil || len(rows) == 0 {
		return nil, wrap("list parked runs", err)
	}
	threads := make(map[string]pluginsdk.Thread)
	for _, row := range rows {
		if _, known := threads[row.ThreadID]; known || row.ThreadID == "" {
			continue
		}
		of, err := s.Thread(ctx, row.ThreadID)
		if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return nil, err
		}
		threads[row.ThreadID] = of
	}
	moved := make(map[string]time.Time)
	for _, row := range rows {
		fence := ledger.Fence{ThreadID: row.ThreadID}
		if row.Beside {
			fence.TurnID = row.ID
		}
		at := due(*row.Parked, ledger.ForPeople(pluginsdk.Run{ID: row.ID, Kind: row.Kind}, threads[row.ThreadID], fence))
		if at.IsZero() {
			continue
		}
		moved[row.ID] = instant(at)
	}
	if len(moved) == 0 {
		return nil, nil
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		queues = nil
		for _, row := range rows {
			at, is := moved[row.ID]
			if !is {
				continue
			}
			update := tx.Run.Update().Where(append(late, run.ID(row.ID))...).SetNextAttemptAt(at)
			if row.Parked.Plugin == "" {
				parked := *row.Parked
				parked.Until = at
				update.SetParked(&parked)
			}
			n, err := update.Save(ctx)
			switch {
			case err != nil:
				return err
			case n == 0: // it goes on, or is over
			case row.Beside:
				queues = append(queues, ledger.Queue{TurnID: row.ID})
			default:
				queues = append(queues, ledger.Queue{ThreadID: row.ThreadID})
			}
		}
		return nil
	})
	return queues, wrap("have parked runs go on", err)
}

// hastenThread has the parked runs of a thread go on now.
func (t *tx) hastenThread(ctx context.Context, threadID string, now time.Time) error {
	return t.Run.Update().Where(run.ThreadID(threadID), run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtGT(now)).
		SetNextAttemptAt(now).Exec(ctx)
}

// CountParked returns how many runs are parked.
func (s *Store) CountParked(ctx context.Context) (int, error) {
	n, err := s.read.Run.Query().Where(notGoing, run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtNotNil()).Count(ctx)
	return n, wrap("count parked runs", err)
}
