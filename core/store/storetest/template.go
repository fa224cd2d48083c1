package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/store"
)

// PreparedPostgres is a database of the test's own with the schema of an empty store, which
// is dropped when the test ends. It is a copy of a template: all migrations take the server
// several times as long as a copy. The test is skipped when Variable is not set.
func PreparedPostgres(t testing.TB) store.Config {
	t.Helper()
	server, address := connect(t)
	template, err := preparedTemplate()
	if err != nil {
		t.Fatalf("%s: make the template of an empty store: %s", Variable, err)
	}
	name := ownName()
	if _, err := server.ExecContext(context.Background(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s%s", name, template, copied(server))); err != nil {
		t.Fatalf("%s: make a database: %s", Variable, err)
	}
	t.Cleanup(func() {
		if _, err := server.ExecContext(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)); err != nil {
			t.Errorf("drop database: %s", err)
		}
	})
	return store.Config{URL: databaseURL(address, name), Dir: t.TempDir(), Log: logger(t)}
}

// copied has Postgres copy the files of a template, at half of the CPU that it takes to write each
// page into the log. Before version 15 it did nothing else, and had no word for it.
func copied(server *sql.DB) string {
	var version int
	if err := server.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil || version < 150000 {
		return ""
	}
	return " STRATEGY FILE_COPY"
}

func databaseURL(server *url.URL, name string) string {
	of := *server
	of.Path = "/" + name
	return of.String()
}

// preparedTemplate returns the name of the template, which the first process that needs it
// makes. The template stays on the server, for all packages and for later runs: the name
// tells what its migrations say.
var preparedTemplate = sync.OnceValues(func() (name string, err error) {
	address, err := url.Parse(os.Getenv(Variable))
	if err != nil {
		return "", err
	}
	sum, err := store.SchemaSum(dialect.Postgres)
	if err != nil {
		return "", err
	}
	name = "harness_template_" + sum[:16]
	db, err := sql.Open("postgres", address.String())
	if err != nil {
		return "", err
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx) // has the lock until it is closed
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtextextended('harness template', 0))"); err != nil {
		return "", err
	}
	var found bool
	err = conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&found)
	if err != nil || found {
		return name, err
	}
	return name, makeTemplate(ctx, conn, address, name)
})

// makeTemplate gives the database its name when it is whole.
func makeTemplate(ctx context.Context, server *sql.Conn, address *url.URL, name string) error {
	const half = "harness_template_half"
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + half + " WITH (FORCE)", "CREATE DATABASE " + half} {
		if _, err := server.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, store.Config{URL: databaseURL(address, half)})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = server.ExecContext(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", half, name))
	return err
}
