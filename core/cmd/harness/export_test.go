package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/transcript"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestExportAsJSONLines(t *testing.T) {
	data, thread := inUse(t)
	pretendRunning(t, data)
	got := harness(t, "", "export")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.code != 0 || len(lines) != 3 {
		t.Fatalf("%d: %s%s", got.code, got.out, got.err)
	}
	var line transcript.Line
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	if line.ThreadID != thread || line.Thread != "Plans" || line.Author != "ann" || line.Content != "what now?" || line.CreatedAt.IsZero() {
		t.Errorf("%+v", line)
	}
	harness(t, "", "export", "--thread", "nobody").want(t, exitFailed, "", `no thread with the id "nobody"`)
	harness(t, "", "export", "--format", "pdf").want(t, exitFailed, "", "it takes jsonl or markdown")
}

func TestExportAsMarkdown(t *testing.T) {
	_, thread := inUse(t)
	file := filepath.Join(t.TempDir(), "talk.md")
	harness(t, "", "export", "--thread", thread, "--format", "markdown", "-o", file).want(t, 0, "", "")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# Plans\n", "**ann**, 20", "\n> what now?\n", "\n> ```go\n> that is open\n"} {
		if !strings.Contains(string(content), part) {
			t.Errorf("%q is missing in\n%s", part, content)
		}
	}
	if strings.Contains(string(content), "hm") {
		t.Error("thinking was written without --all")
	}
	harness(t, "", "export", "--format", "markdown", "--all").want(t, 0, "**assistant** (thinking), ", "")
	harness(t, "", "export", "-o", t.TempDir()).want(t, exitFailed, "", "is a directory")
}

// Whoever types the name of another file must not lose it.
func TestExportDoesNotOverwrite(t *testing.T) {
	inUse(t)
	file := filepath.Join(t.TempDir(), "notes")
	write(t, file, "my own")
	harness(t, "", "export", "-o", file).want(t, exitFailed, "", file+" exists already; name another file, or overwrite it with --force")
	if content, err := os.ReadFile(file); err != nil || string(content) != "my own" {
		t.Errorf("%q, %v", content, err)
	}
	harness(t, "", "export", "-o", file, "--force").want(t, 0, "", "")
	if content, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(content), `{"threadId":`) {
		t.Errorf("%q, %v", content, err)
	}
	harness(t, "", "export", "-o", os.DevNull).want(t, 0, "", "") // a device has nothing to lose
}

// A full disk is one error, said once, however late it shows.
func TestExportToAFullDisk(t *testing.T) {
	data, thread := inUse(t)
	for _, more := range []int{0, 1 << 20} { // found when it is flushed, and before
		database := openStore(t, data)
		_, err := database.Append(t.Context(), ledger.Append{ThreadID: thread, Plugin: "web", Rows: []pluginsdk.NewMessage{
			{Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: strings.Repeat("x", more)},
		}})
		if err := errors.Join(err, database.Close()); err != nil {
			t.Fatal(err)
		}
		got := harness(t, "", "export", "-o", "/dev/full")
		if got.code != exitFailed || strings.Count(got.err, "no space left") != 1 {
			t.Errorf("exit %d: %s", got.code, got.err)
		}
	}
}
