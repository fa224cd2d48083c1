package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A gate's reservations are made with the intent to call the agent (step 5a), and
// nothing releases them: who reserves next in an account finds the runs that are over
// by then, and puts what they have cost in the place of what was set aside. So a run
// that ends, however it does, has no row of anybody else's to write.
//
// A reservation with CapAtRest is topped up while the turn streams. Of one that opens
// (ledger.Reservation.Opens), open_usd is what of it is for the attempt under way: 5b sets that
// to 0, and what is still open when the run reserves again, or is over, is of an attempt that was
// killed, and all of it is spent.
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
	all = slices.SortedFunc(slices.Values(all), inOrder)
	for _, one := range all {
		if err := t.reserveOne(ctx, runID, one); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) reserveOne(ctx context.Context, runID string, one ledger.Reservation) error {
	spent, err := t.takeAccount(ctx, one)
	if err != nil {
		return err
	}
	stands, err := t.standing(ctx, one, runID)
	if err != nil {
		return err
	}
	if killed := stands.killed(one.Plugin); killed > 0 && !one.Again {
		spent += killed
		if err := t.spend(ctx, one.Plugin, one.Account, runID, killed); err != nil {
			return err
		}
	}
	var before, open float64
	if one.Opens() {
		before, open = stands.cost, one.AmountUSD
	}
	if one.LimitUSD > 0 && spent+stands.others+before+one.AmountUSD > one.LimitUSD+centsOver {
		return &ledger.OverLimit{Reservation: one, SpentUSD: spent + before, ReservedUSD: stands.others}
	}
	_, err = t.run(ctx, `INSERT INTO reservations (plugin, account, run_id, usd, open_usd, unit) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = excluded.usd, open_usd = excluded.open_usd`,
		one.Plugin, one.Account, runID, before+one.AmountUSD, open, string(one.Unit))
	return err
}

// standing is what is set aside in an account, for who is about to set something aside for a run.
type standing struct {
	others float64 // for other runs that are not over
	own    float64 // for the run
	open   float64 // of that, for an attempt whose result is not stored
	cost   float64 // of the run's earlier attempts, in the unit of the account
}

// killed is what was set aside for an attempt of the run that was killed, if there is one.
func (s standing) killed(plugin string) float64 {
	if plugin == ledger.CoreAccounts {
		return s.own
	}
	return s.open
}

func (t *tx) standing(ctx context.Context, one ledger.Reservation, runID string) (s standing, err error) {
	err = t.row(ctx, `SELECT COALESCE(SUM(CASE WHEN v.run_id = $3 THEN 0 ELSE `+heldSQL(one.Plugin)+` END), 0),
			COALESCE(MAX(CASE WHEN v.run_id = $3 THEN v.usd END), 0), COALESCE(MAX(CASE WHEN v.run_id = $3 THEN v.open_usd END), 0),
			COALESCE((SELECT `+costOf(one.Unit)+` FROM runs r WHERE r.id = $3), 0)
		FROM reservations v JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2`,
		[]any{one.Plugin, one.Account, runID}, &s.others, &s.own, &s.open, &s.cost)
	return s, err
}

// Room returns how an account stands for a run that is about to reserve in it, as reserve finds it: what
// is spent, by earlier attempts of the run too, and what is set aside for others. It changes nothing.
func (s *Store) Room(ctx context.Context, runID string, one ledger.Reservation) (spent, reserved float64, err error) {
	var stands standing
	err = row(ctx, s.query, `SELECT
			COALESCE(SUM(CASE WHEN v.run_id = '' THEN v.usd WHEN r.finished_at IS NOT NULL THEN `+costSQL(one.Plugin)+` ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN r.id IS NULL OR r.finished_at IS NOT NULL OR v.run_id = $3 THEN 0 ELSE `+heldSQL(one.Plugin)+` END), 0),
			COALESCE(MAX(CASE WHEN v.run_id = $3 THEN v.usd END), 0), COALESCE(MAX(CASE WHEN v.run_id = $3 THEN v.open_usd END), 0),
			COALESCE((SELECT `+costOf(one.Unit)+` FROM runs r WHERE r.id = $3), 0)
		FROM reservations v LEFT JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2`,
		[]any{one.Plugin, one.Account, runID}, &spent, &stands.others, &stands.own, &stands.open, &stands.cost)
	if err != nil {
		return 0, 0, wrap("read what is left in an account", err)
	}
	if spent += stands.killed(one.Plugin); one.Opens() {
		spent += stands.cost
	}
	return spent, stands.others, nil
}

// TopUp sets more aside for the turn of a run that has cost what was set aside for it: the
// amount of each reservation, the same in all accounts, and no more than any of them has left.
// *ledger.OverLimit: one of them has nothing left, and nothing is set aside.
func (s *Store) TopUp(ctx context.Context, fence ledger.Fence, runID string, all []ledger.Reservation) (moreUSD float64, err error) {
	all = slices.SortedFunc(slices.Values(all), inOrder)
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		moreUSD, err = tx.topUp(ctx, runID, all)
		return err
	})
	if err != nil {
		return 0, wrap("set more aside for a turn", err)
	}
	return moreUSD, nil
}

func (t *tx) topUp(ctx context.Context, runID string, all []ledger.Reservation) (moreUSD float64, err error) {
	moreUSD = math.Inf(1)
	for _, one := range all {
		left, err := t.leftFor(ctx, runID, one)
		if err != nil {
			return 0, err
		}
		moreUSD = min(moreUSD, one.AmountUSD, left)
	}
	for _, one := range all {
		_, err := t.run(ctx, "UPDATE reservations SET usd = usd + $1, open_usd = open_usd + $1 WHERE plugin = $2 AND account = $3 AND run_id = $4",
			moreUSD, one.Plugin, one.Account, runID)
		if err != nil {
			return 0, err
		}
	}
	return moreUSD, nil
}

// leftFor is what a run may still set aside in an account; *ledger.OverLimit: nothing.
func (t *tx) leftFor(ctx context.Context, runID string, one ledger.Reservation) (float64, error) {
	spent, err := t.takeAccount(ctx, one)
	if err != nil || one.LimitUSD == 0 {
		return math.Inf(1), err
	}
	stands, err := t.standing(ctx, one, runID)
	if err != nil {
		return 0, err
	}
	left := one.LimitUSD - spent - stands.others - stands.own
	if left <= centsOver {
		return 0, &ledger.OverLimit{Reservation: one, SpentUSD: spent, ReservedUSD: stands.others, OwnUSD: stands.own}
	}
	return left, nil
}

// closeReservations notes that the result of the run's attempt is stored: what it has cost is
// known, and no more than that is held while the run waits for something.
func (t *tx) closeReservations(ctx context.Context, runID string, all []ledger.Reservation) error {
	for _, one := range all {
		_, err := t.run(ctx, "UPDATE reservations SET open_usd = 0, usd = (SELECT "+costOf(one.Unit)+" FROM runs r WHERE r.id = $3) WHERE plugin = $1 AND account = $2 AND run_id = $3", one.Plugin, one.Account, runID)
		if err != nil {
			return err
		}
	}
	return nil
}

func inOrder(a, b ledger.Reservation) int {
	return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Account, b.Account))
}

// What a run r has cost so far, in each unit.
const (
	costUSD    = "r.cost_usd"
	costTokens = "r.input_tokens + r.output_tokens + r.cache_read_tokens + r.cache_write_tokens"
)

func costOf(unit pluginsdk.Unit) string {
	if unit == pluginsdk.UnitTokens {
		return costTokens
	}
	return costUSD
}

// spentSQL is what a run r has spent so far of what is set aside for it as v, in the unit of v.
const spentSQL = "(CASE WHEN v.unit = 'tokens' THEN " + costTokens + " ELSE " + costUSD + " END)"

// heldSQL is what a reservation v in an account of a plugin counts as while its run r is not
// over: no less than the run has cost.
func heldSQL(plugin string) string {
	if plugin == ledger.CoreAccounts {
		return "v.usd"
	}
	return "CASE WHEN " + spentSQL + " + v.open_usd > v.usd THEN " + spentSQL + " + v.open_usd ELSE v.usd END"
}

// costSQL is what is spent from an account of a plugin for a reservation v whose run r is over.
func costSQL(plugin string) string {
	if plugin == ledger.CoreAccounts {
		return "v.usd"
	}
	return "COALESCE(" + spentSQL + ", 0) + v.open_usd"
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

// takeAccount is settleAccount for who reserves in the account, and keeps the limit. An account that is in
// another unit is CodeInvalid.
func (t *tx) takeAccount(ctx context.Context, one ledger.Reservation) (spent float64, err error) {
	var unit string
	err = t.row(ctx, `INSERT INTO reservations (plugin, account, run_id, usd, limit_usd, unit) VALUES ($1, $2, '', 0, $3, $4)
		ON CONFLICT (plugin, account, run_id) DO UPDATE SET limit_usd = excluded.limit_usd RETURNING usd, unit`,
		[]any{one.Plugin, one.Account, one.LimitUSD, string(one.Unit)}, &spent, &unit)
	if err != nil {
		return 0, err
	}
	if unit != string(one.Unit) {
		return 0, otherUnit(one.Plugin, one.Account, unit)
	}
	return t.bookOver(ctx, one.Plugin, one.Account, spent)
}

func otherUnit(plugin, account, unit string) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the account %s of the plugin %s is in %s, and keeps to that: the plugin has to give the other unit another account",
		account, plugin, cmp.Or(unit, "US dollars"))
}

// CountSpent counts in an account of a plugin what was spent while its gate set nothing aside there: at least so
// much is spent from it then. It returns how the account stands.
func (s *Store) CountSpent(ctx context.Context, plugin string, request pluginsdk.CountSpentRequest) (pluginsdk.BudgetAccount, error) {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		return tx.countSpent(ctx, plugin, request)
	})
	if err != nil {
		return pluginsdk.BudgetAccount{}, wrap("count what was spent from an account", err)
	}
	return s.BudgetAccount(ctx, plugin, request.Account)
}

func (t *tx) countSpent(ctx context.Context, plugin string, request pluginsdk.CountSpentRequest) error {
	var spent, running float64
	var unit string
	err := t.row(ctx, `INSERT INTO reservations (plugin, account, run_id, usd, unit) VALUES ($1, $2, '', 0, $3)
		ON CONFLICT (plugin, account, run_id) DO UPDATE SET usd = reservations.usd RETURNING usd, unit`,
		[]any{plugin, request.Account, string(request.Unit)}, &spent, &unit)
	switch {
	case err != nil:
		return err
	case unit != string(request.Unit):
		return otherUnit(plugin, request.Account, unit)
	}
	if spent, err = t.bookOver(ctx, plugin, request.Account, spent); err != nil {
		return err
	}
	err = t.row(ctx, "SELECT COALESCE(SUM("+spentSQL+"), 0) FROM reservations v JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2",
		[]any{plugin, request.Account}, &running)
	if missing := request.AtLeast - spent - running; err == nil && missing > 0 {
		_, err = t.run(ctx, "UPDATE reservations SET usd = usd + $1 WHERE plugin = $2 AND account = $3 AND run_id = ''", missing, plugin, request.Account)
	}
	return err
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
	return t.bookOver(ctx, plugin, account, spent)
}

// bookOver books what the runs have cost that are over, in an account that the transaction has
// taken, and returns what is spent from it then.
func (t *tx) bookOver(ctx context.Context, plugin, account string, spent float64) (float64, error) {
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

// BudgetAccount returns how an account of a plugin's stands.
func (s *Store) BudgetAccount(ctx context.Context, plugin, account string) (found pluginsdk.BudgetAccount, err error) {
	err = row(ctx, s.query, `SELECT
			COALESCE(SUM(CASE WHEN v.run_id = '' THEN v.usd WHEN r.finished_at IS NOT NULL THEN `+costSQL(plugin)+` ELSE COALESCE(`+spentSQL+`, 0) END), 0),
			COALESCE(SUM(CASE WHEN v.run_id = '' OR r.finished_at IS NOT NULL THEN 0 ELSE `+heldSQL(plugin)+` - `+spentSQL+` END), 0),
			COALESCE(MAX(CASE WHEN v.run_id = '' THEN v.limit_usd ELSE 0 END), 0)
		FROM reservations v LEFT JOIN runs r ON r.id = v.run_id WHERE v.plugin = $1 AND v.account = $2`,
		[]any{plugin, account}, &found.SpentUSD, &found.SetAsideUSD, &found.LimitUSD)
	return found, wrap("read what was spent from an account", err)
}
