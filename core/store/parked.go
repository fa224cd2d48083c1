package store

import (
	"context"
	"slices"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ParkRun puts a claimed run back into the queue, as if this attempt had not been made, not to
// be claimed before the window of the plan opens that it waits for. The row that tells the
// thread's people of it is stored, and carried to them, unless there is one with its key. It
// returns the lanes that have something new to carry.
func (s *Store) ParkRun(ctx context.Context, fence ledger.Fence, parked ledger.ParkedRun) (lanes []ledger.Lane, err error) {
	var rows []ledger.Row
	if parked.Row != nil && !fence.Beside() { // what is beside a thread and parked is a turn
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
		r, queue = runOf(row), queueOf(row)
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

// parkedNow finds the runs that are parked.
var parkedNow = run.And(run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtNotNil())

// ParkedRuns returns the runs that are parked in a thread, or in all (empty), in the order in
// which they go on: the first ones, at most 1,000 (0: 100). CountParked says how many there are.
func (s *Store) ParkedRuns(ctx context.Context, threadID string, most int) ([]pluginsdk.Run, error) {
	query := s.read.Run.Query().Where(notGoing, parkedNow).
		Order(run.ByNextAttemptAt(), run.ByID()).Limit(page(most))
	if threadID != "" {
		query.Where(run.ThreadID(threadID))
	}
	rows, err := query.Select(listedColumns...).All(ctx)
	if err != nil {
		return nil, wrap("list parked runs", err)
	}
	return all(rows, runOf), nil
}

// hastenedTogether is how many parked runs are read, and moved, at a time: other writes come in between.
const hastenedTogether = 500

// HastenParked has runs that are parked for a plan, and due after later, go on when due says, unless that is the
// zero time. people says that people wait for the run. It returns the queues of those that go on
// earlier than before.
func (s *Store) HastenParked(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) (queues []ledger.Queue, err error) {
	late := []predicate.Run{run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtGT(instant(later)), s.parkedForPlan}
	for last := ""; ; {
		rows, err := s.read.Run.Query().Where(append(slices.Clone(late), run.IDGT(last))...).Order(run.ByID()).Limit(hastenedTogether).
			Select(run.FieldID, run.FieldThreadID, run.FieldBeside, run.FieldBesideAs, run.FieldKind, run.FieldParked).All(ctx)
		if err != nil || len(rows) == 0 {
			return queues, wrap("list parked runs", err)
		}
		last = rows[len(rows)-1].ID
		moved, err := s.hasten(ctx, late, rows, due)
		if err != nil {
			return queues, wrap("have parked runs go on", err)
		}
		queues = append(queues, moved...)
	}
}

// parkedForPlan finds the runs that are parked for a plan, not for a plugin's gate.
func (s *Store) parkedForPlan(sel *entsql.Selector) {
	sel.Where(entsql.P(func(b *entsql.Builder) { b.WriteString(s.ofParked(sel.C(run.FieldParked), "plugin") + " = ''") }))
}

func (s *Store) hasten(ctx context.Context, late []predicate.Run, rows []*ent.Run, due func(parked pluginsdk.Parked, people bool) time.Time) (queues []ledger.Queue, err error) {
	kinds, err := s.kindsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	moved := make(map[string]time.Time)
	for _, row := range rows {
		fence := ledger.Fence{ThreadID: row.ThreadID}
		if row.Beside {
			fence.RunID = row.ID
		}
		at := due(*row.Parked, ledger.ForPeople(pluginsdk.Run{ID: row.ID, Kind: row.Kind}, pluginsdk.Thread{ID: row.ThreadID, Kind: kinds[row.ThreadID]}, fence))
		if !at.IsZero() {
			moved[row.ID] = instant(at)
		}
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
			parked := *row.Parked
			parked.Until = at
			n, err := tx.Run.Update().Where(append(slices.Clone(late), run.ID(row.ID))...).SetNextAttemptAt(at).SetParked(&parked).Save(ctx)
			switch {
			case err != nil:
				return err
			case n == 0: // it goes on, or is over
			default:
				queues = append(queues, queueOf(row))
			}
		}
		return nil
	})
	return queues, err
}

// kindsOf returns the kinds of the threads of runs. One that is not there has none.
func (s *Store) kindsOf(ctx context.Context, rows []*ent.Run) (map[string]pluginsdk.ThreadKind, error) {
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.ThreadID)
	}
	slices.Sort(ids)
	threads, err := s.read.Thread.Query().Where(thread.IDIn(slices.Compact(ids)...)).Select(thread.FieldID, thread.FieldKind).All(ctx)
	kinds := make(map[string]pluginsdk.ThreadKind, len(threads))
	for _, one := range threads {
		kinds[one.ID] = one.Kind
	}
	return kinds, err
}

// hastenThread has the parked runs of a thread go on now.
func (t *tx) hastenThread(ctx context.Context, threadID string, now time.Time) error {
	return t.Run.Update().Where(run.ThreadID(threadID), run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtGT(now)).
		SetNextAttemptAt(now).Exec(ctx)
}

// CountParked returns how many runs are parked.
func (s *Store) CountParked(ctx context.Context) (int, error) {
	n, err := s.read.Run.Query().Where(notGoing, parkedNow).Count(ctx)
	return n, wrap("count parked runs", err)
}
