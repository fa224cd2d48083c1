package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// saved is a backup of a small installation on SQLite.
func saved(t *testing.T) string {
	t.Helper()
	s := storetest.Open(t)
	th := newThread(t, s, "a")
	for n := range 250 { // more than one statement stores
		accept(t, s, th.ID, fmt.Sprintf("question %d", n))
	}
	workspace := filepath.Join(t.TempDir(), "workspace")
	check(t, os.MkdirAll(workspace, 0o700))
	check(t, os.WriteFile(filepath.Join(workspace, "CLAUDE.md"), []byte("saved"), 0o600))
	return backup(t, s, workspace)
}

// state says whether an installation is empty or complete, as a daemon finds it
// that starts.
func state(t *testing.T, config store.Config) string {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, config)
	if err != nil {
		t.Fatalf("start after a restore that died: %s", err)
	}
	defer s.Close()
	lease := must[*store.Lease](t)(s.Lock(ctx, "test"))
	defer lease.Release()
	workspace := filepath.Join(config.Dir, "workspace")
	check(t, s.SettleRestore(ctx, workspace))
	var messages, runs int
	check(t, s.Reader().QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM messages), (SELECT COUNT(*) FROM runs)").Scan(&messages, &runs))
	content, err := os.ReadFile(filepath.Join(workspace, "CLAUDE.md"))
	if left, _ := filepath.Glob(workspace + ".restore-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	switch {
	case messages == 0 && runs == 0 && errors.Is(err, os.ErrNotExist):
		return "empty"
	case messages == 250 && runs == 250 && string(content) == "saved":
		return "complete"
	}
	return fmt.Sprintf("half: %d messages, %d runs, workspace %q", messages, runs, content)
}

const dieAt = "HARNESS_TEST_RESTORE_DIES_AT"

// TestRestoreDies is the process that TestRestoreIsWholeOrNothing kills.
func TestRestoreDies(t *testing.T) {
	step := os.Getenv(dieAt)
	if step == "" {
		t.Skip("only another test starts this one, to be killed")
	}
	var job struct {
		Config struct{ URL, Dir string }
		File   string
	}
	check(t, json.Unmarshal([]byte(os.Getenv(dieAt+"_JOB")), &job))
	config := store.Config{URL: job.Config.URL, Dir: job.Config.Dir}
	r := restoration(config, job.File)
	r.Fault = func(at string) {
		if at == step {
			check(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
	}
	_, err := store.RestoreBackup(context.Background(), config, r)
	t.Fatalf("it was not killed at %s: %v", step, err)
}

// A power failure in the middle must not leave half of somebody's memory.
func TestRestoreIsWholeOrNothing(t *testing.T) {
	file := saved(t)
	self := must[string](t)(os.Executable())
	for step, want := range map[string]string{
		"open": "empty", "schema": "empty", "rows": "empty", "commit": "empty", "committed": "complete",
	} {
		t.Run(step, func(t *testing.T) {
			storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
				job := must[[]byte](t)(json.Marshal(map[string]any{
					"Config": map[string]string{"URL": config.URL, "Dir": config.Dir}, "File": file,
				}))
				cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestRestoreDies$")
				cmd.Env = append(os.Environ(), dieAt+"="+step, dieAt+"_JOB="+string(job))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
					t.Fatalf("%v\n%s", err, out)
				}
				if got := state(t, config); got != want {
					t.Fatalf("killed at %s, the installation is %s, want %s", step, got, want)
				}
				if want == "complete" {
					return
				}
				restoreInto(t, config, file) // there is nothing in the way of another attempt
				if got := state(t, config); got != "complete" {
					t.Errorf("restored after that, the installation is %s", got)
				}
			})
		})
	}
}

// The same for an error in the middle, without dying.
func TestRestoreThatFailsLeavesNothing(t *testing.T) {
	file := rewrite(t, saved(t), func(entries []entry) []entry {
		for i := range entries {
			if entries[i].header.Name == "tables/runs.jsonl" { // a row that cannot be stored
				entries[i].content = []byte(strings.Replace(string(entries[i].content), `"thread_id":"`, `"thread_id":null,"was":"`, 1))
			}
		}
		return entries
	})
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		_, err := store.RestoreBackup(context.Background(), config, restoration(config, file))
		if err == nil || !strings.Contains(err.Error(), "tables/runs.jsonl: row 1") {
			t.Errorf("got %v", err)
		}
		if got := state(t, config); got != "empty" {
			t.Errorf("the installation is %s", got)
		}
	})
}

// What somebody has written must not be mixed with what somebody else has.
func TestRestoreRefusesAnInstallationInUse(t *testing.T) {
	file := saved(t)
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s := storetest.OpenConfig(t, config)
		check(t, second(s.EnsurePrimary(ctx))) // the daemon was started once: that is not use
		check(t, s.Audit(ctx, "operator", "plugin.enable", "time", ""))
		check(t, s.KeepPlugin(ctx, ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "time"}}))

		lease := must[*store.Lease](t)(s.Lock(ctx, "a daemon"))
		_, err := store.RestoreBackup(ctx, config, restoration(config, file))
		if err == nil || !strings.Contains(err.Error(), "a daemon") {
			t.Errorf("with a daemon that runs: %v", err)
		}
		lease.Release()

		found := ledger.ContextChange{Text: []byte("x"), WorkspaceChange: pluginsdk.WorkspaceChange{Path: "CLAUDE.md", Version: "x", Kind: pluginsdk.ChangeOutside}}
		changed := found
		changed.Before, changed.Kind = "x", pluginsdk.ChangeByPerson
		check(t, s.RecordChanges(ctx, []ledger.ContextChange{found, changed}))
		_, err = store.RestoreBackup(ctx, config, restoration(config, file))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), "1 workspace_changes") {
			t.Errorf("over what somebody has changed in the workspace: %v", err)
		}
		byHand(t, s, "DELETE FROM workspace_changes WHERE kind = 'person'")

		restoreInto(t, config, file)
		_, err = store.RestoreBackup(ctx, config, restoration(config, file))
		wantCode(t, err, pluginsdk.CodeConflict)
		for _, part := range []string{"not empty", "1 threads"} {
			if err == nil || !strings.Contains(err.Error(), part) && !strings.Contains(err.Error(), "250 messages") {
				t.Errorf("%v does not say %q", err, part)
			}
		}
		if got := state(t, config); got != "complete" {
			t.Errorf("the installation is %s", got)
		}
	})
}

// A database that others use too must not lose a table to Harness.
func TestRestoreDoesNotTakeOthersTables(t *testing.T) {
	file := saved(t)
	config := storetest.Postgres(t)
	check(t, store.MigrateTo(context.Background(), config, 1))
	s := storetest.OpenConfig(t, config)
	check(t, s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error {
		return tx.Run1(ctx, "DROP TABLE schema_migrations")
	}))
	_, err := store.RestoreBackup(context.Background(), config, restoration(config, file))
	if err == nil || !strings.Contains(err.Error(), "that is not Harness's") {
		t.Errorf("got %v", err)
	}
}

// An older backup is worth most when it can be read by the newest program.
func TestRestoreOfAnOlderSchema(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		ctx := context.Background()
		check(t, store.MigrateTo(ctx, from, 1))
		from.Schema = store.SchemaAny
		s := storetest.OpenConfig(t, from)
		fillTables(t, s)
		file := backup(t, s, "")
		report := restoreInto(t, to, file)
		newest := must[int](t)(store.Newest(to))
		if report.Manifest.Schema != 1 || report.Schema != newest || newest < 2 {
			t.Errorf("restored from schema %d to schema %d", report.Manifest.Schema, report.Schema)
		}
		to.Schema = store.SchemaCurrent
		r := storetest.OpenConfig(t, to)
		if rows := dump(t, r); len(rows["runs"]) != 3 || !strings.Contains(rows["runs"][0], `"absorbed":null`) {
			t.Errorf("runs: %v", rows["runs"])
		}
	})
}

// Who moves gigabytes sees how far it has come, of each part of it.
func TestBackupAndRestoreSayHowFarTheyAre(t *testing.T) {
	s := storetest.Open(t)
	newThread(t, s, "a")
	workspace := filepath.Join(t.TempDir(), "workspace")
	check(t, os.MkdirAll(workspace, 0o700))
	check(t, os.WriteFile(filepath.Join(workspace, "big"), make([]byte, 5<<20), 0o600))
	told := make(map[string]int64)
	tell := func(what string, done int64) {
		if done <= told[what] {
			t.Errorf("%s: %d bytes after %d", what, done, told[what])
		}
		told[what] = done
	}
	file := filepath.Join(t.TempDir(), "it.backup")
	check(t, second(s.Backup(t.Context(), store.Backup{File: file, Workspace: workspace, Version: "test", Progress: tell})))
	config := storetest.SQLite(t)
	r := restoration(config, file)
	r.Progress = tell
	check(t, second(store.RestoreBackup(t.Context(), config, r)))
	for _, doing := range []string{"saving", "verifying", "restoring"} {
		if done := told[doing+" workspace/big"]; done < 4<<20 || done > 6<<20 {
			t.Errorf("%s: %d bytes of 5 MiB: %v", doing, done, told)
		}
	}
}

// Tokens of programs are good after a restore. Nobody is logged in by it who has logged out
// since, and no login link is good a second time.
func TestARestoreLogsNobodyIn(t *testing.T) {
	pairs(t, func(t *testing.T, from, to store.Config) {
		s := storetest.OpenConfig(t, from)
		for _, kind := range []pluginsdk.TokenKind{pluginsdk.TokenAccess, pluginsdk.TokenSession, pluginsdk.TokenLogin} {
			check(t, s.KeepToken(t.Context(), ledger.Token{
				Token: pluginsdk.Token{ID: string(kind), Name: "of ann", Kind: kind, Scope: pluginsdk.ScopeAdmin, CreatedAt: time.Now()}, Hash: "hash of " + string(kind),
			}))
		}
		restoreInto(t, to, backup(t, s, ""))
		r := storetest.OpenConfig(t, to)
		check(t, second(r.TokenOf(t.Context(), "hash of "+string(pluginsdk.TokenAccess))))
		for _, kind := range []pluginsdk.TokenKind{pluginsdk.TokenSession, pluginsdk.TokenLogin} {
			wantCode(t, second(r.TokenOf(t.Context(), "hash of "+string(kind))), pluginsdk.CodeNotFound)
		}
	})
}
