package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is sent with --file is taken in first, and refers to the message; words may be
// left out then, and not otherwise.
func TestSendTakesFiles(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("seen") })
	t.Setenv("HARNESS_URL", daemon.URL())
	path := filepath.Join(t.TempDir(), "plan.pdf")
	if err := os.WriteFile(path, []byte("%PDF-"), 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "send", "--file", path).want(t, 0, "seen\n", "")
	harness(t, "", "send", "-f", path, "look", "here").want(t, 0, "seen\n", "")
	harness(t, "", "send").want(t, exitUsage, "", "TEXT is missing")
	harness(t, "", "send", "--file", path+".gone", "look").want(t, exitFailed, "", "plan.pdf.gone: no such file")
	harness(t, "", "send", "--file", filepath.Dir(path), "look").want(t, exitFailed, "", "is not a plain file")
	if got := strings.Join(daemon.Attached(), ", "); got != "plan.pdf, plan.pdf" {
		t.Errorf("attached: %s", got)
	}
	if names := daemon.Uploaded(); len(names) != 2 {
		t.Errorf("taken in: %q", names)
	}
}

// Files are listed, fetched and deleted; what is fetched overwrites nothing, and a name
// leads nowhere.
func TestFilesAtTheTerminal(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("x") })
	t.Setenv("HARNESS_URL", daemon.URL())
	t.Chdir(t.TempDir())
	harness(t, "", "file", "list").want(t, 0, "There are no such files.", "")
	if err := os.WriteFile("notes.txt", []byte("remember"), 0o600); err != nil {
		t.Fatal(err)
	}
	put := harness(t, "", "file", "put", "notes.txt")
	id := strings.TrimSpace(put.out)
	put.want(t, 0, "file-", "")
	harness(t, "", "file", "list").want(t, 0, "notes.txt", "")
	harness(t, "", "file", "list", "--json").want(t, 0, `"id": "`+id+`"`, "")
	harness(t, "", "file", "list", "--limit", "0").want(t, exitFailed, "", "--limit: 0 is not accepted")
	harness(t, "", "file", "get", id).want(t, exitFailed, "", "notes.txt exists already")
	harness(t, "", "file", "get", id, "-o", "-").want(t, 0, "remember", "")
	harness(t, "", "file", "get", id, "-o", "again.txt").want(t, 0, "", "Wrote again.txt")
	if content, err := os.ReadFile("again.txt"); err != nil || string(content) != "remember" {
		t.Errorf("%q, %v", content, err)
	}
	evil := daemon.AddFile(pluginsdk.File{Name: "../ev\x1bil.txt"}, "x")
	harness(t, "", "file", "get", evil).want(t, 0, "", "Wrote evil.txt")
	hidden := daemon.AddFile(pluginsdk.File{Name: ".bashrc"}, "x")
	harness(t, "", "file", "get", hidden).want(t, exitFailed, "", "name another one with -o")
	harness(t, "", "file", "delete", id).want(t, 0, "Deleted notes.txt ("+id+").", "")
	harness(t, "", "file", "delete", id).want(t, exitFailed, "", "`harness file list` lists those that there are")
	harness(t, "", "file", "get", id, "-o", "gone.txt").want(t, exitFailed, "", "no file")
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
