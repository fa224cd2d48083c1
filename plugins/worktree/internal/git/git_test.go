package git

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A diff has the same name wherever its lines are, and another one when a byte of it changes,
// however it comes in.
func TestPatchID(t *testing.T) {
	t.Parallel()
	const diff = "diff --git a/x b/x\nindex 111..222 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ func main\n context\n-index 5\n+index 6\n"
	name := func(diff string, step int) string {
		id := newPatchID()
		for piece := range slices.Chunk([]byte(diff), step) {
			if _, err := id.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		return id.sum()
	}
	want := name(diff, 1000)
	for _, same := range []string{strings.ReplaceAll(diff, "-1,2 +1,2 @@ func main", "-101,2 +103,2 @@"), strings.ReplaceAll(diff, "111..222", "333..444")} {
		for _, step := range []int{1, 7, 1000} {
			if got := name(same, step); got != want {
				t.Errorf("%q is another patch", same)
			}
		}
	}
	for _, other := range []string{
		strings.ReplaceAll(diff, "index 6", "index 7"), strings.ReplaceAll(diff, " context", "  context"), strings.ReplaceAll(diff, "b/x", "b/y"),
		strings.ReplaceAll(diff, "index 111..222 100644", "old mode 100644\nnew mode 100755"),
	} {
		if name(other, 1000) == want {
			t.Errorf("%q is the same patch", other)
		}
	}
	if name("", 1) != "" {
		t.Error("nothing has a name")
	}
}

// Git is told nothing by the surroundings, and a repository that is only looked at starts no
// program.
func TestSurroundings(t *testing.T) {
	t.Setenv("GIT_DIR", "/absent")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("LANG", "de_DE.UTF-8")
	g, err := Find(context.Background(), "git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	script := filepath.Join(dir, "monitor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch '"+started+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := g.At(dir)
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.fsmonitor", script}, {"status", "--porcelain"}} {
		if err := at.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("a program of the repository's was started")
	}
	// By itself it is.
	command := exec.Command("git", "-C", dir, "status")
	command.Env, command.Stdout = environment(nil), io.Discard
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(started); err != nil {
		t.Error("the test finds out nothing")
	}
	if err := at.Identity(t.Context()); err == nil {
		t.Error("an identity was made up")
	}
	if err := at.Run(t.Context(), "absent"); CodeOf(err) != 1 || !strings.Contains(err.Error(), "git absent") || !strings.Contains(err.Error(), "is not a git command") {
		t.Errorf("%v", err)
	}
}

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "git-home")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if err := os.Setenv(name, home); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// Objects are asked for together, and of each that is not there that is said.
func TestObjects(t *testing.T) {
	t.Parallel()
	g, err := Find(t.Context(), "git")
	if err != nil {
		t.Fatal(err)
	}
	at := g.At(t.TempDir()).As("A", "a@example.org")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		if err := at.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"HEAD^{commit}", "HEAD:absent", "refs/heads/main^{tree}", "refs/heads/main^", "^{commit}"}
	got, err := at.Objects(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		want, err := at.Object(t.Context(), name)
		if err != nil || got[i] != want {
			t.Errorf("%s is %q, want %q (%v)", name, got[i], want, err)
		}
	}
	if got[0] == "" || got[2] == "" {
		t.Errorf("nothing is there: %q", got)
	}
}

// Where a directory is is found out in one call, but where there are line breaks in its path.
func TestLayout(t *testing.T) {
	t.Parallel()
	g, err := Find(t.Context(), "git")
	if err != nil {
		t.Fatal(err)
	}
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "two\nlines", "\n", "a\n\nb"} {
		top := filepath.Join(parent, name+"x")
		for dir, prefix := range map[string]string{top: "", filepath.Join(top, "sub", "line\nbreak"): "sub/line\nbreak/"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := g.At(top).Run(t.Context(), "init", "-q"); err != nil {
				t.Fatal(err)
			}
			at := g.At(dir)
			want := Layout{Top: top, GitDir: filepath.Join(top, ".git"), Common: filepath.Join(top, ".git"), Prefix: prefix}
			if got, err := at.Layout(t.Context()); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if got, err := at.Holding(t.Context()); err != nil || got != (Holding{Inside: true}) {
				t.Errorf("%+v, %v", got, err)
			}
		}
	}
}
