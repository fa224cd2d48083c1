package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/transcript"
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
