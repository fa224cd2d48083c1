package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/workspace"
)

func shaOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// workspaceAPI is the API of a workspace in memory.
type workspaceAPI struct {
	texts map[string]string // by path, as they are
	had   map[string][]string
	fails map[string]bool // texts that cannot be written
}

func (w *workspaceAPI) write(path, text string) {
	w.texts[path] = text
	w.had[path] = append(w.had[path], text)
}

func (w *workspaceAPI) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	answer := func(status int, value any) {
		rw.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/problem+json"}[status < 400])
		rw.WriteHeader(status)
		_ = json.NewEncoder(rw).Encode(value)
	}
	problem := func(status int, words string) { answer(status, map[string]any{"status": status, "detail": words}) }
	is, there := w.texts[path]
	switch {
	case r.URL.Path == "/api/context/history":
		changes := []map[string]any{}
		if r.URL.Query().Get("before") == "0" {
			for i, text := range slices.Backward(w.had[path]) {
				changes = append(changes, map[string]any{"id": i + 1, "path": path, "version": shaOf(text)})
			}
		}
		answer(200, map[string]any{"changes": changes})
	case r.Method == http.MethodPut:
		var body struct{ Text, Version, Base string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if there && body.Version != shaOf(is) || !there && body.Version != "" {
			problem(409, "version: it is of another one")
			return
		}
		if w.fails[body.Text] {
			problem(409, "the disk is full")
			return
		}
		if body.Base != "" {
			w.had[path] = append(w.had[path], body.Base)
		}
		w.write(path, body.Text)
		answer(200, map[string]any{"path": path, "version": shaOf(body.Text), "size": len(body.Text)})
	default:
		if version := r.URL.Query().Get("version"); version != "" {
			there = false
			for _, text := range w.had[path] {
				if shaOf(text) == version {
					is, there = text, true
				}
			}
		}
		if !there {
			problem(404, "there is no context file "+path)
			return
		}
		answer(200, map[string]any{"path": path, "version": shaOf(is), "text": is})
	}
}

// Each starter is known by its checksum: else an installation that has an older one would be told that somebody has changed it. A
// change of a starter adds a line to shipped in core/workspace.
func TestStartersAreKnown(t *testing.T) {
	files, err := workspace.Starters(starter.FS)
	if err != nil || len(files) != 6 {
		t.Fatalf("%d starters, %v", len(files), err)
	}
	for _, file := range files {
		if !file.Known() {
			t.Errorf("%s: add %q at the end of its lines in shipped, and leave those before it", file.Path, file.Version)
		}
	}
}

// A newer starter is offered with what is new in it, and taken: what you have changed is kept in the archive, or stays with
// --merge. The agent's notes are never offered to be replaced.
func TestNewerStartersAreOfferedAndTaken(t *testing.T) {
	isolate(t)
	files, err := workspace.Starters(starter.FS)
	if err != nil {
		t.Fatal(err)
	}
	w := &workspaceAPI{texts: map[string]string{}, had: map[string][]string{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	run := func(code int, want string, args ...string) string {
		t.Helper()
		got := harness(t, "", append(append([]string{"context"}, args...), "--url", server.URL)...)
		if got.code != code || !strings.Contains(got.out+got.err, want) {
			t.Fatalf("context %q: %+v, want %q", args, got, want)
		}
		return got.out
	}
	for _, file := range files {
		w.write(file.Path, file.Text)
	}
	run(0, "nothing new for your context files", "diff")
	run(0, "it is the newest starter", "diff", "CLAUDE.md")
	run(0, "nothing new for CLAUDE.md", "take", "CLAUDE.md")
	run(1, "there are CLAUDE.md, context/inbox.md", "diff", "notes.md")

	// Notes of the agent's are no difference from a form.
	w.write("context/memory.md", "# Memory\n\n- Ann is the owner\n")
	run(0, "nothing new for your context files", "diff")
	w.had["context/memory.md"] = w.had["context/memory.md"][1:] // it is not known any more
	run(0, "nothing new for your context files", "diff")
	run(1, "--yes", "take", "context/memory.md")

	// A manual of one's own, without any history of a starter.
	w.texts["CLAUDE.md"], w.had["CLAUDE.md"] = "my own manual\n", []string{"my own manual\n"}
	if out := run(0, "not known any more", "diff"); !strings.Contains(out, "-my own manual\n") || !strings.Contains(out, "+# How you work here\n") {
		t.Errorf("diff: %s", out)
	}
	run(1, "not known any more", "take", "CLAUDE.md", "--merge")
	run(1, "you or the agent have changed CLAUDE.md", "take", "CLAUDE.md")
	if w.texts["CLAUDE.md"] != "my own manual\n" {
		t.Fatal("it was replaced")
	}
	run(0, "What it was is in context/archive/CLAUDE-", "take", "CLAUDE.md", "--yes")
	kept := slices.DeleteFunc(slices.Collect(maps.Keys(w.texts)), func(path string) bool { return !strings.HasPrefix(path, "context/archive/CLAUDE-") })
	if len(kept) != 1 || w.texts[kept[0]] != "my own manual\n" {
		t.Errorf("kept %v", kept)
	}
	run(0, "nothing new for your context files", "diff")
	w.write("CLAUDE.md", w.texts["CLAUDE.md"]+"mine\n")
	run(0, "There is nothing new for it", "diff", "CLAUDE.md")

	// A file with other line ends is no other file.
	w.write("CLAUDE.md", strings.ReplaceAll(files[0].Text, "\n", "\r\n"))
	run(0, "it is the newest starter", "diff", "CLAUDE.md")
	run(0, "nothing new for CLAUDE.md", "take", "CLAUDE.md")
}

// What is new in a starter is merged into what one has changed; where both have changed a line, nothing is done.
func TestMergingAStarter(t *testing.T) {
	const old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	w := &workspaceAPI{texts: map[string]string{}, had: map[string][]string{"CLAUDE.md": {old}}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	api, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ mine, newer, want string }{
		{"one\nTWO\nthree\nfour\nfive\nsix\nseven\n", "one\ntwo\nthree\nfour\nfive\nSIX\nseven\neight\n", "one\nTWO\nthree\nfour\nfive\nSIX\nseven\neight\n"},
		{"zero\n" + old, "one\ntwo\nthree\nfour\nseven\n", "zero\none\ntwo\nthree\nfour\nseven\n"},
		{old, "one\n", "one\n"},
		{"one\nTWO\nthree\nfour\nfive\nsix\nseven\n", "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n", "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n"},
		{"one\nmine\nthree\nfour\nfive\nsix\nseven\n", "one\ntheirs\nthree\nfour\nfive\nsix\nseven\n", ""},
		{"one\nthree\nfour\nfive\nsix\nseven\n", "one\ntwo\nand a half\nthree\nfour\nfive\nsix\nseven\n", ""},
	} {
		c := compared{Starter: workspace.Starter{Path: "CLAUDE.md", Text: row.newer}, plain: row.mine, base: shaOf(old)}
		got, err := c.merged(t.Context(), api)
		if got != row.want || (err == nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), "at line 2") && !strings.Contains(err.Error(), "at line 3") {
			t.Errorf("mine\n%s and newer\n%s are\n%s, %v", row.mine, row.newer, got, err)
		}
	}
}

// A merged text is written at once: where it cannot be, the file is as it was, and one can merge again; and what it was made
// of is known afterwards, so that the same is not offered again.
func TestAMergeThatIsCutShort(t *testing.T) {
	isolate(t)
	const old = "one\ntwo\nthree\n"
	newest, err := starterOf("CLAUDE.md")
	if err != nil {
		t.Fatal(err)
	}
	w := &workspaceAPI{texts: map[string]string{}, had: map[string][]string{}, fails: map[string]bool{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	api, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.write("CLAUDE.md", old)
	mine := "zero\n" + old
	w.write("CLAUDE.md", mine)
	newer := newest
	newer.Text = old + "four\n"
	take := func() (string, error) {
		c := compared{Starter: newer, text: w.texts["CLAUDE.md"], plain: w.texts["CLAUDE.md"], version: shaOf(w.texts["CLAUDE.md"]), standing: workspace.Changed, base: shaOf(old)}
		text, err := c.merged(t.Context(), api)
		if err != nil {
			return "", err
		}
		return c.replace(t.Context(), api, text)
	}
	merged := "zero\n" + old + "four\n"
	w.fails[merged] = true
	_, err = take()
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || w.texts["CLAUDE.md"] != mine || len(w.had["CLAUDE.md"]) != 2 {
		t.Fatalf("told %v; the file is %q, and was %q", err, w.texts["CLAUDE.md"], w.had["CLAUDE.md"])
	}
	w.fails = nil
	if said, err := take(); err != nil || w.texts["CLAUDE.md"] != merged || !strings.Contains(said, "What it was is in context/archive/CLAUDE-") {
		t.Errorf("%q, %v; the file is %q", said, err, w.texts["CLAUDE.md"])
	}
	if had := w.had["CLAUDE.md"]; !slices.Equal(had, []string{old, mine, newer.Text, merged}) {
		t.Errorf("the history has %q", had)
	}
}
