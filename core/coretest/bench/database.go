package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/lib/pq"  // the driver "postgres"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// database is where an installation keeps its rows.
type database struct {
	name string
	env  []string
	url  string // empty: SQLite in the installation's directory
}

func onPostgres(url string) database {
	return database{name: "Postgres", env: []string{"DATABASE_URL=" + url}, url: url}
}

// databases are those that can be measured here.
func (b *bench) databases() []database {
	databases := []database{{name: "SQLite"}}
	if b.postgres == "" {
		b.row("Postgres", "left out: HARNESS_TEST_POSTGRES is not set (.ci/test-env sets it)")
		return databases
	}
	return append(databases, onPostgres(b.postgres))
}

// fresh returns a database with nothing in it, on the same server, and what
// removes it. On SQLite every installation has one anyway.
func (d database) fresh() (empty database, drop func() error, err error) {
	if d.url == "" {
		return d, func() error { return nil }, nil
	}
	address, err := url.Parse(d.url)
	if err != nil {
		return d, nil, fmt.Errorf("the address of Postgres is no URL")
	}
	name := "bench_" + strings.ToLower(rand.Text())
	if err := d.execute("CREATE DATABASE " + name); err != nil {
		return d, nil, err
	}
	address.Path = "/" + name
	return onPostgres(address.String()), func() error { return d.execute("DROP DATABASE " + name + " WITH (FORCE)") }, nil
}

func (d database) execute(statement string) error {
	db, err := sql.Open("postgres", d.url)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// open returns the database itself. The daemon should be down: SQLite has one
// writer.
func (d database) open(dir string) (*sql.DB, error) {
	if d.url != "" {
		return sql.Open("postgres", d.url)
	}
	return sql.Open("sqlite", filepath.Join(dir, "harness.db"))
}
