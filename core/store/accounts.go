package store

import (
	"context"
	"slices"
	"strings"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/account"
	"github.com/seed-706843ae/harness/ent/planwindow"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Accounts returns the accounts that were added, and environment when something was set for
// it, by name.
func (s *Store) Accounts(ctx context.Context) ([]ledger.Account, error) {
	rows, err := s.read.Account.Query().Order(account.ByID()).All(ctx)
	if err != nil {
		return nil, wrap("list accounts", err)
	}
	return all(rows, accountOf), nil
}

// EditAccount makes an account, or changes it, by what the change makes of its row, and notes
// in the audit log who did: all in one transaction, or, when the change fails, nothing. No
// other decision about any account overlaps with it. An account that becomes the default
// takes that from the one that has been.
func (s *Store) EditAccount(ctx context.Context, change ledger.AccountChange) (row ledger.Account, err error) {
	if err := ledger.CheckAccountName(change.Name); err != nil {
		return row, err
	}
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		all, err := tx.accounts(ctx)
		if err != nil {
			return err
		}
		row = ledger.Account{Name: change.Name, CreatedAt: now}
		place := slices.IndexFunc(all, func(a ledger.Account) bool { return a.Name == change.Name })
		if place >= 0 {
			row = all[place]
		}
		detail, err := change.Edit(&row, place >= 0, slices.Clone(all))
		if err != nil {
			return err
		}
		row.Name, row.UpdatedAt = change.Name, now
		if place < 0 && change.Name != pluginsdk.EnvironmentAccount { // of one before it that had its name
			if err := tx.forgetPlan(ctx, change.Name); err != nil {
				return err
			}
		}
		if err := tx.putAccount(ctx, row, place >= 0); err != nil {
			return err
		}
		return s.note(ctx, tx, change.Who, change.Action, change.Name, detail)
	})
	return row, wrap("change an account", err)
}

// accounts returns all accounts, which stay as they are until the end of the transaction.
func (t *tx) accounts(ctx context.Context) ([]ledger.Account, error) {
	if t.postgres {
		if _, err := t.run(ctx, "LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return nil, err
		}
	}
	rows, err := t.Account.Query().Order(account.ByID()).All(ctx)
	return all(rows, accountOf), err
}

func (t *tx) putAccount(ctx context.Context, a ledger.Account, known bool) error {
	if a.Default {
		if err := t.Account.Update().Where(account.IsDefault(true), account.IDNEQ(a.Name)).SetIsDefault(false).Exec(ctx); err != nil {
			return err
		}
	}
	if !known {
		return insertAccount(t.Account, a).Exec(ctx)
	}
	update := t.Account.UpdateOneID(a.Name).SetIsDefault(a.Default).SetOverage(a.Overage).SetFallback(clean(a.Fallback)).
		SetDailyLimitUsd(a.DailyLimitUSD).SetHome(clean(a.Home)).SetUpdatedAt(instant(a.UpdatedAt))
	if len(a.Key) > 0 {
		update.SetKey(a.Key)
	} else {
		update.ClearKey()
	}
	return update.Exec(ctx)
}

// RemoveAccount forgets an account, with its key and what was seen of its plan, and notes in
// the audit log who did. CodeStale: a thread, a run that is not over, or another account
// names it. Removed is false when it was not there.
func (s *Store) RemoveAccount(ctx context.Context, name, who string) (removed bool, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if _, err := tx.accounts(ctx); err != nil {
			return err
		}
		if err := tx.unused(ctx, name); err != nil {
			return err
		}
		n, err := tx.Account.Delete().Where(account.ID(name)).Exec(ctx)
		if err != nil || n == 0 {
			return err
		}
		removed = true
		if err := tx.forgetPlan(ctx, name); err != nil {
			return err
		}
		return s.note(ctx, tx, who, "account.remove", name, "")
	})
	return removed, wrap("remove an account", err)
}

// unused refuses (CodeStale) an account that is named somewhere.
func (t *tx) unused(ctx context.Context, name string) error {
	var n int64
	if err := t.row(ctx, "SELECT COUNT(*) FROM accounts WHERE name = $1 AND is_default", []any{name}, &n); err != nil {
		return err
	}
	if n > 0 { // what names no account would change to another one unasked
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the account %s is the default: make another one the default first (harness account use NAME)", name)
	}
	if err := t.noThreadUses(ctx, name); err != nil {
		return err
	}
	for _, of := range []struct{ query, what string }{
		{"SELECT COUNT(*) FROM accounts WHERE fallback = $1", "accounts have it as their fallback"},
		{"SELECT COUNT(*) FROM runs WHERE account = $1 AND state IN ('queued', 'running', 'waiting')", "runs that are not over use it"},
	} {
		if err := t.row(ctx, of.query, []any{name}, &n); err != nil {
			return err
		}
		if n > 0 {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "the account %s is in use: %d %s", name, n, of.what)
		}
	}
	return nil
}

// shownThreads is how many threads are named that use an account.
const shownThreads = 3

// noThreadUses refuses (CodeStale) an account that threads use. The thread of a task uses it
// until the task is over.
func (t *tx) noThreadUses(ctx context.Context, name string) error {
	of := t.Thread.Query().Where(thread.Account(name), func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString(`(kind <> 'task' OR EXISTS (SELECT 1 FROM tasks WHERE tasks.thread_id = threads.id
				AND NOT (tasks.status IN ('completed', 'failed', 'cancelled') AND tasks.phase = '')))`)
		}))
	}).Order(thread.ByID())
	n, err := of.Clone().Unique(false).Count(ctx)
	if err != nil || n == 0 {
		return err
	}
	ids, err := of.Limit(shownThreads).IDs(ctx)
	if err != nil {
		return err
	}
	named := strings.Join(ids, ", ")
	if n > len(ids) {
		named += " and others"
	}
	return pluginsdk.Errorf(pluginsdk.CodeStale,
		"the account %s is in use: %d threads use it (%s); give each another one first: harness account use NAME --thread ID", name, n, named)
}

// knownAccount refuses (CodeInvalid) the name of an account that there is not; the default
// one (empty) and environment are always there. The account stays until the end of the
// transaction.
func (t *tx) knownAccount(ctx context.Context, name string) error {
	if name == "" || name == pluginsdk.EnvironmentAccount {
		return nil
	}
	query := "SELECT COUNT(*) FROM (SELECT name FROM accounts WHERE name = $1"
	if t.postgres {
		query += " FOR SHARE"
	}
	var n int64
	if err := t.row(ctx, query+") AS named", []any{name}, &n); err != nil {
		return err
	}
	if n == 0 {
		names, err := t.Account.Query().Where(account.IDNEQ(pluginsdk.EnvironmentAccount)).Order(account.ByID()).IDs(ctx)
		if err != nil {
			return err
		}
		names = append([]string{pluginsdk.EnvironmentAccount}, names...)
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "account: there is no account %.100q; there are: %s", name, strings.Join(names, ", "))
	}
	return nil
}

// PlanWindows returns what is known of the windows of all accounts' plans.
func (s *Store) PlanWindows(ctx context.Context) ([]ledger.PlanState, error) {
	rows, err := s.read.PlanWindow.Query().Order(planwindow.ByID()).All(ctx)
	if err != nil {
		return nil, wrap("list the windows of plans", err)
	}
	return all(rows, planStateOf), nil
}

// SavePlanWindow stores, on disk, what is known of a window from now on. Kept is false when its
// account is gone; unless it is fresh, also when the window is: what was seen of the account was
// forgotten.
func (s *Store) SavePlanWindow(ctx context.Context, w ledger.PlanState, fresh bool) (kept bool, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		kept = false
		err := tx.knownAccount(ctx, w.Account)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid {
			return nil
		}
		if err == nil && !fresh {
			var n int64 // it is written, so that on Postgres who forgets it waits
			n, err = tx.run(ctx, "UPDATE plan_windows SET name = name WHERE account = $1 AND name = $2", w.Account, w.Name)
			kept = n > 0
		}
		if err != nil || !fresh && !kept {
			return err
		}
		kept = true
		return insertPlanState(tx.PlanWindow, w).OnConflictColumns(planwindow.FieldAccount, planwindow.FieldName).
			Update(func(u *ent.PlanWindowUpsert) {
				u.UpdateModel().UpdateUsed().UpdateStatus().UpdateResetsAt().UpdateOverage().UpdateSeenAt().UpdateWarned().UpdateFirstUsed().UpdateFirstSeen()
			}).
			Exec(ctx)
	})
	return kept, wrap("store a window of a plan", err)
}

// ForgetPlan forgets what was seen of the plan of an account.
func (s *Store) ForgetPlan(ctx context.Context, account string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error { return tx.forgetPlan(ctx, account) })
	return wrap("forget the plan of an account", err)
}

func (t *tx) forgetPlan(ctx context.Context, account string) error {
	_, err := t.PlanWindow.Delete().Where(planwindow.Account(account)).Exec(ctx)
	return err
}
