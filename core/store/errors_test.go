package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What will not pass must not be called unavailable: a run would be tried again
// for it, and its agent paid again, for nothing.
func TestErrorsThatWillNotPass(t *testing.T) {
	tests := map[string]struct {
		statements []string
		code       pluginsdk.Code
	}{
		"a row that is there": {[]string{
			"INSERT INTO audit_entries (id, who, action, created_at) VALUES ('a', 'test', 'x', '2026-01-01')",
			"INSERT INTO audit_entries (id, who, action, created_at) VALUES ('a', 'test', 'x', '2026-01-01')",
		}, pluginsdk.CodeInternal},
		"a row without what it must have": {[]string{
			"INSERT INTO audit_entries (id, who, action, created_at) VALUES (NULL, NULL, NULL, NULL)",
		}, pluginsdk.CodeInternal},
		"a COMMIT that is refused": {[]string{
			"CREATE TABLE parents (id INTEGER PRIMARY KEY)",
			"CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
			"INSERT INTO children VALUES (1)",
		}, pluginsdk.CodeInternal},
		"a table that is not there": {[]string{"DELETE FROM nothing_of_the_kind"}, pluginsdk.CodeInternal},
	}
	big := map[string][]string{
		"sqlite3":  {"INSERT INTO audit_entries (id, who, action, created_at) VALUES ('a', zeroblob(2000000000), 'x', '2026-01-01')"},
		"postgres": {"SELECT repeat('x', 2000000000)"},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		attempt := func(name string, code pluginsdk.Code, statements []string) {
			t.Helper()
			err := store.Wrap("write", s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
				for _, statement := range statements {
					if err := tx.Run1(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			}))
			if pluginsdk.CodeOf(err) != code {
				t.Errorf("%s: %v is %q, want %q", name, err, pluginsdk.CodeOf(err), code)
			}
		}
		for name, test := range tests {
			attempt(name, test.code, test.statements)
		}
		attempt("a row too big", pluginsdk.CodeInvalid, big[s.Dialect()])
		check(t, s.Audit(ctx, "ann", "and it goes on", "", ""))
	})
}

// A file that is damaged is not repaired by waiting.
func TestDamagedFileWillNotPass(t *testing.T) {
	config := storetest.SQLite(t)
	s, err := store.Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	thread := newThread(t, s, "general").ID
	for range 50 {
		add(t, s, thread, text(pluginsdk.RoleUser, strings.Repeat("x", 5000)))
	}
	check(t, s.Close())
	path := filepath.Join(config.Dir, "harness.db")
	content := must[[]byte](t)(os.ReadFile(path))
	for at := range content[4096:] { // its first page says what is in it
		content[4096+at] = 0x55
	}
	check(t, os.WriteFile(path, content, 0o600))
	_, err = store.Open(context.Background(), config)
	wantCode(t, err, pluginsdk.CodeInternal)
}

// What a shutdown interrupts is not lost, and may be repeated.
func TestClosedStoreIsUnavailable(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		s, err := store.Open(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		check(t, second(s.Thread(ctx, thread)))
		check(t, s.Close())
		wantCode(t, second(s.Thread(ctx, thread)), pluginsdk.CodeUnavailable)
		wantCode(t, second(s.Run(ctx, "never read before")), pluginsdk.CodeUnavailable)
		wantCode(t, s.Ping(ctx), pluginsdk.CodeUnavailable)
		wantCode(t, s.Audit(ctx, "ann", "too late", "", ""), pluginsdk.CodeUnavailable)
	})
}

// What the servers and drivers say, and what becomes of it.
func TestCodes(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("commit: %w", &pq.Error{Code: pqerror.Code(code)}) }
	for code, errs := range map[pluginsdk.Code][]error{
		pluginsdk.CodeUnavailable: {
			server("08006"), server("40001"), server("40P01"), server("53100"), server("53300"), server("57P01"), server("57P03"),
			server("58000"), server("58030"), server("25006"), server("55P03"),
			driver.ErrBadConn, io.ErrUnexpectedEOF, &net.OpError{Op: "dial", Err: errors.New("refused")},
			store.LiteError(5), store.LiteError(6), store.LiteError(7), store.LiteError(8), store.LiteError(10), store.LiteError(13),
			store.LiteError(14), store.LiteError(15), store.LiteError(5 | 2<<8),
		},
		pluginsdk.CodeInternal: {
			server("08P01"), server("23505"), server("40002"), server("42P01"), server("58P01"), server("XX000"), server("XX001"),
			server("XX002"), errors.New("anything else"),
			store.LiteError(1), store.LiteError(11), store.LiteError(19), store.LiteError(26), store.LiteError(10 | 32<<8), store.LiteError(10 | 33<<8),
		},
		pluginsdk.CodeInvalid: {server("22021"), server("22P02"), server("54000"), store.LiteError(18), store.LiteError(20)},
	} {
		for _, err := range errs {
			if got := pluginsdk.CodeOf(store.Wrap("write", err)); got != code {
				t.Errorf("%v is %q, want %q", err, got, code)
			}
		}
	}
}
