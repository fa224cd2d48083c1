package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
)

// A gate's reservations are made with the intent to call the agent (step 5a), and
// nothing releases them: who reserves next in an account finds the runs that are over
// by then, and puts what they have cost in the place of what was set aside. So a run
// that ends, however it does, has no row of anybody else's to write.
//
// The core's own (ledger.CoreAccounts) are each of one attempt of a run, with a fallback.
// The attempt's result takes the row away, and what the attempt has cost is spent from the
// account then. So a row that is still there when the run reserves again, or is over, is of
// an attempt that was killed. Nobody knows what that one has cost: all that it might have
// is spent.

// centsOver is what a sum of dollars may be above a limit by its rounding.
const centsOver = 1e-9

// reserve sets aside in accounts what a run may cost, all of it or, with
// *ledger.OverLimit, nothing. What the run has set aside before in one of them is
// replaced; in one of the core's it is spent, unless the same attempt has set it aside.
func (t *tx) reserve(ctx context.Context, runID string, all []ledger.Reservation) error {
	// In one order, so that no two transactions wait for each other's accounts.
	all = slices.SortedFunc(slices.Values(all), func(a, b ledger.Reservation) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Account, b.Account))
	})
	for _, one := range all {
		spent, err := t.settleAccount(ctx, one.Plugin, one.Account)
		if err == nil && one.Plugin == ledger.CoreAccounts && !one.Again {
			spent, err = t.spendKilled(ctx, one.Account, runID, spent)
		}
		if err != nil {
			return err
		}
		var reserved float64
		err = t.row(ctx, `SELECT COALESCE(SUM(`+heldSQL(one.Plugin)+`), 0)
			FROM reservations v JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2 AND v.run_id <> $3`,
			[]any{one.Plugin, one.Account, runID}, &reserved)
		if err != nil {
			return err
		}
		if one.LimitUSD > 0 && spent+reserved+one.AmountUSD > one.LimitUSD+centsOver {
			return &ledger.OverLimit{Reservation: one, SpentUSD: spent, ReservedUSD: reserved}
		}
		_, err = t.run(ctx, `INSERT INTO reservations (plugin, account, run_id, usd) VALUES ($1, $2, $3, $4)
			ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = excluded.usd`, one.Plugin, one.Account, runID, one.AmountUSD)
		if err != nil {
			return err
		}
	}
	return nil
}

// heldSQL is what a reservation v in an account of a plugin counts as while its run r is not
// over: no less than the run has cost.
func heldSQL(plugin string) string {
	if plugin == ledger.CoreAccounts {
		return "v.usd"
	}
	return "CASE WHEN r.cost_usd > v.usd THEN r.cost_usd ELSE v.usd END"
}

// costSQL is what is spent from an account of a plugin for a reservation v whose run r is over.
func costSQL(plugin string) string {
	if plugin == ledger.CoreAccounts {
		return "v.usd"
	}
	return "COALESCE(r.cost_usd, 0)"
}

// spend books that so much is spent from an account, and takes the reservation of a run in it
// away.
func (t *tx) spend(ctx context.Context, plugin, account, runID string, usd float64) error {
	_, err := t.run(ctx, `INSERT INTO reservations (plugin, account, run_id, usd) VALUES ($1, $2, '', $3)
		ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = reservations.usd + excluded.usd`, plugin, account, usd)
	if err != nil {
		return err
	}
	_, err = t.run(ctx, "DELETE FROM reservations WHERE plugin = $1 AND account = $2 AND run_id = $3", plugin, account, runID)
	return err
}

// spendKilled books what was set aside for an attempt of the run that was killed, if there is
// one, in an account of the core's, and returns what is spent from that then.
func (t *tx) spendKilled(ctx context.Context, account, runID string, spent float64) (float64, error) {
	var usd float64
	err := t.row(ctx, "SELECT usd FROM reservations WHERE plugin = $1 AND account = $2 AND run_id = $3",
		[]any{ledger.CoreAccounts, account, runID}, &usd)
	if errors.Is(err, sql.ErrNoRows) {
		return spent, nil
	}
	if err != nil {
		return 0, err
	}
	return spent + usd, t.spend(ctx, ledger.CoreAccounts, account, runID, usd)
}

// settleAccount takes an account for the transaction, books what the runs have cost
// that are over, and returns what was spent from it so far.
func (t *tx) settleAccount(ctx context.Context, plugin, account string) (spent float64, err error) {
	// On Postgres this waits for whoever else reserves in the account; what is read
	// from here on is how that left it.
	err = t.row(ctx, `INSERT INTO reservations (plugin, account, run_id, usd) VALUES ($1, $2, '', 0)
		ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = reservations.usd RETURNING usd`, []any{plugin, account}, &spent)
	if err != nil {
		return 0, err
	}
	over, costs, err := t.overIn(ctx, plugin, account)
	if err != nil || len(over) == 0 {
		return spent, err
	}
	for _, id := range over {
		if _, err := t.run(ctx, "DELETE FROM reservations WHERE id = $1", id); err != nil {
			return 0, err
		}
	}
	spent += costs
	_, err = t.run(ctx, "UPDATE reservations SET usd = $1 WHERE plugin = $2 AND account = $3 AND run_id = ''", spent, plugin, account)
	return spent, err
}

// overIn returns the reservations in an account whose runs are over, and what those
// have cost together.
func (t *tx) overIn(ctx context.Context, plugin, account string) (ids []int64, costs float64, err error) {
	rows, err := t.exec.QueryContext(ctx, `SELECT v.id, `+costSQL(plugin)+` FROM reservations v JOIN runs r ON r.id = v.run_id
		WHERE v.plugin = $1 AND v.account = $2 AND r.finished_at IS NOT NULL`, plugin, account)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		var cost float64
		if err := rows.Scan(&id, &cost); err != nil {
			return nil, 0, err
		}
		ids, costs = append(ids, id), costs+cost
	}
	return ids, costs, rows.Err()
}

// Reserved returns what was spent from an account so far, by runs that are over and by those
// that are not, with what is set aside in it for the latter.
func (s *Store) Reserved(ctx context.Context, plugin, account string) (usd float64, err error) {
	err = row(ctx, s.query, `SELECT COALESCE(SUM(CASE WHEN r.id IS NULL THEN v.usd
			WHEN r.finished_at IS NOT NULL THEN `+costSQL(plugin)+` ELSE `+heldSQL(plugin)+` END), 0)
		FROM reservations v LEFT JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2`, []any{plugin, account}, &usd)
	return usd, wrap("read what is reserved", err)
}
