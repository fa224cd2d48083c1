package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
)

// A gate's reservations are made with the intent to call the agent (step 5a), and
// nothing releases them: who reserves next in an account finds the runs that are over
// by then, and puts what they have cost in the place of what was set aside. So a run
// that ends, however it does, has no row of anybody else's to write.

// centsOver is what a sum of dollars may be above a limit by its rounding.
const centsOver = 1e-9

// reserve sets aside in accounts what a run may cost, all of it or, with
// *ledger.OverLimit, nothing. What the run has set aside before in one of them is
// replaced.
func (t *tx) reserve(ctx context.Context, runID string, all []ledger.Reservation) error {
	// In one order, so that no two transactions wait for each other's accounts.
	all = slices.SortedFunc(slices.Values(all), func(a, b ledger.Reservation) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Account, b.Account))
	})
	for _, one := range all {
		spent, err := t.settleAccount(ctx, one.Plugin, one.Account)
		if err != nil {
			return err
		}
		var reserved float64
		err = t.row(ctx, `SELECT COALESCE(SUM(CASE WHEN r.cost_usd - v.base_usd > v.usd THEN r.cost_usd - v.base_usd ELSE v.usd END), 0)
			FROM reservations v JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2 AND v.run_id <> $3`,
			[]any{one.Plugin, one.Account, runID}, &reserved)
		if err != nil {
			return err
		}
		if one.LimitUSD > 0 && spent+reserved+one.AmountUSD > one.LimitUSD+centsOver {
			return &ledger.OverLimit{Reservation: one, SpentUSD: spent, ReservedUSD: reserved}
		}
		base := "0"
		if one.FromNow {
			base = "COALESCE((SELECT cost_usd FROM runs WHERE id = CAST($3 AS character varying)), 0)"
		}
		_, err = t.run(ctx, `INSERT INTO reservations (plugin, account, run_id, usd, base_usd) VALUES ($1, $2, $3, $4, `+base+`)
			ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = excluded.usd`, one.Plugin, one.Account, runID, one.AmountUSD)
		if err != nil {
			return err
		}
	}
	return nil
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
	rows, err := t.exec.QueryContext(ctx, `SELECT v.id, COALESCE(r.cost_usd, 0) - v.base_usd FROM reservations v JOIN runs r ON r.id = v.run_id
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
			WHEN r.finished_at IS NOT NULL OR r.cost_usd - v.base_usd > v.usd THEN r.cost_usd - v.base_usd ELSE v.usd END), 0)
		FROM reservations v LEFT JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2`, []any{plugin, account}, &usd)
	return usd, wrap("read what is reserved", err)
}
