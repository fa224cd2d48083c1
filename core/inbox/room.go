package inbox

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs that wait since turns at work hold what is left of a budget go on when one of these turns ends: there is room
// then that nobody announces. Who waits is kept in memory, so that the end of a turn asks the database nothing while
// nobody does. What an earlier daemon has parked so is found at the start.

// waiter is a run that waits for turns at work.
type waiter struct {
	account ledger.AccountRef // in which there is not enough left; without a name: some account of the plugin's
	since   time.Time
}

// frees reports whether the end of a run with these reservations may make room for the waiter.
func (w waiter) frees(freed ledger.Freed) bool {
	return freed.Unsure || slices.ContainsFunc(freed.Accounts, func(one ledger.AccountRef) bool {
		return one == w.account || w.account.Account == "" && one.Plugin == w.account.Plugin
	})
}

// waitForRoom notes that a run, which is parked, goes on when a run ends that has set something aside in the account.
// If one has ended since the attempt began, the gate may have answered before that: then the run is tried again.
func (in *Inbox) waitForRoom(ctx context.Context, log *slog.Logger, w *worker, runID string, one waiter, began moment) {
	in.mu.Lock()
	in.waiters[runID] = one
	missed := in.ends > began.ends
	in.mu.Unlock()
	if missed {
		in.conclude(log, w, func() error {
			_, err := in.hastenRuns(ctx, []string{runID}, in.config.Now().UTC().Add(recheckMissed))
			return err
		})
	}
}

// roomMade has runs go on that wait for turns at work, since one has ended, or has cost less than was set aside for it:
// those that have waited longest, and no more than there are places. When one of them ends, others follow.
func (in *Inbox) roomMade(ctx context.Context, freed ledger.Freed) {
	if !freed.Unsure && len(freed.Accounts) == 0 {
		return
	}
	in.mu.Lock()
	in.ends++
	in.mu.Unlock()
	for {
		ids := in.takeWaiters(freed, in.config.Slots)
		if len(ids) == 0 {
			return
		}
		n, err := in.hastenRuns(ctx, ids, in.config.Now().UTC())
		if err != nil { // they are tried again when they are due, within minutes
			in.config.Log.Warn("runs that wait for turns at work cannot be told that one has ended", "runs", len(ids), "err", err)
		}
		if err != nil || n > 0 {
			return
		}
	}
}

// leavesRoom is roomMade for a run that has ended in its queue.
func (in *Inbox) leavesRoom(ctx context.Context, run pluginsdk.Run) {
	in.mu.Lock()
	delete(in.waiters, run.ID)
	in.mu.Unlock()
	in.roomMade(ctx, ledger.Freed{Unsure: run.Attempt > 0 || run.Step != pluginsdk.StepAccepted})
}

// takeWaiters takes those out of the waiters that have waited longest.
func (in *Inbox) takeWaiters(freed ledger.Freed, most int) (ids []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for id, one := range in.waiters {
		if one.frees(freed) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(in.waiters[a].since.Compare(in.waiters[b].since), cmp.Compare(a, b))
	})
	ids = ids[:min(most, len(ids))]
	for _, id := range ids {
		delete(in.waiters, id)
	}
	return ids
}

// hastenRuns has runs go on then, and returns how many of them waited still.
func (in *Inbox) hastenRuns(ctx context.Context, ids []string, at time.Time) (int, error) {
	queues, err := in.store.HastenRuns(ctx, ids, at)
	in.wakeAll(queues)
	return len(queues), err
}

func (in *Inbox) wakeAll(queues []ledger.Queue) {
	for _, queue := range queues {
		in.lanes.Wake(queue)
	}
}

// findWaiters finds the runs that an earlier daemon has parked for turns at work. Those turns have ended with it; what
// was set aside for them is held until they have gone on. Which of the runs that are tried again within minutes wait
// for that is not stored: one that waits for something else is tried in vain once.
func (in *Inbox) findWaiters(ctx context.Context) error {
	found, err := in.store.WaitingAtGates(ctx)
	if err != nil {
		return err
	}
	now := in.config.Now().UTC()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.gated = len(found) > 0
	for _, one := range found {
		if one.Due.Sub(now) <= recheckRest+recheckSpread {
			in.waiters[one.RunID] = waiter{account: ledger.AccountRef{Plugin: one.Plugin}, since: now}
		}
	}
	return nil
}
