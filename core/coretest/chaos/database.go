package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "github.com/lib/pq"  // the driver "postgres"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// database is where the daemon keeps everything, seen from beside it. It does
// not go through the store on purpose: what is checked must not be read by
// what is checked.
type database struct {
	name  string
	url   string  // DATABASE_URL of the daemon; empty on SQLite
	db    *sql.DB // the daemon's tables
	admin *sql.DB // Postgres: another database of the same server
	own   string  // Postgres: name of the daemon's database
}

// openDatabase makes an empty database for a daemon with that data directory.
func openDatabase(ctx context.Context, name, data, server string) (*database, error) {
	if name == sqliteName {
		path := (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(data, "harness.db"), RawQuery: "_pragma=busy_timeout(20000)"}).String()
		db, err := sql.Open("sqlite", path)
		return &database{name: name, db: db}, err
	}
	suffix := make([]byte, 6)
	_, _ = rand.Read(suffix) // never fails
	d := &database{name: name, own: "chaos_" + hex.EncodeToString(suffix)}
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("HARNESS_TEST_POSTGRES is not a URL")
	}
	if d.admin, err = sql.Open("postgres", server); err != nil {
		return nil, err
	}
	if _, err := d.admin.ExecContext(ctx, "CREATE DATABASE "+d.own); err != nil {
		return nil, errors.Join(fmt.Errorf("make a database: %w", err), d.admin.Close())
	}
	address.Path = "/" + d.own
	d.url = address.String()
	if d.db, err = sql.Open("postgres", d.url); err != nil {
		return nil, errors.Join(err, d.admin.Close())
	}
	// Ours must not be among the connections that are cut.
	d.db.SetMaxIdleConns(0)
	return d, nil
}

// close drops the database when it lies on a server.
func (d *database) close() error {
	err := d.db.Close()
	if d.admin == nil {
		return err
	}
	_, dropped := d.admin.Exec("DROP DATABASE " + d.own + " WITH (FORCE)")
	return errors.Join(err, dropped, d.admin.Close())
}

// enable lets a plugin of somebody else work, as an operator does by SQL.
func (d *database) enable(ctx context.Context, plugin, settings, granted string) error {
	result, err := d.db.ExecContext(ctx, "UPDATE plugins SET enabled = true, settings = $1, granted = $2, position = 1 WHERE name = $3",
		settings, granted, plugin)
	if err != nil {
		return fmt.Errorf("enable the plugin %s: %w", plugin, err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("enable the plugin %s: %d rows, %w", plugin, n, err)
	}
	return nil
}

// configure sets a plugin's settings, as an operator does.
func (d *database) configure(ctx context.Context, plugin, settings string) error {
	if _, err := d.db.ExecContext(ctx, "UPDATE plugins SET settings = $1 WHERE name = $2", settings, plugin); err != nil {
		return fmt.Errorf("configure the plugin %s: %w", plugin, err)
	}
	return nil
}

// bound sets a plugin's limits, as an operator does.
func (d *database) bound(ctx context.Context, plugin, limits string) error {
	if _, err := d.db.ExecContext(ctx, "UPDATE plugins SET limits = $1 WHERE name = $2", limits, plugin); err != nil {
		return fmt.Errorf("bound the plugin %s: %w", plugin, err)
	}
	return nil
}

// await returns when a plugin's row says that it is in a state.
func (d *database) await(ctx context.Context, plugin, state string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var seen string
		err := d.db.QueryRowContext(ctx, "SELECT state FROM plugins WHERE name = $1", plugin).Scan(&seen)
		if err == nil && seen == state {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the plugin %s is not %s but %s: %w", plugin, state, seen, cmp.Or(err, context.Cause(ctx)))
		}
	}
}

// hold keeps the database's write lock for a while, as another process that
// writes does (SQLite).
func (d *database) hold(ctx context.Context, length time.Duration) error {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // it goes back to the pool
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	select {
	case <-time.After(length):
	case <-ctx.Done():
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}

// committed returns as soon as a transaction has been committed that adds rows to a
// thread, or after limit.
func (d *database) committed(ctx context.Context, limit time.Duration) error {
	var before, now sql.NullInt64
	for deadline := time.Now().Add(limit); before == now && time.Now().Before(deadline); {
		if err := d.db.QueryRowContext(ctx, "SELECT MAX(id) FROM messages").Scan(&now); err != nil {
			return err
		}
		if !before.Valid {
			before = now
		}
	}
	return nil
}

// cut is connections of the daemon that are ended on the server's side.
type cut struct{ name, condition string }

var cuts = []cut{
	{"in use", "a.state <> 'idle'"},
	{"all but the lock's", "NOT a.pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"},
	{"all", "true"},
	{"the lock's", "a.pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"},
	{"in use", "a.state <> 'idle'"},
	{"one", "a.pid = (SELECT max(pid) FROM pg_stat_activity WHERE datname = $1)"},
}

// cut carries one out (Postgres) and returns how many connections it hit.
func (d *database) cut(ctx context.Context, which cut) (n int, err error) {
	err = d.admin.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid))
		FROM pg_stat_activity a WHERE a.datname = $1 AND `+which.condition, d.own).Scan(&n)
	return n, err
}

// backlog is what the system still has to do.
type backlog struct{ runs, deliveries, tasks, jobs, unheard, fires int }

// load counts it, but for jobs and what was not heard.
func (d *database) load(ctx context.Context) (left backlog, err error) {
	for _, count := range []struct {
		of   *int
		what string
	}{
		{&left.runs, "runs WHERE finished_at IS NULL"},
		{&left.deliveries, "deliveries WHERE state NOT IN ('delivered', 'dead')"},
		{&left.tasks, "tasks WHERE completed_at IS NULL"},
		{&left.fires, "cron_fires WHERE state IN ('pending', 'running')"},
	} {
		if err := d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+count.what).Scan(count.of); err != nil {
			return left, err
		}
	}
	return left, nil
}

// heard are the messages and commands of Discord's that there are runs of, and whether these
// are over.
func (d *database) heard(ctx context.Context) (over map[string]bool, err error) {
	over = map[string]bool{}
	err = d.each(ctx, "SELECT key, finished_at IS NOT NULL FROM runs WHERE source IN ('discord', 'discord-owner')", func(rows *sql.Rows) error {
		var key sql.NullString
		var ended bool
		err := rows.Scan(&key, &ended)
		over[key.String] = ended
		return err
	})
	return over, err
}

// atWork is how many runs have a place now.
func (d *database) atWork(ctx context.Context) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM runs WHERE state = 'running'").Scan(&n)
	return n, err
}

// schedule makes a job that fires once, as an operator does.
func (d *database) schedule(ctx context.Context, id, name, prompt string, at time.Time) error {
	const layout = "2006-01-02 15:04:05.999999-07:00"
	_, err := d.db.ExecContext(ctx, `INSERT INTO cron_jobs (id, name, fire_at, timezone, prompt, enabled, missed, report, created_at)
		VALUES ($1, $2, $3, 'UTC', $4, true, 'run', 'never', $5)`, id, name, at.UTC().Format(layout), prompt, time.Now().UTC().Format(layout))
	if err != nil {
		return fmt.Errorf("make a scheduled job: %w", err)
	}
	return nil
}

// scheduled is how many times at which jobs were due have a row.
func (d *database) scheduled(ctx context.Context) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM cron_fires WHERE cause = 'schedule'").Scan(&n)
	return n, err
}

// turns is how many turns of the agent are recorded.
func (d *database) turns(ctx context.Context) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM agent_runs").Scan(&n)
	return n, err
}
