package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/approval"
	"github.com/seed-706843ae/harness/ent/cronfire"
	"github.com/seed-706843ae/harness/ent/delivery"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the store counts of its writes.
type figures struct {
	tally.Set

	wrote, waited *tally.Histogram
	failed        *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	seconds := []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}
	f.wrote = f.Histogram("harness_database_write_duration_seconds", "How long writes took, by whether they wait for the disk.", seconds, "durable")
	f.waited = f.Histogram("harness_database_write_wait_seconds", "What of that writes waited for their turn.", seconds)
	f.failed = f.Counter("harness_database_write_failures_total", "Writes that failed because the database did not take them: away, locked, full.")
	return f
}

// timedWriter counts each write.
type timedWriter struct {
	writer

	figures *figures
}

func (w timedWriter) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	began, turn := time.Now(), time.Time{}
	err := w.writer.do(ctx, how, func(ctx context.Context, t *tx) error {
		if turn.IsZero() { // a transaction that lost a race is made again
			turn = time.Now()
		}
		return f(ctx, t)
	})
	ended := time.Now()
	if turn.IsZero() {
		turn = ended
	}
	w.figures.waited.Observe(turn.Sub(began))
	w.figures.wrote.Observe(ended.Sub(began), strconv.FormatBool(bool(how)))
	if pluginsdk.CodeOf(wrap("write", err)) == pluginsdk.CodeUnavailable {
		w.figures.failed.Add(1)
	}
	return err
}

// Counted returns what was counted since Open.
func (s *Store) Counted() []pluginsdk.Figure { return s.figures.Figures() }

// Figures returns what lies in the database now: how large it is, and what there is to
// do. What cannot be read is not among it; the error says why.
func (s *Store) Figures(ctx context.Context) (figures []pluginsdk.Figure, err error) {
	var size Status
	for _, table := range knownTables() {
		size.Tables = append(size.Tables, TableStatus{Name: table})
	}
	if err = s.statusOfDisk(ctx, &size); err == nil {
		figures = append(figures, tally.Gauge("harness_database_size_bytes", "What the database takes on the disk.", float64(size.Bytes)))
	}
	open, tasksErr := s.openTasksByStatus(ctx)
	if tasksErr == nil {
		figures = append(figures, tally.Gauges("harness_tasks", "Tasks that are not over; at most 10000 of each status are counted.", "status", open))
	}
	waiting, deliveriesErr := s.deliveriesByState(ctx)
	asked, approvalsErr := s.openApprovals(ctx)
	parked, parkedErr := s.parkedRuns(ctx)
	if parkedErr == nil {
		figures = append(figures, parked)
	}
	crons, cronsErr := s.cronsByJob(ctx)
	return slices.Concat(figures, waiting, asked, crons), wrap("read the figures", errors.Join(err, tasksErr, deliveriesErr, approvalsErr, parkedErr, cronsErr))
}

// countedMax bounds how many rows of a state are counted for a figure.
const countedMax = 10000

// Backlog returns the runs that wait. Of more than countedMax it is some of them, and the
// oldest of those.
func (s *Store) Backlog(ctx context.Context) (backlog []ledger.Backlog, err error) {
	var oldest []string // ids grow with time
	err = s.each(ctx, fmt.Sprintf(`SELECT r.beside, r.command, COALESCE(t.kind, ''), COUNT(*), MIN(r.id)
		FROM (SELECT id, thread_id, beside, beside_as <> '' AS command FROM runs WHERE state = 'queued' LIMIT %d) AS r
		LEFT JOIN threads t ON t.id = r.thread_id GROUP BY r.beside, r.command, t.kind`, countedMax), func(scan scan) error {
		one := ledger.Backlog{Oldest: s.now()} // unless it is found
		var id string
		defer func() { backlog, oldest = append(backlog, one), append(oldest, id) }()
		return scan(&one.Beside, &one.Command, &one.Thread, &one.Runs, &id)
	})
	if err != nil {
		return nil, wrap("count the runs that wait", err)
	}
	found, err := s.read.Run.Query().Where(run.IDIn(oldest...)).Select(run.FieldID, run.FieldQueuedAt).All(ctx)
	for _, r := range found {
		for n, id := range oldest {
			if id == r.ID {
				backlog[n].Oldest = r.QueuedAt.UTC()
			}
		}
	}
	return backlog, wrap("look for the run that waits longest", err)
}

// scan reads a row.
type scan func(into ...any) error

// each reads what a query selects, row by row, as long as its context lasts.
func (s *Store) each(ctx context.Context, query string, read func(scan) error) (err error) {
	rows, err := s.back.reader().QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// openTasksByStatus counts the tasks that are not over.
func (s *Store) openTasksByStatus(ctx context.Context) (map[string]float64, error) {
	counts := make(map[string]float64)
	var parts []string
	for _, status := range []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting} {
		counts[string(status)] = 0
		parts = append(parts, fmt.Sprintf("SELECT * FROM (SELECT status FROM tasks WHERE status = '%s' LIMIT %d) AS %s", status, countedMax, status))
	}
	err := s.each(ctx, "SELECT status, COUNT(*) FROM ("+strings.Join(parts, " UNION ALL ")+") AS open GROUP BY status", func(scan scan) error {
		var status string
		var n float64
		err := scan(&status, &n)
		counts[status] = n
		return err
	})
	return counts, err
}

// deliveriesByState counts the deliveries that have not arrived, by plugin.
func (s *Store) deliveriesByState(ctx context.Context) ([]pluginsdk.Figure, error) {
	var parts []string
	for _, state := range []pluginsdk.DeliveryState{pluginsdk.DeliveryPending, pluginsdk.DeliverySending, pluginsdk.DeliveryDead} {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (SELECT plugin, state, id FROM deliveries WHERE state = '%s' LIMIT %d) AS %s", state, countedMax, state))
	}
	query := "SELECT plugin, state, COUNT(*), MIN(id) FROM (" + strings.Join(parts, " UNION ALL ") + ") AS open GROUP BY plugin, state ORDER BY plugin, state"
	counts := pluginsdk.Figure{
		Name: "harness_deliveries", Help: "Deliveries that have not arrived; at most 10000 of each state are counted.", Kind: pluginsdk.FigureGauge,
	}
	oldest := ""
	err := s.each(ctx, query, func(scan scan) error {
		var plugin, state, first string
		var n float64
		if err := scan(&plugin, &state, &n, &first); err != nil {
			return err
		}
		counts.Samples = append(counts.Samples, pluginsdk.FigureSample{Labels: map[string]string{"plugin": plugin, "state": state}, Value: n})
		if state != string(pluginsdk.DeliveryDead) && (oldest == "" || first < oldest) {
			oldest = first
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	age := 0.0
	if oldest != "" {
		made, err := s.read.Delivery.Query().Where(delivery.ID(oldest)).Select(delivery.FieldCreatedAt).Only(ctx)
		if err != nil {
			return nil, err
		}
		age = s.now().Sub(made.CreatedAt).Seconds()
	}
	return []pluginsdk.Figure{counts, tally.Gauge("harness_deliveries_oldest_seconds", "For how long the oldest delivery has waited that is not dead; 0 when none does.", age)}, nil
}

// openApprovals counts what people are asked and have not answered.
func (s *Store) openApprovals(ctx context.Context) ([]pluginsdk.Figure, error) {
	var open, oldest float64
	var first sql.NullString // ids grow with time
	err := s.each(ctx, fmt.Sprintf("SELECT COUNT(*), MIN(id) FROM (SELECT id FROM approvals WHERE state = 'open' LIMIT %d) AS open", countedMax), func(scan scan) error {
		return scan(&open, &first)
	})
	if err == nil && first.Valid {
		var made *ent.Approval
		if made, err = s.read.Approval.Query().Where(approval.ID(first.String)).Select(approval.FieldCreatedAt).Only(ctx); err == nil {
			oldest = s.now().Sub(made.CreatedAt).Seconds()
		} else if ent.IsNotFound(err) {
			err = nil // it was deleted, with its thread
		}
	}
	if err != nil {
		return nil, err
	}
	return []pluginsdk.Figure{
		tally.Gauge("harness_approvals_open", "What the agent asks people, and nobody has answered; at most 10000 are counted.", open),
		tally.Gauge("harness_approvals_oldest_seconds", "For how long the oldest of it has waited; 0 when nothing does.", oldest),
	}, nil
}

// parkedRuns counts the runs that are parked, by what they wait for: a plan, or a plugin's gate.
func (s *Store) parkedRuns(ctx context.Context) (pluginsdk.Figure, error) {
	counts := map[string]float64{"plan": 0, "budget": 0}
	gated := s.ofParked("r.parked", "plugin") + " <> ''"
	err := s.each(ctx, "SELECT COUNT(*), COALESCE(SUM(CASE WHEN "+gated+" THEN 1 ELSE 0 END), 0) FROM runs r WHERE "+parkedSQL, func(scan scan) error {
		var all, budget float64
		err := scan(&all, &budget)
		counts["plan"], counts["budget"] = all-budget, budget
		return err
	})
	return tally.Gauges("harness_runs_parked", "Runs that wait for a window of a plan, or for a budget.", "for", counts), err
}

// cronsTold is of how many scheduled jobs is told how they do.
const cronsTold = 100

// cronsByJob tells, of each scheduled job that is on, or was turned off after failures, how often it has failed in a row, and when it has
// succeeded last. One that never has is not among the latter.
func (s *Store) cronsByJob(ctx context.Context) ([]pluginsdk.Figure, error) {
	failures := pluginsdk.Figure{Name: "harness_cron_failures", Help: "How often a scheduled job that is on, or was turned off after failures, has failed since it last succeeded; the first 100 jobs by name.", Kind: pluginsdk.FigureGauge}
	last := pluginsdk.Figure{Name: "harness_cron_last_success_timestamp_seconds", Help: "When a scheduled job that is on has succeeded last; the first 100 jobs by name.", Kind: pluginsdk.FigureGauge}
	newest := make(map[int64]string) // ids of fires, and the job of each
	var ids []int64
	err := s.each(ctx, fmt.Sprintf(`SELECT j.name, j.failures, (SELECT f.id FROM cron_fires f WHERE f.job_id = j.id AND f.state = 'succeeded' ORDER BY f.due DESC LIMIT 1)
		FROM cron_jobs j WHERE LOWER(TRIM(CAST(j.enabled AS TEXT))) IN ('1', 'true', 't', 'yes', 'on') OR j.failures > 0 ORDER BY j.name LIMIT %d`, cronsTold), func(scan scan) error {
		var name string
		var failed float64
		var fire sql.NullInt64
		if err := scan(&name, &failed, &fire); err != nil {
			return err
		}
		failures.Samples = append(failures.Samples, pluginsdk.FigureSample{Labels: map[string]string{"job": name}, Value: failed})
		if fire.Valid {
			newest[fire.Int64] = name
			ids = append(ids, fire.Int64)
		}
		return nil
	})
	if err != nil || len(failures.Samples) == 0 {
		return nil, err
	}
	fires, err := s.read.CronFire.Query().Where(cronfire.IDIn(ids...)).Select(cronfire.FieldID, cronfire.FieldEndedAt).All(ctx)
	for _, fire := range fires {
		if fire.EndedAt != nil {
			last.Samples = append(last.Samples, pluginsdk.FigureSample{Labels: map[string]string{"job": newest[fire.ID]}, Value: float64(fire.EndedAt.Unix())})
		}
	}
	return []pluginsdk.Figure{failures, last}, err
}
