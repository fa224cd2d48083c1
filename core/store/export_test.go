package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/agentrun"
	"github.com/seed-706843ae/harness/ent/agentrunmodel"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Tx is what a closure of Write gets.
type Tx = tx

// Run1 runs a statement.
func (t *Tx) Run1(ctx context.Context, query string, args ...any) error {
	_, err := t.run(ctx, query, args...)
	return err
}

// Write hands a closure to the writer.
func (s *Store) Write(ctx context.Context, sync bool, f func(context.Context, *Tx) error) error {
	return s.write.do(ctx, durability(sync), f)
}

// Commits counts the transactions that SQLite's writer has committed.
func (s *Store) Commits() int64 {
	w := underneath(s).(*groupWriter)
	var n int64
	//nolint:errcheck // reads the counter on the writer's own goroutine
	w.do(context.Background(), relaxed, func(context.Context, *tx) error { n = w.commits; return nil })
	return n
}

// AgeVersion makes what is kept of SQLite's version that much older.
func (s *Store) AgeVersion(by time.Duration) {
	b := s.back.(*sqliteBackend)
	if last := b.last.Load(); last != nil {
		older := *last
		older.at = older.at.Add(-by)
		b.last.Store(&older)
	}
}

// Pending counts the writes that SQLite's writer has not begun.
func (s *Store) Pending() int {
	w := underneath(s).(*groupWriter)
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pending)
}

// Reader is the pool that reads go to.
func (s *Store) Reader() *sql.DB { return s.back.reader() }

// SchemaDiff returns the statements that would make the database what ent's
// schema says.
func (s *Store) SchemaDiff(ctx context.Context) (string, error) {
	db := s.back.reader()
	if back, ok := s.back.(*sqliteBackend); ok {
		if err := s.write.close(); err != nil { // frees the one connection that may write
			return "", err
		}
		db = back.writer
	}
	client := ent.NewClient(ent.Driver(entsql.OpenDB(s.back.dialect(), db)))
	var out bytes.Buffer
	err := client.Schema.WriteTo(ctx, &out, schema.WithDropColumn(true), schema.WithDropIndex(true))
	return out.String(), err
}

// MigrationText is what all migrations of the database say.
func (s *Store) MigrationText() (string, error) {
	all, err := migrations(s.Dialect())
	var text strings.Builder
	for _, one := range all {
		text.WriteString(one.sql)
	}
	return text.String(), err
}

// The Keep functions store a value through its conversion to a row; they are
// how the test of the mapping reaches the database.

func (s *Store) keep(ctx context.Context, f func(context.Context, *tx) error) error {
	return s.write.do(ctx, durable, f)
}

// KeepThread stores a thread as it is.
func (s *Store) KeepThread(ctx context.Context, t ledger.Thread) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertThread(tx.Thread, t).Exec(ctx) })
}

// KeptThread reads all of a thread.
func (s *Store) KeptThread(ctx context.Context, id string) (ledger.Thread, error) {
	row, err := s.read.Thread.Get(ctx, id)
	if err != nil {
		return ledger.Thread{}, err
	}
	return threadOf(row), nil
}

// KeepMessage stores a message and returns its id.
func (s *Store) KeepMessage(ctx context.Context, m pluginsdk.Message) (id int64, err error) {
	err = s.keep(ctx, func(ctx context.Context, tx *tx) (err error) {
		m, err = tx.insertMessage(ctx, m)
		id = m.ID
		return err
	})
	return id, err
}

// KeepRun stores a run as it is.
func (s *Store) KeepRun(ctx context.Context, r ledger.Run) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error {
		insert, err := insertRun(tx.Run, r)
		if err != nil {
			return err
		}
		return insert.Exec(ctx)
	})
}

// KeptRun reads all of a run.
func (s *Store) KeptRun(ctx context.Context, id string) (ledger.Run, error) {
	return s.claimedRun(ctx, s.read, s.query, id)
}

// KeepAgentRun stores an agent run and returns its id.
func (s *Store) KeepAgentRun(ctx context.Context, r ledger.AgentRun) (id int64, err error) {
	err = s.keep(ctx, func(ctx context.Context, tx *tx) error {
		if err := tx.recordTurn(ctx, r, ""); err != nil {
			return err
		}
		return tx.row(ctx, "SELECT MAX(id) FROM agent_runs", nil, &id)
	})
	return id, err
}

// AgentRuns returns the agent runs of a thread, oldest first.
func (s *Store) AgentRuns(ctx context.Context, threadID string) ([]ledger.AgentRun, error) {
	rows, err := s.read.AgentRun.Query().Where(agentrun.ThreadID(threadID)).Order(agentrun.ByID()).All(ctx)
	if err != nil {
		return nil, err
	}
	runs := all(rows, agentRunOf)
	for i := range runs {
		parts, err := s.read.AgentRunModel.Query().Where(agentrunmodel.AgentRunID(runs[i].ID)).Order(agentrunmodel.ByID()).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			runs[i].Models = append(runs[i].Models, pluginsdk.ModelUsage{
				Model: part.Model, CostUSD: part.CostUsd, Usage: pluginsdk.Usage{
					InputTokens: part.InputTokens, OutputTokens: part.OutputTokens,
					CacheReadTokens: part.CacheReadTokens, CacheWriteTokens: part.CacheWriteTokens,
				},
			})
		}
	}
	return runs, nil
}

// KeepAccount stores an account as it is.
func (s *Store) KeepAccount(ctx context.Context, a ledger.Account) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertAccount(tx.Account, a).Exec(ctx) })
}

func agentRunOf(row *ent.AgentRun) ledger.AgentRun {
	return ledger.AgentRun{
		ID: row.ID, RunID: row.RunID, TaskID: row.TaskID, ThreadID: row.ThreadID,
		Plugin: row.Plugin, Cron: row.Cron, Purpose: row.Purpose, Model: row.Model,
		Usage: pluginsdk.Usage{
			InputTokens: row.InputTokens, OutputTokens: row.OutputTokens,
			CacheReadTokens: row.CacheReadTokens, CacheWriteTokens: row.CacheWriteTokens,
		},
		CostUSD: row.CostUsd, Account: row.Account, Notional: row.Notional, CostUnsure: row.CostUnsure, Duration: time.Duration(row.DurationNs), Success: row.Success,
		Error: row.Error, StartedAt: row.StartedAt.UTC(),
	}
}

// KeepMetric stores a metric.
func (s *Store) KeepMetric(ctx context.Context, m pluginsdk.Metric) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error {
		return tx.insertMetrics(ctx, []pluginsdk.Metric{m}, make(storedBytes))
	})
}

// KeepApprovalAsIs stores an approval and a rule without asking whether they may be.
func (s *Store) KeepApprovalAsIs(ctx context.Context, a ledger.Approval, r pluginsdk.ApprovalRule) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error {
		if err := insertApproval(tx.Approval, a).Exec(ctx); err != nil {
			return err
		}
		return insertApprovalRule(tx.ApprovalRule, r).Exec(ctx)
	})
}

// KeepTask stores a task as it is.
func (s *Store) KeepTask(ctx context.Context, t ledger.Task) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertTask(tx.Task, t).Exec(ctx) })
}

// KeepToken stores a token as it is.
func (s *Store) KeepToken(ctx context.Context, t ledger.Token) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertToken(tx.Token, t).Exec(ctx) })
}

// KeepTaskAnswer stores an answer as it is.
func (s *Store) KeepTaskAnswer(ctx context.Context, a ledger.TaskAnswer) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertTaskAnswer(tx.TaskAnswer, a).Exec(ctx) })
}

// KeepFileAsIs stores a file as it is.
func (s *Store) KeepFileAsIs(ctx context.Context, f ledger.KeptFile) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertFile(tx.File, f).Exec(ctx) })
}

// KeepDelivery stores a delivery as it is.
func (s *Store) KeepDelivery(ctx context.Context, d pluginsdk.Delivery) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertDelivery(tx.Delivery, d).Exec(ctx) })
}

// KeepPlugin stores a registry row as it is.
func (s *Store) KeepPlugin(ctx context.Context, p ledger.Plugin) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error {
		insert, err := insertPlugin(tx.Plugin, p)
		if err != nil {
			return err
		}
		return insert.Exec(ctx)
	})
}

// BreakRollback makes SQLite's writing connection answer the next ROLLBACK with
// an error, and leave its transaction open. No write may be under way.
func (s *Store) BreakRollback() {
	conn := underneath(s).(*groupWriter).conn
	conn.prepared["ROLLBACK"], _ = conn.statement(context.Background(), "ROLLBACK TO absent") //nolint:sqlclosecheck // kept until close
}

// losing is a writer whose COMMITs have no known outcome.
type losing struct {
	writer
	landed bool
}

func (l losing) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	if l.landed {
		if err := l.writer.do(ctx, how, f); err != nil {
			return err
		}
	}
	return &uncertainError{errors.New("connection lost")}
}

// LoseCommits makes the store forget what became of its COMMITs.
func (s *Store) LoseCommits(landed bool) { s.write = losing{s.write, landed} }

// LiteError is an error with a result code of SQLite.
func LiteError(code int) error { return liteError(code) }

type liteError int

func (e liteError) Error() string { return fmt.Sprintf("SQLite says %d", int(e)) }

func (e liteError) Code() int { return int(e) }

// Wrap gives an error of Write the code that callers of the store see.
func Wrap(operation string, err error) error { return wrap(operation, err) }

// Pragma runs a statement on SQLite's writing connection, outside of any
// transaction. No write may be under way.
func (s *Store) Pragma(ctx context.Context, text string) error {
	_, err := underneath(s).(*groupWriter).conn.direct(ctx, text)
	return err
}

// LimitTransactions bounds transactions on Postgres otherwise than by transactionMax.
func (s *Store) LimitTransactions(limit time.Duration) { underneath(s).(*poolWriter).limit = limit }

// Renew ends the connections to Postgres that lie idle.
func (s *Store) Renew() { s.back.(*postgresBackend).renew() }

// Prepared counts the statements that are kept for writing. No write may be under way.
func (s *Store) Prepared() int {
	w, ok := underneath(s).(*groupWriter)
	if ok {
		return len(w.conn.prepared)
	}
	back, n := s.back.(*postgresBackend), 0
	for _, one := range slices.Concat(back.strict.idle, back.lazy.idle) {
		n += len(one.prepared)
	}
	return n
}

// underneath is the writer itself, without what counts its writes.
func underneath(s *Store) writer {
	if counting, ok := s.write.(timedWriter); ok {
		return counting.writer
	}
	return s.write
}

// FilledUntil is when the last of the turns of FillAgentRuns began.
var FilledUntil = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// FillAgentRuns stores so many turns of 10,000 threads and 20,000 tasks over two years.
func (s *Store) FillAgentRuns(ctx context.Context, n int) error {
	series, at := "generate_series(1, $1) AS n", "$2::timestamptz - n * interval '1 minute'"
	until := any(FilledUntil)
	if s.Dialect() == dialect.SQLite {
		series = "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1) SELECT n FROM s)"
		at, until = "strftime('%Y-%m-%d %H:%M:%S+00:00', $2, '-' || n || ' minutes')", FilledUntil.Format(time.DateTime)
	}
	return s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, `INSERT INTO agent_runs (run_id, task_id, thread_id, plugin, purpose, model, input_tokens, output_tokens,
			cache_read_tokens, cache_write_tokens, cost_usd, duration_ns, success, error, started_at)
			SELECT 'run-0198c5c0-0000-7000-8000-' || n, CASE WHEN n % 5 = 0 THEN 'task-0198c5c0-0000-7000-8000-' || (n % 20000) ELSE '' END,
			'thread-0198c5c0-0000-7000-8000-' || (n % 10000), CASE WHEN n % 7 = 0 THEN 'validation' ELSE '' END, 'pipeline', 'claude-sonnet-' || (n % 4),
			n % 1000, n % 100, n % 10000, n % 500, 0.01, 1000000000, true, '', `+at+` FROM `+series, n, until)
		return err
	})
}

// KeepApproval stores an approval as it is.
func (s *Store) KeepApproval(ctx context.Context, a ledger.Approval) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertApproval(tx.Approval, a).Exec(ctx) })
}

// KeepApprovalRule stores a rule as it is.
func (s *Store) KeepApprovalRule(ctx context.Context, r pluginsdk.ApprovalRule) error {
	return s.keep(ctx, func(ctx context.Context, tx *tx) error { return insertApprovalRule(tx.ApprovalRule, r).Exec(ctx) })
}

// Plans returns how the database carries out the queries that f makes, one a query.
func (s *Store) Plans(f func()) (plans []string) {
	query, read := s.query, s.read
	defer func() { s.query, s.read = query, read }()
	s.query = explained{query, s.Dialect(), &plans}
	s.read = ent.NewClient(ent.Driver(entsql.NewDriver(s.Dialect(), entsql.Conn{ExecQuerier: s.query})))
	f()
	return plans
}

type explained struct {
	entsql.ExecQuerier

	dialect string
	plans   *[]string
}

// QueryContext asks for the plan of a query first.
func (e explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	plan, err := e.plan(ctx, query, args)
	if err != nil {
		return nil, err
	}
	*e.plans = append(*e.plans, plan)
	return e.ExecQuerier.QueryContext(ctx, query, args...)
}

func (e explained) plan(ctx context.Context, query string, args []any) (plan string, err error) {
	var id, parent, unused int
	var line string
	explain, columns := "EXPLAIN QUERY PLAN ", []any{&id, &parent, &unused, &line}
	if e.dialect == dialect.Postgres {
		explain, columns = "EXPLAIN ", []any{&line}
	}
	rows, err := e.ExecQuerier.QueryContext(ctx, explain+query, args...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return "", err
		}
		plan += line + "\n"
	}
	return plan, rows.Err()
}

// explaining has the database say of each query that names a table how it answers that.
type explaining struct {
	entsql.ExecQuerier

	words, table string
	plans        *[]string
}

func (e explaining) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, e.table) {
		rows, err := e.ExecQuerier.QueryContext(ctx, e.words+query, args...)
		if err != nil {
			return nil, err
		}
		plan, err := everyColumn(rows)
		if err != nil {
			return nil, err
		}
		*e.plans = append(*e.plans, plan)
	}
	return e.ExecQuerier.QueryContext(ctx, query, args...)
}

// everyColumn is what rows say, in one text.
func everyColumn(rows *sql.Rows) (text string, err error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	for rows.Next() {
		cells, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		text += fmt.Sprintln(cells...)
	}
	return text, rows.Err()
}

// Explain returns how the database answers the queries of a table that do asks for through ent.
func (s *Store) Explain(table string, do func() error) (plans []string, err error) {
	words := "EXPLAIN "
	if s.back.dialect() == dialect.SQLite {
		words = "EXPLAIN QUERY PLAN "
	}
	read := s.read
	defer func() { s.read = read }()
	s.read = ent.NewClient(ent.Driver(entsql.NewDriver(s.back.dialect(), entsql.Conn{ExecQuerier: explaining{s.query, words, table, &plans}})))
	return plans, do()
}

// Columns are those of a table.
func (s *Store) Columns(ctx context.Context, table string) ([]string, error) {
	rows, err := s.query.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err())
}
