// Package storetest opens stores for the tests of other packages.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/seed-706843ae/harness/core/store"
)

// Variable names the environment variable with the address of a Postgres
// database in which tests may make schemas, on a server on which they may make databases.
const Variable = "HARNESS_TEST_POSTGRES"

// Open opens an empty store on SQLite, which is closed when the test ends.
func Open(t testing.TB) *store.Store {
	t.Helper()
	config := SQLite(t)
	PrepareSQLite(t, config.Dir)
	return OpenConfig(t, config)
}

// PrepareSQLite puts the file of an empty store into a data directory, so that its first
// daemon has nothing to migrate.
func PrepareSQLite(t testing.TB, dir string) {
	t.Helper()
	empty, err := emptySQLite()
	if err != nil {
		t.Fatalf("make an empty database: %s", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "harness.db"), empty, 0o600); err != nil {
		t.Fatal(err)
	}
}

// emptySQLite is the file of an empty store. All migrations are done once for all tests of
// a package: each waits for the disk.
var emptySQLite = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "harness-empty")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(context.Background(), store.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "harness.db"))
})

// Each runs a test on an empty store of each database, as subtests. Without
// a Postgres at hand that half is skipped, and says so.
func Each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, Open(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, OpenConfig(t, PreparedPostgres(t))) })
}

// EachConfig is Each for tests that open the store themselves.
func EachConfig(t *testing.T, test func(t *testing.T, config store.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		config := SQLite(t)
		PrepareSQLite(t, config.Dir)
		test(t, config)
	})
	t.Run("postgres", func(t *testing.T) { test(t, PreparedPostgres(t)) })
}

// EachEmpty is EachConfig for tests that are about the making of a store: nothing is there yet,
// so that whoever opens it does all migrations.
func EachEmpty(t *testing.T, test func(t *testing.T, config store.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// OpenConfig opens a store, which is closed when the test ends.
func OpenConfig(t testing.TB, config store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), config)
	if err != nil {
		t.Fatalf("open store: %s", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %s", err)
		}
	})
	return s
}

// SQLite is a directory of the test's own, in which there is no database yet.
func SQLite(t testing.TB) store.Config {
	t.Helper()
	return store.Config{Dir: t.TempDir(), Log: logger(t)}
}

// Postgres is a schema of the test's own, with nothing in it, which is dropped when the
// test ends. The test is skipped when Variable is not set.
func Postgres(t testing.TB) store.Config {
	t.Helper()
	server, address := connect(t)
	schema := ownName()
	if _, err := server.ExecContext(context.Background(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatalf("%s: make a schema: %s", Variable, err)
	}
	t.Cleanup(func() {
		if _, err := server.ExecContext(context.Background(), fmt.Sprintf("DROP SCHEMA %s CASCADE", schema)); err != nil {
			t.Errorf("drop schema: %s", err)
		}
	})
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return store.Config{URL: address.String(), Dir: t.TempDir(), Log: logger(t)}
}

// connect opens the database of Variable until the test ends.
func connect(t testing.TB) (*sql.DB, *url.URL) {
	t.Helper()
	address := os.Getenv(Variable)
	if address == "" {
		t.Skipf("left out on Postgres: %s is not set (make test sets it up)", Variable)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatalf("%s is not a URL", Variable)
	}
	server, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatalf("%s: %s", Variable, err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %s", err)
		}
	})
	return server, parsed
}

func ownName() string { return "test_" + strings.ReplaceAll(uuid.NewString(), "-", "") }

func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
