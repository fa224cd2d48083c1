package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitIn runs git in a directory, without anybody's settings.
func gitIn(t *testing.T, directory string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = directory
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
}

// repositoryIn makes a repository with one commit.
func repositoryIn(t *testing.T, directory string) string {
	t.Helper()
	must(t, os.MkdirAll(directory, 0o700))
	gitIn(t, directory, "init", "-q", "-b", "main", ".")
	must(t, os.WriteFile(filepath.Join(directory, "a"), []byte("a\n"), 0o600))
	gitIn(t, directory, "add", ".")
	gitIn(t, directory, "commit", "-qm", "one")
	return directory
}

// A repository that comes into the index is looked at from then on.
func TestTheIndexIsReadAgain(t *testing.T) {
	tree := repositoryIn(t, t.TempDir())
	sub := repositoryIn(t, filepath.Join(tree, "sub"))
	gitIn(t, sub, "config", "filter.x.clean", "./x")
	if why := RunsPrograms(tree); why != "" {
		t.Errorf("before it is in the index: %s", why)
	}
	gitIn(t, tree, "add", "sub")
	if why := RunsPrograms(tree); !strings.Contains(why, "filter.x.clean") {
		t.Errorf("in the index: %q", why)
	}
}

// git looks into each repository that the index names, and runs what its configuration says.
func TestRepositoriesInTheIndex(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		for _, place := range []string{"sub/.git", "sub/deep/.git", "hidden"} {
			tree := repositoryIn(t, filepath.Join(t.TempDir(), "tree"))
			for _, name := range []string{"a long name of a file", "sub1", "sub0/x/y"} {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o700))
				must(t, os.WriteFile(filepath.Join(tree, name), []byte("a"), 0o600))
			}
			sub := repositoryIn(t, filepath.Join(tree, "sub"))
			repositoryIn(t, filepath.Join(sub, "deep"))
			gitIn(t, sub, "add", "deep")
			gitIn(t, tree, "add", ".")
			gitIn(t, tree, "update-index", "--index-version", version)
			if place == "hidden" {
				must(t, os.Rename(filepath.Join(sub, ".git"), filepath.Join(tree, "hidden")))
				must(t, os.WriteFile(filepath.Join(sub, ".git"), []byte("gitdir: ../hidden\n"), 0o600))
			}
			if why := RunsPrograms(tree); why != "" {
				t.Errorf("version %s, nothing runs: %s", version, why)
			}
			before := RepositoryStamp(tree)
			must(t, os.WriteFile(filepath.Join(tree, place, "config"), []byte("[core]\n\trepositoryformatversion = 0\n[filter \"x\"]\n\tclean = ./x\n"), 0o600))
			if why := RunsPrograms(tree); !strings.Contains(why, "filter.x.clean") || RepositoryStamp(tree) == before {
				t.Errorf("version %s, %s: %q", version, place, why)
			}
		}
	}
}

// A directory does not have git show what lies outside of it; where a repository is in another
// place for good reasons, nobody is asked.
func TestRepositoriesThatLeadAway(t *testing.T) {
	private := repositoryIn(t, filepath.Join(t.TempDir(), "private"))
	key := filepath.Join(private, "a")
	link := func(name string) func(t *testing.T, tree string) {
		return func(t *testing.T, tree string) {
			t.Helper()
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o700))
			must(t, os.RemoveAll(filepath.Join(tree, name)))
			must(t, os.Symlink(key, filepath.Join(tree, name)))
		}
	}
	write := func(name, content string) func(t *testing.T, tree string) {
		return func(t *testing.T, tree string) {
			t.Helper()
			if name == ".git" {
				must(t, os.RemoveAll(filepath.Join(tree, name)))
			}
			must(t, os.WriteFile(filepath.Join(tree, name), []byte(content), 0o600))
		}
	}
	for name, change := range map[string]func(t *testing.T, tree string){
		"a .git file":         write(".git", "gitdir: "+private+"/.git\n"),
		"a common directory":  write(".git/commondir", private+"/.git\n"),
		"objects":             write(".git/objects/info/alternates", private+"/.git/objects\n"),
		"grafts":              link(".git/info/grafts"),
		"packed refs":         link(".git/packed-refs"),
		"shallow":             link(".git/shallow"),
		"a branch":            link(".git/refs/heads/x"),
		"revisions to ignore": write(".git/config", "[core]\n\trepositoryformatversion = 0\n[blame]\n\tignoreRevsFile = "+key+"\n"),
		"a .git link": func(t *testing.T, tree string) {
			t.Helper()
			must(t, os.RemoveAll(filepath.Join(tree, ".git")))
			must(t, os.Symlink(filepath.Join(private, ".git"), filepath.Join(tree, ".git")))
		},
	} {
		tree := repositoryIn(t, filepath.Join(t.TempDir(), "tree"))
		if why := RunsPrograms(tree); why != "" {
			t.Fatalf("before %s: %s", name, why)
		}
		change(t, tree)
		if RunsPrograms(tree) == "" {
			t.Errorf("%s outside: nobody is asked", name)
		}
	}

	home := t.TempDir()
	tree := repositoryIn(t, filepath.Join(home, "tree"))
	gitIn(t, tree, "worktree", "add", "-q", filepath.Join(home, "linked"))
	gitIn(t, tree, "submodule", "--quiet", "add", private, "lib")
	must(t, os.WriteFile(filepath.Join(tree, ".git-blame-ignore-revs"), nil, 0o600))
	gitIn(t, tree, "config", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
	for _, directory := range []string{tree, filepath.Join(home, "linked"), filepath.Join(tree, "lib")} {
		if why := RunsPrograms(directory); why != "" {
			t.Errorf("%s: %s", directory, why)
		}
	}
}
