package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs that wait for a plugin's gate, such as for a budget. There may be thousands of them: each of these is one
// statement, whatever their number.

// parkedSQL is the condition of parkedNow for rows of runs named r.
const parkedSQL = "r.state = 'queued' AND r.parked IS NOT NULL AND r.next_attempt_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM thread_removals g WHERE g.id = r.thread_id)"

// ofParked returns the expression for a text in the column parked of a run; empty: it is not there.
func (s *Store) ofParked(column, key string) string {
	if s.Dialect() == dialect.Postgres {
		return "COALESCE(" + column + " ->> '" + key + "', '')"
	}
	// A row that somebody has damaged is as one that has none: it must not keep the others from being read.
	return "CASE WHEN json_valid(CAST(" + column + " AS TEXT)) THEN COALESCE(CAST(" + column + " AS TEXT) ->> '" + key + "', '') ELSE '' END"
}

// ParkedCounts returns how many runs are parked, by what they wait for, and how many messages wait behind them.
func (s *Store) ParkedCounts(ctx context.Context) (counts []ledger.ParkedCount, err error) {
	query := fmt.Sprintf(`SELECT plugin, budget, COUNT(*), SUM(behind), MIN(until), MAX(until) FROM (
		SELECT %s AS plugin, %s AS budget, %s AS until,
			CASE WHEN r.beside THEN 0 ELSE (SELECT COUNT(*) FROM runs b WHERE b.state = 'queued' AND b.thread_id = r.thread_id AND NOT b.beside
				AND b.kind = 'message' AND b.parked IS NULL AND b.message_id > r.message_id) END AS behind
		FROM runs r WHERE `+parkedSQL+`) AS waiting GROUP BY plugin, budget ORDER BY plugin, budget`,
		s.ofParked("r.parked", "plugin"), s.ofParked("r.parked", "budget"), s.ofParked("r.parked", "until"))
	err = s.each(ctx, query, func(scan scan) error {
		var one ledger.ParkedCount
		var first, last string
		if err := scan(&one.Plugin, &one.Budget, &one.Runs, &one.Behind, &first, &last); err != nil {
			return err
		}
		if first != "" { // of all it is known
			one.Until, _ = time.Parse(time.RFC3339Nano, last)
		}
		counts = append(counts, one)
		return nil
	})
	return counts, wrap("count parked runs", err)
}

// WaitingAtGates returns the runs that wait for a plugin's gate, those first that are tried again first, at most
// 1,000.
func (s *Store) WaitingAtGates(ctx context.Context) (all []ledger.AtGate, err error) {
	plugin := s.ofParked("r.parked", "plugin")
	err = s.each(ctx, "SELECT r.id, "+plugin+", r.next_attempt_at FROM runs r WHERE "+parkedSQL+" AND "+plugin+" <> '' ORDER BY r.next_attempt_at, r.id LIMIT 1000", func(scan scan) error {
		var one ledger.AtGate
		err := scan(&one.RunID, &one.Plugin, &one.Due)
		all = append(all, one)
		return err
	})
	return all, wrap("list the runs that wait for gates", err)
}

// HastenGate has the runs that wait for the gate of a plugin, or of any (empty), and are due after later, go on at
// that time. It returns the queues of those that do.
func (s *Store) HastenGate(ctx context.Context, plugin string, later, at time.Time) ([]ledger.Queue, error) {
	which, args := " <> ''", []any{instant(at), instant(later)}
	if plugin != "" {
		which, args = " = $3", append(args, clean(plugin))
	}
	if some, err := s.anyParked(ctx, later); err != nil || !some {
		return nil, err
	}
	return s.hastenGate(ctx, s.ofParked("parked", "plugin")+which+" AND next_attempt_at > $2", args)
}

// anyParked reports whether a run is parked that is due after later. Most often none is, and nothing needs to be written.
func (s *Store) anyParked(ctx context.Context, later time.Time) (bool, error) {
	some, err := s.read.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.ParkedNotNil(), run.NextAttemptAtGT(instant(later))).Exist(ctx)
	return some, wrap("look for parked runs", err)
}

// HastenRuns has these runs go on at that time, those of them that wait for a plugin's gate and are due later. It
// returns the queues of those that do.
func (s *Store) HastenRuns(ctx context.Context, ids []string, at time.Time) ([]ledger.Queue, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{instant(at)}
	var places []string
	for _, id := range ids {
		args = append(args, id)
		places = append(places, fmt.Sprintf("$%d", len(args)))
	}
	return s.hastenGate(ctx, "id IN ("+strings.Join(places, ", ")+") AND "+s.ofParked("parked", "plugin")+" <> '' AND next_attempt_at > $1", args)
}

// hastenGate sets when the runs go on that the condition selects.
func (s *Store) hastenGate(ctx context.Context, which string, args []any) (queues []ledger.Queue, err error) {
	which = " WHERE state = 'queued' AND parked IS NOT NULL AND " + which
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := tx.exec.QueryContext(ctx, "UPDATE runs SET next_attempt_at = $1"+which+
			" RETURNING CASE WHEN beside AND beside_as = '' THEN '' ELSE thread_id END, beside_as, CASE WHEN beside AND beside_as = '' THEN id ELSE '' END", args...)
		if err != nil {
			return err
		}
		queues, err = queuesOf(nil, rows)
		return err
	})
	return queues, wrap("have runs go on that wait for a gate", err)
}
