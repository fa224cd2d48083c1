package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// awkward is text that a careless format breaks.
const awkward = "line\nline\r\n\t\"quoted\" 'it' \\ <tag> & ü \u2028 \U0001F600"

// value is what row n has in a column. Row 3 is as empty as can be.
func value(table string, column store.Column, n int) any {
	if n == 3 && column.Nullable {
		return nil
	}
	seed := int64(n)
	switch column.Kind {
	case "text":
		return fmt.Sprintf("%s.%s %d %s", table, column.Name, n, awkward)
	case "int":
		if column.Name == "id" {
			return seed * 10
		}
		return seed + 1<<53 // more than a float can tell apart
	case "float":
		return []float64{0.1, -1e300, 3}[n-1]
	case "bool":
		return n == 1
	case "time":
		return time.Date(2026, 1, 2, 3, 4, 5, n*123_457_000, time.FixedZone("", 3600)).UTC()
	case "json":
		return []byte(fmt.Sprintf(`{"z": %d,  "a":"\u0000 \ud83d\ude00", "a": 1.0}`, n))
	case "bytes":
		return []byte{0, 0xff, byte(n), '\n'}
	}
	return nil
}

// fillTables stores three rows with every column set in every table.
func fillTables(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := context.Background()
	for table, columns := range must[map[string][]store.Column](t)(s.Tables(ctx)) {
		names, marks := make([]string, len(columns)), make([]string, len(columns))
		for i, column := range columns {
			names[i], marks[i] = `"`+column.Name+`"`, fmt.Sprintf("$%d", i+1)
		}
		for n := 1; n <= 3; n++ {
			args := make([]any, len(columns))
			for i, column := range columns {
				args[i] = value(table, column, n)
			}
			check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
				return tx.Run1(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", ")), args...)
			}))
		}
	}
}

func dump(t *testing.T, s *store.Store) map[string][]string {
	t.Helper()
	ctx := context.Background()
	rows := make(map[string][]string)
	for table := range must[map[string][]store.Column](t)(s.Tables(ctx)) {
		for _, row := range must[[]string](t)(s.Dump(ctx, table)) {
			if !strings.Contains(row, `"database.restore"`) { // what a restore adds
				rows[table] = append(rows[table], row)
			}
		}
	}
	return rows
}

// backup saves a store and returns the file.
func backup(t *testing.T, s *store.Store, workspace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "it.backup")
	_, err := s.Backup(context.Background(), store.Backup{File: file, Workspace: workspace, Version: "test"})
	if err != nil {
		t.Fatalf("backup: %s", err)
	}
	return file
}

func restoreInto(t *testing.T, config store.Config, file string) store.RestoreReport {
	t.Helper()
	report, err := store.RestoreBackup(context.Background(), config, restoration(config, file))
	if err != nil {
		t.Fatalf("restore: %s", err)
	}
	return report
}

func restoration(config store.Config, file string) store.Restore {
	return store.Restore{File: file, Workspace: filepath.Join(config.Dir, "workspace"), Owner: "test"}
}

// pairs runs a test for each database that is saved and each that it is
// restored into.
func pairs(t *testing.T, test func(t *testing.T, from, to store.Config)) {
	t.Helper()
	databases := map[string]func(testing.TB) store.Config{"sqlite": storetest.SQLite, "postgres": storetest.Postgres}
	for from, saved := range databases {
		for to, restored := range databases {
			t.Run(from+" to "+to, func(t *testing.T) { test(t, saved(t), restored(t)) })
		}
	}
}

// What a backup does not keep is lost on the day that it is needed.
func TestBackupKeepsEveryColumnOfEveryTable(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		s := storetest.OpenConfig(t, from)
		fillTables(t, s)
		want := dump(t, s)
		if len(want) < 11 || len(want["messages"]) != 3 {
			t.Fatalf("%d tables were filled: %v", len(want), slices.Sorted(maps.Keys(want)))
		}
		restoreInto(t, to, backup(t, s, ""))
		restored := storetest.OpenConfig(t, to)
		got := dump(t, restored)
		for table := range want {
			if !slices.Equal(got[table], want[table]) {
				t.Errorf("table %s:\n got %s\nwant %s", table, strings.Join(got[table], "\n"), strings.Join(want[table], "\n"))
			}
		}
		if len(got) != len(want) {
			t.Errorf("restored %d tables of %d", len(got), len(want))
		}
	})
}

// The same through the eyes of the daemon.
func TestRestoredRowsReadAlike(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		ctx := context.Background()
		s := storetest.OpenConfig(t, from)
		thread, run, task := filled[ledger.Thread](t), parkedRun(t), filled[ledger.Task](t)
		message, delivery := filled[pluginsdk.Message](t), filled[pluginsdk.Delivery](t)
		check(t, s.KeepThread(ctx, thread))
		check(t, s.KeepRun(ctx, run))
		check(t, s.KeepTask(ctx, task))
		check(t, s.KeepDelivery(ctx, delivery))
		check(t, s.KeepPlugin(ctx, filled[ledger.Plugin](t)))
		message.ID = must[int64](t)(s.KeepMessage(ctx, message))
		plugins := must[[]ledger.Plugin](t)(s.Plugins(ctx))
		restoreInto(t, to, backup(t, s, ""))
		r := storetest.OpenConfig(t, to)
		thread.Unread, task.CostUSD, task.NotionalUSD, task.CostUnsure = 0, 0, 0, false // are counted, not stored
		same(t, thread, must[ledger.Thread](t)(r.KeptThread(ctx, thread.ID)))
		same(t, message, must[pluginsdk.Message](t)(r.Message(ctx, message.ID)))
		same(t, run, must[ledger.Run](t)(r.KeptRun(ctx, run.ID)))
		same(t, task, must[ledger.Task](t)(r.TaskState(ctx, task.ID)))
		same(t, plugins[0], only[ledger.Plugin](t)(r.Plugins(ctx)))
		same(t, delivery, only[pluginsdk.Delivery](t)(r.Deliveries(ctx, pluginsdk.DeliveryQuery{})))
	})
}

// An id that is given twice makes two messages one, for whoever kept it.
func TestRestoredDatabaseGivesNewIDs(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		ctx := context.Background()
		s := storetest.OpenConfig(t, from)
		th := newThread(t, s, "a")
		accept(t, s, th.ID, "kept")
		last := must[int64](t)(s.KeepMessage(ctx, pluginsdk.Message{ThreadID: th.ID, Role: "user", Kind: "text", Source: "x", CreatedAt: time.Now()}))
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "DELETE FROM messages WHERE id = $1", last)
		}))
		restoreInto(t, to, backup(t, s, ""))
		r := storetest.OpenConfig(t, to)
		if id := accept(t, r, th.ID, "new").MessageID; id <= last {
			t.Errorf("the new message has the id %d, %d was given before", id, last)
		}
		check(t, r.RecordMetrics(ctx, "x", []pluginsdk.NewMetric{{Name: "first"}})) // a table that was empty
	})
}

// A backup that is made while people write must be of one instant.
func TestBackupWhileWriting(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		s := storetest.OpenConfig(t, config)
		ctx, stop := context.WithCancel(context.Background())
		var writers sync.WaitGroup
		begun := make(chan struct{}, 3)
		for n := range 3 {
			th := newThread(t, s, fmt.Sprint(n))
			writers.Go(func() {
				for ctx.Err() == nil {
					accept(t, s, th.ID, "question")
					finish(t, s, claim(t, s, th.ID), "answer")
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		defer writers.Wait()
		defer stop()
		other := config // as another process does it
		other.Schema = store.SchemaAny
		reader := storetest.OpenConfig(t, other)
		var saved []string
		for range 2 {
			<-begun
			saved = append(saved, backup(t, reader, ""))
		}
		stop()
		writers.Wait()
		for _, file := range saved {
			to := storetest.SQLite(t)
			if report := restoreInto(t, to, file); len(report.Problems) > 0 {
				t.Errorf("the backup is of no instant: %v", report.Problems)
			}
			r := storetest.OpenConfig(t, to)
			var questions, runs, answers, succeeded int
			check(t, r.Reader().QueryRowContext(context.Background(), `SELECT
				(SELECT COUNT(*) FROM messages WHERE role = 'user'), (SELECT COUNT(*) FROM runs),
				(SELECT COUNT(*) FROM messages WHERE role = 'assistant'), (SELECT COUNT(*) FROM runs WHERE state = 'succeeded')`).
				Scan(&questions, &runs, &answers, &succeeded))
			if questions == 0 || questions != runs || answers != succeeded {
				t.Errorf("%d questions with %d runs, %d answers with %d runs that succeeded", questions, runs, answers, succeeded)
			}
		}
	})
}

// Whoever types the name of yesterday's backup must not lose it.
func TestBackupDoesNotOverwrite(t *testing.T) {
	s := storetest.Open(t)
	file := filepath.Join(t.TempDir(), "it.backup")
	check(t, os.WriteFile(file, []byte("yesterday"), 0o600))
	_, err := s.Backup(context.Background(), store.Backup{File: file})
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("got %v", err)
	}
	if content := must[[]byte](t)(os.ReadFile(file)); string(content) != "yesterday" {
		t.Errorf("the file is now %q", content)
	}
	report, err := s.Backup(context.Background(), store.Backup{File: file, Force: true})
	check(t, err)
	info := must[os.FileInfo](t)(os.Stat(file))
	if info.Mode().Perm() != 0o600 || info.Size() != report.Bytes {
		t.Errorf("mode %s, %d bytes of %d", info.Mode(), info.Size(), report.Bytes)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(file))); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	_, err = s.Backup(context.Background(), store.Backup{File: t.TempDir(), Force: true})
	if err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v", err)
	}
}

// Two timers that fire at once, or an impatient operator, must not make one
// another's backup half a file; nor may a backup take files that are not its own.
func TestBackupsOfOneNameDoNotMix(t *testing.T) {
	for _, force := range []bool{true, false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "notes")
		for _, name := range []string{"notes.tmp", "notes.spool"} {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte("my own"), 0o600))
		}
		write := func(text string, meanwhile func()) error {
			return store.ReplaceFile(path, force, func(file, spool *os.File) error {
				check(t, second(file.WriteString(text[:1])))
				check(t, second(spool.WriteString(text)))
				meanwhile()
				check(t, second(spool.Seek(0, io.SeekStart)))
				if got := must[[]byte](t)(io.ReadAll(spool)); string(got) != text {
					t.Errorf("spooled %q, got %q", text, got)
				}
				return second(file.WriteString(text[1:]))
			})
		}
		err := write("first", func() {
			check(t, write("second", func() {}))
			if got := must[[]byte](t)(os.ReadFile(path)); string(got) != "second" {
				t.Errorf("force %t: the one that ended has %q", force, got)
			}
		})
		want := "first"
		if !force {
			want = "second"
			if err == nil || !strings.Contains(err.Error(), "exists already") {
				t.Errorf("the slower one overwrote the other: %v", err)
			}
		} else {
			check(t, err)
		}
		broken := errors.New("broken")
		if err := store.ReplaceFile(path, true, func(_, _ *os.File) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		left := make(map[string]string)
		for _, entry := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
			left[entry.Name()] = string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, entry.Name()))))
		}
		if !maps.Equal(left, map[string]string{"notes": want, "notes.tmp": "my own", "notes.spool": "my own"}) {
			t.Errorf("force %t: left %q", force, left)
		}
	}
}

// With Postgres, a wrong --data finds the database all the same.
func TestBackupOfAMissingWorkspaceSaysSo(t *testing.T) {
	s := storetest.Open(t)
	missing := filepath.Join(t.TempDir(), "workspace")
	report, err := s.Backup(context.Background(), store.Backup{File: filepath.Join(t.TempDir(), "it.backup"), Workspace: missing})
	check(t, err)
	if want := missing + ": there is no workspace here; is --data right?"; !slices.Equal(report.Skipped, []string{want}) {
		t.Errorf("skipped %q, want %q", report.Skipped, want)
	}
}

// A full disk must be an error, not a backup that ends in the middle.
func TestBackupOnAFullDisk(t *testing.T) {
	s := storetest.Open(t)
	full := must[*os.File](t)(os.OpenFile("/dev/full", os.O_WRONLY, 0))
	defer full.Close()
	spool := must[*os.File](t)(os.CreateTemp(t.TempDir(), "spool"))
	defer spool.Close()
	err := s.BackupInto(context.Background(), store.Backup{}, full, spool)
	if err == nil || !strings.Contains(err.Error(), "/dev/full: no space left") {
		t.Errorf("got %v", err)
	}
	_, err = s.Backup(context.Background(), store.Backup{File: filepath.Join(t.TempDir(), "no", "such", "file")})
	if err == nil || !strings.Contains(err.Error(), "no/such/file") {
		t.Errorf("got %v", err)
	}
}

// The work of the agent is in its workspace.
func TestBackupKeepsTheWorkspace(t *testing.T) {
	s := storetest.Open(t)
	w := filepath.Join(t.TempDir(), "workspace")
	check(t, os.MkdirAll(filepath.Join(w, "context", "empty"), 0o700))
	check(t, os.WriteFile(filepath.Join(w, "CLAUDE.md"), []byte("be kind\n"), 0o640)) //nolint:gosec // its mode is kept
	check(t, os.WriteFile(filepath.Join(w, "context", "run.sh"), []byte("#!/bin/sh\n"), 0o700))
	check(t, os.Mkdir(filepath.Join(w, "readonly"), 0o700))
	check(t, os.WriteFile(filepath.Join(w, "readonly", "note"), nil, 0o400))
	check(t, os.Chmod(filepath.Join(w, "readonly"), 0o500)) //nolint:gosec // a directory
	t.Cleanup(func() { check(t, os.Chmod(filepath.Join(w, "readonly"), 0o700)) })
	check(t, os.Symlink("../CLAUDE.md", filepath.Join(w, "context", "inside")))
	check(t, os.Symlink(filepath.Join(w, "context"), filepath.Join(w, "absolute")))
	check(t, os.Symlink("/etc/passwd", filepath.Join(w, "outside")))
	check(t, os.Symlink("../../..", filepath.Join(w, "context", "up")))

	file := filepath.Join(t.TempDir(), "it.backup")
	report, err := s.Backup(context.Background(), store.Backup{File: file, Workspace: w})
	check(t, err)
	if len(report.Skipped) != 2 || !strings.Contains(strings.Join(report.Skipped, "\n"), "outside: a link out of the workspace, to /etc/passwd") {
		t.Errorf("skipped %q", report.Skipped)
	}
	to := storetest.SQLite(t)
	restoreInto(t, to, file)
	got := filepath.Join(to.Dir, "workspace")
	t.Cleanup(func() { check(t, os.Chmod(filepath.Join(got, "readonly"), 0o700)) })
	for name, want := range map[string]string{
		"CLAUDE.md": "be kind\n", "context/run.sh": "#!/bin/sh\n", "context/inside": "be kind\n",
		"absolute/run.sh": "#!/bin/sh\n", "readonly/note": "",
	} {
		if content, err := os.ReadFile(filepath.Join(got, name)); err != nil || string(content) != want {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	for name, want := range map[string]os.FileMode{"CLAUDE.md": 0o640, "context/run.sh": 0o700, "context/empty": 0o700, "readonly": 0o500} {
		if info, err := os.Stat(filepath.Join(got, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if target := must[string](t)(os.Readlink(filepath.Join(got, "absolute"))); filepath.IsAbs(target) {
		t.Errorf("a link into the workspace still points to the old place: %s", target)
	}
	_, err = s.Backup(context.Background(), store.Backup{File: filepath.Join(w, "it.backup"), Workspace: w})
	if err == nil || !strings.Contains(err.Error(), "cannot lie in the workspace") {
		t.Errorf("a backup in the workspace: %v", err)
	}
}
