package daemon

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/store/storetest"
	contextfiles "github.com/seed-706843ae/harness/core/workspace"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The operator learns from doctor what nobody received, and that a database
// waits for its migration; doctor itself changes nothing.
func TestDoctorLooksAtTheData(t *testing.T) {
	config := ailing(t)
	register(t, config)
	for _, one := range Doctor(t.Context(), config) {
		if one.Name == "deliveries" {
			t.Errorf("without any that is dead: %+v", one)
		}
	}
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	alter(t, config, `INSERT INTO deliveries (id, message_id, plugin, state, created_at) VALUES ('d', 1, 'discord', 'dead', '2026-01-01 00:00:00')`)
	dead := check(t, config, "deliveries")
	wantCheck(t, dead, false, "1")
	if !dead.Optional || dead.Remedy == "" {
		t.Errorf("%+v", dead)
	}
	alter(t, config, "DELETE FROM schema_migrations WHERE version > 1")
	wantCheck(t, check(t, config, "database"), false, "harness db migrate")
	wantCheck(t, check(t, config, "database"), false, "at version 1")
}

// A new installation's first start lays files: they are not somebody's work.
// Anything else is.
func TestWorkspaceOfANewInstallationIsUntouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := checkUntouched(starter.FS, dir); err != nil {
		t.Errorf("before the first start: %v", err)
	}
	if err := makeWorkspace(starter.FS, dir); err != nil {
		t.Fatal(err)
	}
	if err := checkUntouched(starter.FS, dir); err != nil {
		t.Errorf("after the first start: %v", err)
	}
	for _, name := range []string{"CLAUDE.md", "context/notes.md", "context/CLAUDE.md"} {
		path := filepath.Join(dir, name)
		was, _ := os.ReadFile(path)
		if err := os.WriteFile(path, []byte("my own"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkUntouched(starter.FS, dir); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
			t.Errorf("with %s changed: %v", name, err)
		}
		if was == nil {
			_ = os.Remove(path)
		} else if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := checkUntouched(starter.FS, dir); err == nil {
		t.Error("a link is not somebody's work")
	}
}

// A backup may be restored after the first start of a new installation.
func TestRestoreIntoAStartedInstallation(t *testing.T) {
	config := ailing(t)
	register(t, config)
	if err := os.MkdirAll(config.workspace(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config.workspace(), "CLAUDE.md"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	keepBytes(t, config, "ab")
	file := filepath.Join(t.TempDir(), "it.backup")
	if _, err := Backup(t.Context(), config, BackupRequest{File: file}); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]func(*testing.T) string{
		"sqlite": func(*testing.T) string { return "" }, "postgres": func(t *testing.T) string { return storetest.Postgres(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			config := ailing(t)
			config.DatabaseURL = url(t)
			holdLock(t, config)() // makes the database
			if err := makeWorkspace(starter.FS, config.workspace()); err != nil {
				t.Fatal(err)
			}
			lookAtWorkspace(t, config)
			keepBytes(t, config, "cd") // of an upload that was given up
			report, err := Restore(t.Context(), config, file, false, nil)
			if err != nil || len(report.Problems) > 0 {
				t.Fatalf("problems %q, %v", report.Problems, err)
			}
			content, err := os.ReadFile(filepath.Join(config.workspace(), "CLAUDE.md"))
			if err != nil || string(content) != "mine" {
				t.Errorf("CLAUDE.md is %q, %v", content, err)
			}
			if entries, err := os.ReadDir(config.workspace()); err != nil || len(entries) != 1 {
				t.Errorf("starter files are left: %v, %v", entries, err)
			}
			if files, err := filepath.Glob(config.files() + "/*/*"); err != nil || len(files) != 1 || filepath.Base(filepath.Dir(files[0])) != "ab" {
				t.Errorf("the bytes of files are %v, %v", files, err)
			}
			if left, _ := filepath.Glob(filepath.Join(config.Data, "*.re*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, err := Migrate(t.Context(), config); err != nil {
				t.Error(err)
			}
		})
	}
}

// keepBytes puts bytes where those of files are that begin so.
func keepBytes(t *testing.T, config Config, begin string) {
	t.Helper()
	dir := filepath.Join(config.files(), begin)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strings.Repeat(begin, 32)), []byte("bytes"), 0o400); err != nil {
		t.Fatal(err)
	}
}

// lookAtWorkspace notes what is in the workspace, as a daemon does when it starts.
func lookAtWorkspace(t *testing.T, config Config) {
	t.Helper()
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	files, err := contextfiles.New(contextfiles.Config{Dir: config.workspace()}, database).List(t.Context())
	if err != nil || len(files) == 0 {
		t.Fatalf("context files %+v, %v", files, err)
	}
}

// alter changes the database as an operator does.
func alter(t *testing.T, config Config, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(config.Data, "harness.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
