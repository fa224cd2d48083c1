package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The migrations must make what the code expects. When this fails after a
// change of ent/schema, its message is what the next migration has to say.
func TestMigrationsMatchSchema(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		diff := must[string](t)(s.SchemaDiff(context.Background()))
		text := must[string](t)(s.MigrationText())
		var statements []string
		for line := range strings.Lines(diff) {
			line = strings.TrimSpace(line)
			if n := len(statements) - 1; n >= 0 && strings.HasPrefix(statements[n], "DROP INDEX") && strings.Contains(line, " WHERE ") && strings.Contains(text, line) {
				// Postgres tells the condition of an index in words of its own, so that
				// it looks changed: dropped, and made anew.
				statements = statements[:n]
				continue
			}
			if line != "" && !strings.HasPrefix(line, "PRAGMA") && !strings.HasPrefix(line, "--") {
				statements = append(statements, line)
			}
		}
		if len(statements) > 0 {
			t.Errorf("ent/schema and core/store/migrations differ on %s; add a migration:\n%s",
				s.Dialect(), strings.Join(statements, "\n"))
		}
	})
}

// Who starts an old program on a database that a new one has changed must be
// stopped before it does harm, and told why.
func TestNewerDatabaseIsRefused(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s, err := store.Open(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'future', 'tomorrow')")
		}))
		check(t, s.Close())
		newer, err := store.Open(ctx, config)
		if err == nil {
			check(t, newer.Close())
			t.Fatal("a newer database was opened")
		}
		wantCode(t, err, pluginsdk.CodeInvalid)
		for _, part := range []string{"version 99", fmt.Sprint("up to ", must[int](t)(store.Newest(config)))} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	})
}

// Several programs (the daemon, a command) may be the first at once.
func TestOpenAtOnce(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				s, err := store.Open(context.Background(), config)
				if err != nil {
					t.Error(err)
					return
				}
				check(t, second(s.EnsurePrimary(context.Background())))
				check(t, s.Close())
			})
		}
		group.Wait()
		s := storetest.OpenConfig(t, config)
		if threads := must[[]pluginsdk.Thread](t)(s.Threads(context.Background(), pluginsdk.ThreadQuery{})); len(threads) != 1 {
			t.Errorf("%d primary threads: %+v", len(threads), threads)
		}
	})
}

// A wrong address is named without what is secret in it.
func TestOpenRefusesAddresses(t *testing.T) {
	for _, url := range []string{
		"mysql://root:secret@localhost/db",
		"postgres://user:secret@127.0.0.1:1/db?sslmode=disable",
		"postgres://user:secret@host:port:port/db",
		"postgres://user:secret@host/db?sslmode=sometimes",
	} {
		s, err := store.Open(context.Background(), store.Config{URL: url})
		if err == nil {
			t.Errorf("%s was opened", url)
			check(t, s.Close())
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is in %q", err)
		}
	}
	_, err := store.Open(context.Background(), store.Config{})
	wantCode(t, err, pluginsdk.CodeInvalid)
}

func TestDescribe(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		s := storetest.OpenConfig(t, config)
		if text := s.Describe(); !strings.Contains(text, "harness") || strings.Contains(text, "sslmode") {
			t.Errorf("described as %q", text)
		}
		check(t, s.Ping(context.Background()))
		if problems := must[[]string](t)(s.Integrity(context.Background())); len(problems) != 0 {
			t.Errorf("an empty database has problems: %v", problems)
		}
	})
}

// The doctor must find what should not be.
func TestIntegrityFindsOrphans(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, second(s.KeepMessage(ctx, filled[pluginsdk.Message](t))))
		run := filled[ledger.Run](t) // its FinishedAt is set
		run.State = pluginsdk.RunRunning
		check(t, s.KeepRun(ctx, run))
		check(t, s.KeepTask(ctx, filled[ledger.Task](t)))
		check(t, s.KeepTaskAnswer(ctx, ledger.TaskAnswer{TaskID: "nope", At: time.Now()}))
		check(t, s.KeepApprovalAsIs(ctx, ledger.Approval{Approval: pluginsdk.Approval{ID: "a", ThreadID: "nope", RunID: "nope"}}, pluginsdk.ApprovalRule{ID: "r", ThreadID: "nope"}))
		check(t, s.KeepFileAsIs(ctx, ledger.KeptFile{File: pluginsdk.File{ID: "f", ThreadID: "nope"}}))
		waits := filled[ledger.Run](t)
		waits.ID, waits.State = "waits", pluginsdk.RunWaiting
		check(t, s.KeepRun(ctx, waits))
		const at = "'2026-01-02 03:04:05'"
		byHand(t, s, "INSERT INTO workspace_changes (path, kind, version, created_at) VALUES ('SOUL.md', 'written', 'no text', "+at+")")
		there := newThread(t, s, "there, and going")
		byHand(t, s, "INSERT INTO thread_removals (id, created_at) VALUES ('"+there.ID+"', "+at+")")
		byHand(t, s, "UPDATE message_index_marks SET message_id = 1000000")
		if s.Dialect() == "postgres" {
			byHand(t, s, "INSERT INTO message_index (message_id, words) VALUES (999999, ''::tsvector)")
		} else {
			byHand(t, s, "INSERT INTO message_index (rowid, words) VALUES (999999, 'w')")
		}
		add(t, s, there.ID, text(pluginsdk.RoleUser, "not in the index"))
		_, astray, err := s.IndexIntegrity(ctx)
		check(t, err)
		problems := strings.Join(append(must[[]string](t)(s.Integrity(ctx)), astray...), "\n")
		for _, want := range []string{
			"1 approvals of no run", "1 rules of no thread", "1 files of no thread", "1 runs that wait for an answer to nothing",
			"1 context files whose text is not kept", "1 threads that are there, and are to be removed",
			" messages that a search does not find", "1 entries of the search index for no message",
			"1 messages of no thread", "2 runs of no thread", "2 runs of no message", "finished_at disagree", "1 tasks of no thread",
			"1 tasks below no task", "1 tasks whose iteration has no run", "1 answers about no task", "1 tasks whose status and phase disagree",
		} {
			if !strings.Contains(problems, want) {
				t.Errorf("%q is missing in %q", want, problems)
			}
		}
	})
}

// Operators open the file with the sqlite3 command: what they write and what
// is written must sort and read alike.
func TestTimesWrittenByHand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, s.RecordMetrics(ctx, "x", []pluginsdk.NewMetric{{Name: "now"}}))
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "INSERT INTO metrics (name, value, created_at) VALUES ('old', 1, '2020-01-01 00:00:00'), ('later', 1, '2999-01-01 00:00:00')")
		}))
		now := only[pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Name: "now"}))
		got := must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Since: now.CreatedAt}))
		if len(got) != 2 || got[0].Name != "now" || got[1].Name != "later" || got[1].CreatedAt.Year() != 2999 {
			t.Errorf("since now: %+v", got)
		}
		got = must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Until: now.CreatedAt}))
		if len(got) != 1 || got[0].Name != "old" {
			t.Errorf("until now: %+v", got)
		}
		var raw sql.NullString
		check(t, s.Reader().QueryRowContext(ctx, "SELECT CAST(created_at AS text) FROM metrics WHERE name = 'now'").Scan(&raw))
		if want := now.CreatedAt.Format("2006-01-02 15:04"); !strings.HasPrefix(raw.String, want) {
			t.Errorf("stored as %q, want it to begin with %q", raw.String, want)
		}
	})
}
