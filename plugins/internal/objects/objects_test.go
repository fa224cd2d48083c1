package objects_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
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

// Whatever the repository says of itself, a checkout has the bytes that the objects have.
func TestACheckoutIsTheObjects(t *testing.T) {
	const evil = "curl http://evil\nsecond\n"
	for name, trick := range map[string]func(t *testing.T, repo, ran string){
		"plain": func(*testing.T, string, string) {},
		"replaced": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, "benign"), "echo\n")
			git(t, repo, "replace", git(t, repo, "hash-object", "-w", "new.sh"), git(t, repo, "hash-object", "-w", "benign"))
		},
		"line ends": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".gitattributes"), "* text eol=crlf\n")
		},
		"no diff": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".gitattributes"), "* -diff binary\n")
		},
		"ident": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".gitattributes"), "* ident export-subst\n")
		},
		"encoding": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".gitattributes"), "*.sh working-tree-encoding=UTF-16\n")
		},
		"left out": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".gitattributes"), "*.sh export-ignore\n")
		},
		"a filter": func(t *testing.T, repo, ran string) {
			write(t, filepath.Join(repo, ".gitattributes"), "*.sh filter=x diff=x\n")
			git(t, repo, "config", "filter.x.smudge", "touch "+ran+"; echo benign")
			git(t, repo, "config", "diff.x.textconv", "touch "+ran+"; echo benign")
			git(t, repo, "config", "diff.external", "touch "+ran+"; echo benign")
		},
		"fsmonitor, hooks": func(t *testing.T, repo, ran string) {
			git(t, repo, "config", "core.fsmonitor", "touch "+ran)
			write(t, filepath.Join(repo, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+ran+"\n")
			if err := os.Chmod(filepath.Join(repo, ".git", "hooks", "post-checkout"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"info/attributes": func(t *testing.T, repo, _ string) {
			write(t, filepath.Join(repo, ".git", "info", "attributes"), "* text eol=crlf -diff\n")
		},
		"autocrlf": func(t *testing.T, repo, _ string) { git(t, repo, "config", "core.autocrlf", "true") },
		"a NUL":    func(t *testing.T, repo, _ string) { write(t, filepath.Join(repo, "new.sh"), evil+"\x00") },
	} {
		t.Run(name, func(t *testing.T) {
			repo, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			git(t, repo, "init", "-q")
			write(t, filepath.Join(repo, "a.txt"), "one\n")
			git(t, repo, "add", "-A")
			git(t, repo, "commit", "-qm", "first")
			write(t, filepath.Join(repo, "new.sh"), evil)
			// The tree is made of the bytes themselves.
			blob := git(t, repo, "hash-object", "-w", "--no-filters", "new.sh")
			trick(t, repo, ran)
			if name == "a NUL" {
				blob = git(t, repo, "hash-object", "-w", "--no-filters", "new.sh")
			}
			git(t, repo, "update-index", "--add", "--cacheinfo", "100644,"+blob+",new.sh")
			if _, err := os.Lstat(filepath.Join(repo, ".gitattributes")); err == nil {
				git(t, repo, "update-index", "--add", ".gitattributes")
			}
			tree := git(t, repo, "write-tree")
			if err := os.RemoveAll(ran); err != nil { // of the calls above
				t.Fatal(err)
			}
			head := git(t, repo, "-c", "core.fsmonitor=false", "rev-parse", "HEAD")
			place := t.TempDir()
			s, trees, err := objects.Copy(t.Context(), filepath.Join(place, "store"), repo, tree, head)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(place, "work")
			if err := s.Checkout(t.Context(), trees[0], dir); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "new.sh")); err != nil || !strings.HasPrefix(string(got), evil) {
				t.Errorf("checked out is %q, %v", got, err)
			}
			change, over, err := s.Change(t.Context(), trees[1], trees[0], 1<<20)
			if err != nil || over || !strings.Contains(change.Diff, "+curl http://evil") || !strings.Contains(strings.Join(change.Paths, " "), "new.sh") {
				t.Errorf("shown is %+v, %t, %v", change, over, err)
			}
			if err := s.Repository(t.Context(), trees[1], trees[0], dir); err != nil {
				t.Fatal(err)
			}
			if status := git(t, dir, "status", "--porcelain"); status != "" && !strings.Contains("line ends, encoding, ident, a filter", name) {
				t.Errorf("git says of the checkout %s", status)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("a program of the repository was run")
			}
		})
	}
}

// An object that is not what its name says is not taken for it.
func TestAnObjectThatIsForged(t *testing.T) {
	repo := t.TempDir()
	git(t, repo, "init", "-q")
	write(t, filepath.Join(repo, "new.sh"), "curl http://evil\n")
	write(t, filepath.Join(repo, "benign.sh"), "echo\n")
	git(t, repo, "add", "-A")
	tree := git(t, repo, "write-tree")
	path := func(file string) string {
		id := git(t, repo, "hash-object", file)
		return filepath.Join(repo, ".git", "objects", id[:2], id[2:])
	}
	evil, benign := path("new.sh"), path("benign.sh")
	data, err := os.ReadFile(benign)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(evil); err != nil {
		t.Fatal(err)
	}
	write(t, evil, string(data))
	if _, _, err := objects.Copy(t.Context(), filepath.Join(t.TempDir(), "store"), repo, tree); err == nil {
		t.Error("a forged object was taken")
	}
}

// A name of which the repository has no tree is said to be none.
func TestATreeThatIsNotThere(t *testing.T) {
	repo := t.TempDir()
	git(t, repo, "init", "-q")
	absent := strings.Repeat("1", 40)
	there := git(t, repo, "hash-object", "-t", "tree", "-w", "/dev/null")
	if _, trees, err := objects.Copy(t.Context(), filepath.Join(t.TempDir(), "there.git"), repo, there, there); err != nil || !slices.Equal(trees, []string{there, there}) {
		t.Errorf("%q, %v", trees, err)
	}
	if _, _, err := objects.Copy(t.Context(), filepath.Join(t.TempDir(), "absent.git"), repo, there, absent); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err == nil || !strings.Contains(err.Error(), "not all are trees") {
		t.Errorf("%v", err)
	}
}
