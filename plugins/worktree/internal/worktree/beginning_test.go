package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a task cannot begin in is refused with the thing and the remedy, and is afterwards as
// it was.
func TestWhereNoTaskCanBegin(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		ready func(repo string) (cwd string)
		words []string
	}{
		"bare": {func(repo string) string {
			gitIn(t, repo, "clone", "-q", "--bare", repo, repo+".git")
			return repo + ".git"
		}, []string{"bare", "clone"}},
		"the git directory": {func(repo string) string { return filepath.Join(repo, ".git") }, []string{"inside a repository's git directory"}},
		"no commits": {func(repo string) string {
			gitIn(t, repo, "checkout", "-q", "--orphan", "empty")
			gitIn(t, repo, "rm", "-rqf", ".")
			write(t, repo, "x", "")
			return repo
		}, []string{"no commits", "git commit"}},
		"detached": {func(repo string) string { gitIn(t, repo, "checkout", "-q", "--detach"); return repo }, []string{"detached", "git switch"}},
		"a merge under way": {func(repo string) string {
			gitIn(t, repo, "checkout", "-q", "-b", "other")
			write(t, repo, "c.txt", "theirs\n")
			commitAll(t, repo, "theirs")
			gitIn(t, repo, "checkout", "-q", "main")
			gitIn(t, repo, "merge", "-q", "--no-commit", "--no-ff", "other")
			return repo
		}, []string{"merge is under way", "git merge --abort"}},
		"submodules": {func(repo string) string {
			gitIn(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository(t, "lib"), "lib")
			commitAll(t, repo, "lib")
			return repo
		}, []string{"submodules", "clone"}},
		"a submodule": {func(repo string) string {
			gitIn(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository(t, "lib"), "lib")
			commitAll(t, repo, "lib")
			return filepath.Join(repo, "lib")
		}, []string{"is a submodule of", "clone"}},
		"no user.name":        {func(repo string) string { gitIn(t, repo, "config", "--unset", "user.name"); return repo }, []string{"git config user.name"}},
		"the directory taken": {func(repo string) string { write(t, repo, ".claude/worktrees/t1/mine", ""); return repo }, []string{".claude/worktrees/t1", "move or remove"}},
		"the branch taken":    {func(repo string) string { gitIn(t, repo, "branch", "task/t1"); return repo }, []string{"task/t1", "rename it"}},
		"a branch in the way": {func(repo string) string { gitIn(t, repo, "branch", "task"); return repo }, []string{"task"}},
		"a file as .claude":   {func(repo string) string { write(t, repo, ".claude", ""); return repo }, []string{".claude", "no directory"}},
		"a link as .claude":   {func(repo string) string { _ = os.Symlink(t.TempDir(), filepath.Join(repo, ".claude")); return repo }, []string{".claude", "no directory"}},
		"nothing there":       {func(repo string) string { return filepath.Join(repo, "absent") }, []string{"absent", "no directory"}},
		"a broken repository": {func(repo string) string {
			_ = os.Remove(filepath.Join(repo, ".git", "HEAD"))
			return filepath.Join(repo, "sub")
		}, []string{"not a git repository"}},
		"the branch locked": {func(repo string) string { write(t, repo, ".git/refs/heads/task/t1.lock", ""); return repo }, []string{"t1.lock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			cwd := one.ready(w.repo)
			files := everything(t, w.repo)
			_, err := w.create(t.Context(), "t1", cwd)
			if err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Fatalf("want it refused: %v", err)
			}
			for _, word := range one.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in %q", word, err)
				}
			}
			w.fails("t1")
			if now := everything(t, w.repo); now != files {
				t.Errorf("the repository is\n%s\nand was\n%s", now, files)
			}
		})
	}
}

// everything is what there is in a repository, but for objects and the plugin's own directory.
func everything(t testing.TB, repo string) string {
	var all strings.Builder
	err := filepath.WalkDir(repo, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(repo, path)
		if name == ".git/objects" || name == ".git/refs/harness" || name == ".git/logs" || name == ".git/worktrees" {
			return filepath.SkipDir
		}
		if !entry.IsDir() && name != ".claude/worktrees/.gitignore" && name != ".git/index" {
			fmt.Fprintf(&all, "%s %s\n", name, entry.Type())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A task id that could be a path is none.
func TestOddTaskIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	for _, id := range []string{"..", "../x", "-x", "a.lock", "a/b", "", strings.Repeat("x", 200)} {
		if _, err := w.create(t.Context(), id, ""); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || err == nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Without git no task on a repository begins, others do; with an old one it is the same.
func TestWithoutGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	old := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho git version 2.37.1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for program, word := range map[string]string{"git-is-not-here": "install git 2.38", old: "version 2.37"} {
		w.config.Program = program
		w.start()
		if _, err := w.create(t.Context(), "t1", filepath.Join(w.repo, "sub")); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", program, err)
		}
		if _, err := w.create(t.Context(), "t2", t.TempDir()); err != nil {
			t.Errorf("%s: where no git is needed: %v", program, err)
		}
		checks, err := w.plugin.OnCheck(t.Context(), &pluginsdk.OnCheckRequest{})
		if err != nil || checks.Checks[0].State != pluginsdk.CheckFailing || !strings.Contains(checks.Checks[0].Detail, word) {
			t.Errorf("%s: %+v, %v", program, checks, err)
		}
	}
}
