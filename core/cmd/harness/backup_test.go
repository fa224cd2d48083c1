package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// inUse makes an installation with a thread of two messages.
func inUse(t *testing.T) (data, thread string) {
	t.Helper()
	data = isolate(t)
	database := openStore(t, data)
	defer database.Close()
	made, _, err := database.CreateThread(t.Context(), pluginsdk.NewThread{Source: "web", SourceID: "x", Name: "Plans"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = database.Accept(t.Context(), ledger.Acceptance{
		RunID: "r", Plugin: "web", Kind: pluginsdk.RunMessage,
		Submission: pluginsdk.Submission{ThreadID: made.ID, Source: "web", Key: "1", Author: "ann", Content: "what now?"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = database.Append(t.Context(), ledger.Append{ThreadID: made.ID, Plugin: "web", Rows: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Content: "hm"},
		{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "```go\nthat is open"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "workspace", "notes.md"), "remember")
	return data, made.ID
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBackupAndRestoreSayWhatTheyDid(t *testing.T) {
	data, thread := inUse(t)
	pretendRunning(t, data)
	file := filepath.Join(t.TempDir(), "it.backup")
	got := harness(t, "", "backup", file)
	got.want(t, 0, "3 messages", "")
	got.want(t, 0, "and 1 file in "+file, "")
	harness(t, "", "backup", file).want(t, exitFailed, "", "exists already; name another file, or overwrite it with --force")
	harness(t, "", "backup", "--force", file).want(t, 0, "Saved ", "")

	harness(t, "", "restore", file).want(t, exitFailed, "", "the workspace is not empty, it has "+filepath.Join(data, "workspace", "notes.md"))
	elsewhere := t.TempDir()
	t.Setenv("HARNESS_DATA", elsewhere)
	got = harness(t, "", "restore", file)
	got.want(t, 0, "into SQLite at "+elsewhere, "")
	got.want(t, 0, "no faults. Start the daemon with `harness up`", "")
	harness(t, "", "export", "--thread", thread).want(t, 0, `"content":"what now?"`, "")
	if content, err := os.ReadFile(filepath.Join(elsewhere, "workspace", "notes.md")); err != nil || string(content) != "remember" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestRestoreSaysWhyNot(t *testing.T) {
	data, _ := inUse(t)
	file := filepath.Join(t.TempDir(), "it.backup")
	harness(t, "", "backup", file).want(t, 0, "Saved", "")
	if err := os.RemoveAll(filepath.Join(data, "workspace")); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "restore", file).want(t, exitFailed, "", "the database is not empty")
	harness(t, "", "restore", file).want(t, exitFailed, "", "move the data directory away first")
	pretendRunning(t, data)
	harness(t, "", "restore", file).want(t, exitFailed, "", "is in use by pid")
	harness(t, "", "restore", file+".gone").want(t, exitFailed, "", "it.backup.gone; name a file")
	write(t, file, "something else")
	harness(t, "", "restore", file).want(t, exitFailed, "", "nothing was changed")
}

func TestSettingsAreSavedOnlyWhenAskedFor(t *testing.T) {
	data, _ := inUse(t)
	dir := t.TempDir()
	harness(t, "", "backup", "--with-settings", filepath.Join(dir, "a")).want(t, exitFailed, "", "--with-settings: ")
	write(t, filepath.Join(data, "harness.env"), "PORT=3100\n")
	harness(t, "", "backup", filepath.Join(dir, "b")).want(t, 0, "and 1 file in", "")
	harness(t, "", "backup", "--with-settings", filepath.Join(dir, "c")).want(t, 0, "and 2 files in", "")
	for _, args := range [][]string{{"restore"}, {"restore", "--with-settings"}} {
		elsewhere := t.TempDir()
		t.Setenv("HARNESS_DATA", elsewhere)
		harness(t, "", append(args, filepath.Join(dir, "c"))...).want(t, 0, "Restored", "")
		_, err := os.Stat(filepath.Join(elsewhere, "harness.env"))
		if (err == nil) != (len(args) == 2) {
			t.Errorf("%v: harness.env: %v", args, err)
		}
	}
}

// A backup in the wrong place would be of nothing.
func TestBackupDoesNotMakeADatabase(t *testing.T) {
	data := isolate(t)
	for _, args := range [][]string{{"backup", filepath.Join(data, "x")}, {"export"}, {"db", "status"}, {"db", "migrate"}, {"db", "prune", "--older-than", "1d"}} {
		harness(t, "", args...).want(t, exitFailed, "", "there is no database in "+data)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A script reads what was saved from JSON; and a file named "-" is nobody's wish.
func TestBackupForPrograms(t *testing.T) {
	inUse(t)
	t.Chdir(t.TempDir())
	harness(t, "", "backup", "-").want(t, exitFailed, "", "-: a backup is a file")
	harness(t, "", "restore", "-").want(t, exitFailed, "", "name a file")
	if _, err := os.Stat("-"); err == nil {
		t.Error("a file of that name was made")
	}
	got := harness(t, "", "backup", "--json", "x.backup")
	var report struct {
		File   string
		Rows   int64
		Bytes  int64
		Tables []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.File != "x.backup" || report.Rows == 0 || report.Bytes == 0 || len(report.Tables) == 0 {
		t.Errorf("%s: %v", got.out, err)
	}
}
