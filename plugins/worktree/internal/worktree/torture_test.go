package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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

// A checkout that somebody works in is no hindrance to begin, and is not touched at the end:
// the merge waits, and is made when the person has said so.
func TestADirtyCheckout(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		dirty, clean func(repo string)
		word         string
	}{
		"changed":     {func(repo string) { write(t, repo, "c.txt", "mine\n") }, func(repo string) { gitIn(t, repo, "checkout", "-q", "c.txt") }, "c.txt"},
		"the same":    {func(repo string) { write(t, repo, "a.txt", "mine\n") }, func(repo string) { gitIn(t, repo, "checkout", "-q", "a.txt") }, "a.txt"},
		"staged":      {func(repo string) { write(t, repo, "x", ""); gitIn(t, repo, "add", "x") }, func(repo string) { gitIn(t, repo, "rm", "-qf", "x") }, "x"},
		"deleted":     {func(repo string) { _ = os.Remove(filepath.Join(repo, "c.txt")) }, func(repo string) { gitIn(t, repo, "checkout", "-q", "c.txt") }, "c.txt"},
		"in the way":  {func(repo string) { write(t, repo, "new.txt", "mine\n") }, func(repo string) { _ = os.Remove(filepath.Join(repo, "new.txt")) }, "new.txt"},
		"ignored":     {func(repo string) { write(t, repo, ".git/info/exclude", "new.txt\n", "new.txt", "mine\n") }, func(repo string) { _ = os.Remove(filepath.Join(repo, "new.txt")) }, "new.txt"},
		"a file":      {func(repo string) { write(t, repo, "dir", "mine\n") }, func(repo string) { _ = os.Remove(filepath.Join(repo, "dir")) }, "dir"},
		"a directory": {func(repo string) { write(t, repo, "new.txt/mine", "mine\n") }, func(repo string) { _ = os.RemoveAll(filepath.Join(repo, "new.txt")) }, "new.txt/mine"},
		"a link":      {func(repo string) { _ = os.Symlink(t.TempDir(), filepath.Join(repo, "dir")) }, func(repo string) { _ = os.Remove(filepath.Join(repo, "dir")) }, "dir"},
		"under way":   {func(repo string) { write(t, repo, ".git/CHERRY_PICK_HEAD", gitIn(t, repo, "rev-parse", "HEAD")+"\n") }, func(repo string) { _ = os.Remove(filepath.Join(repo, ".git/CHERRY_PICK_HEAD")) }, "cherry-pick"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			if name == "changed" || name == "in the way" {
				one.dirty(w.repo)
			}
			dir := w.begun("t1", "")
			write(t, dir, "a.txt", "theirs\n", "new.txt", "theirs\n", "dir/file", "theirs\n")
			one.dirty(w.repo)
			var before sight
			var files string
			if name == "ignored" {
				gitIn(t, dir, "add", "-f", "new.txt")
				gitIn(t, dir, "commit", "-q", "-m", "all the same")
			}
			before, files = w.look(), everything(t, w.repo)
			w.waits("t1", "dirty", one.word, "approve")
			if now := w.look(); now != before || everything(t, w.repo) != files {
				t.Errorf("the checkout is %+v, and was %+v\n%s\nand was\n%s", now, before, everything(t, w.repo), files)
			}
			w.sound()
			one.clean(w.repo)
			if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" || !answer.CwdGone {
				t.Errorf("approved: %+v, %v", answer, err)
			}
			if w.look().status != "" || read(t, w.repo, "new.txt") != "theirs\n" {
				t.Errorf("the checkout is %+v", w.look())
			}
			w.bare()
		})
	}
}

// A conflict is a person's: both sides stay, and what the person makes of it is looked at
// before it is merged.
func TestAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "c.txt", "theirs\n", "new.txt", "new\n")
	write(t, w.repo, "c.txt", "mine\n")
	commitAll(t, w.repo, "mine")
	before := w.look()
	w.waits("t1", "conflict", "c.txt", "git merge main", dir)
	if now := w.look(); now != before || read(t, dir, "c.txt") != "theirs\n" {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.sound()
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Mark != "conflict" {
		t.Errorf("approved without a change: %+v, %v", answer, err)
	}
	// While it is being put right nothing is looked at.
	gitIn(t, dir, "config", "rerere.enabled", "false")
	if out, err := gitCommand(dir, "merge", "main").CombinedOutput(); err == nil {
		t.Fatalf("%s", out)
	}
	if answer, err := w.complete(t.Context(), "t1"); err != nil || answer.Verdict != pluginsdk.VerdictReject || !strings.Contains(answer.Feedback, "finish it") {
		t.Errorf("in the middle of a merge: %+v, %v", answer, err)
	}
	write(t, dir, "c.txt", "both\n")
	commitAll(t, dir, "both")
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("put right: %+v, %v", answer, err)
	}
	if rounds := w.merges("t1"); rounds != 1 || read(t, w.repo, "c.txt") != "both\n" || w.look().status != "" {
		t.Errorf("%d rounds", rounds)
	}
	w.bare()
}

// A hook of the repository that fails keeps the work from being merged, and its words are
// told; one that changes the work has it looked at again.
func TestHooksOfTheRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "new.txt", "new\n")
	before := w.look()
	hook(t, w.repo, "pre-commit", "echo no tests >&2; exit 1")
	w.waits("t1", "hook", "no tests", dir)
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.sound()
	hook(t, w.repo, "pre-commit", `test -f formatted || { touch formatted; git add formatted; }`)
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != pluginsdk.HandoverAgain || !strings.Contains(answer.Reason, "hook") {
		t.Fatalf("%+v, %v", answer, err)
	}
	if w.merges("t1"); !exists(filepath.Join(w.repo, "formatted")) {
		t.Error("what the hook has made is not merged")
	}
	w.bare()
}

// Whoever takes the name or the branch away while a task works is told.
func TestWhatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change func(repo string)
		mark   string
		words  []string
	}{
		"no user.name":       {func(repo string) { gitIn(t, repo, "config", "--unset", "user.name") }, "identity", []string{"git config user.name"}},
		"another branch":     {func(repo string) { gitIn(t, repo, "checkout", "-q", "-b", "other") }, "branch", []string{"main", "git switch"}},
		"detached":           {func(repo string) { gitIn(t, repo, "checkout", "-q", "--detach") }, "branch", []string{"main", "git switch"}},
		"the branch is gone": {func(repo string) { gitIn(t, repo, "branch", "-m", "main", "trunk") }, "branch", []string{"main", "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			dir := w.begun("t1", "")
			write(t, dir, "new.txt", "new\n")
			one.change(w.repo)
			before := w.look()
			w.waits("t1", one.mark, one.words...)
			if now := w.look(); now != before {
				t.Errorf("the checkout is %+v, and was %+v", now, before)
			}
			w.sound()
			w.fails("t1")
			w.bare()
		})
	}
}

// What the worker does to its worktree is told to it, and nothing is merged that was not
// looked at.
func TestWhatWorkersDo(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		do   func(dir string)
		word string
	}{
		"a repository inside": {func(dir string) { gitIn(t, dir, "init", "-q", "lib"); write(t, dir, "lib/x", "x") }, `"lib/"`},
		"a commit of one": {func(dir string) {
			gitIn(t, dir, "init", "-q", "lib")
			gitIn(t, filepath.Join(dir, "lib"), "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
			gitIn(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "lib")
			gitIn(t, dir, "commit", "-q", "-m", "lib")
		}, "lib"},
		"a large file":   {func(dir string) { write(t, dir, "large", strings.Repeat("x", 2<<20)) }, `"large" (2 MB)`},
		"another branch": {func(dir string) { gitIn(t, dir, "checkout", "-q", "-b", "mine") }, "git switch task/t1"},
		"no branch":      {func(dir string) { gitIn(t, dir, "checkout", "-q", "--detach") }, "git switch task/t1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			w.settings(map[string]any{"maxFileBytes": 1 << 20})
			before := w.look()
			dir := w.begun("t1", "")
			one.do(dir)
			answer, err := w.complete(t.Context(), "t1")
			if err != nil || answer.Verdict != pluginsdk.VerdictReject || !strings.Contains(answer.Feedback, one.word) {
				t.Errorf("%+v, %v", answer, err)
			}
			if now := w.look(); now != before {
				t.Errorf("the checkout is %+v, and was %+v", now, before)
			}
		})
	}
	// What git cannot keep of a task that has failed stays where it is.
	kept := newWorld(t, repository(t, "shop"))
	left := kept.begun("t1", "")
	gitIn(t, left, "init", "-q", "lib")
	write(t, left, "lib/x", "x")
	ended, err := kept.plugin.OnTaskFailed(t.Context(), &pluginsdk.OnTaskFailedRequest{Task: *kept.task("t1")})
	if err != nil || ended.CwdGone || read(t, left, "lib/x") != "x" {
		t.Errorf("%+v, %v", ended, err)
	}
	// A .git of the worker's own making leads nowhere.
	w := newWorld(t, repository(t, "shop"))
	other := repository(t, "other")
	dir := w.begun("t1", "")
	write(t, dir, ".git", "gitdir: "+filepath.Join(other, ".git")+"\n", "new.txt", "new\n")
	w.merges("t1")
	if gitIn(t, other, "log", "--oneline", "--all") != gitIn(t, other, "log", "--oneline") || read(t, w.repo, "new.txt") != "new\n" {
		t.Error("it was led astray")
	}
	w.bare()
	// What git was told to overlook is seen, and so are commits of the worker's.
	dir = w.begun("t2", "")
	gitIn(t, dir, "update-index", "--assume-unchanged", "c.txt")
	write(t, dir, "c.txt", "hidden\n", "d.txt", "d\n")
	commitAll(t, dir, "by the worker")
	if _, err := w.complete(t.Context(), "t2"); err != nil || w.round["t2"][2].Output != "c.txt\nd.txt\n" {
		t.Errorf("%+v, %v", w.round["t2"], err)
	}
	w.merges("t2")
	if read(t, w.repo, "c.txt") != "hidden\n" || w.look().status != "" {
		t.Error("it was overlooked")
	}
	w.bare()
}

// What a person switches to in a task's worktree is theirs: neither the merge nor what puts the
// work on top of the target moves another branch than the task's, or drops a commit from that.
func TestAPersonInTheWorktree(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{
		"before": "", "the merge is decided": "rebasing", "the branch has moved": "moved",
	} {
		t.Run("another branch, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			dir := w.begun("t1", "")
			write(t, dir, "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			write(t, w.repo, "c.txt", "moved\n")
			commitAll(t, w.repo, "moved")
			if at != "" {
				died := make(chan struct{})
				w.plugin.Config.Fault = func(step, _ string) {
					if step == at {
						close(died)
						select {} // nothing of it happens any more
					}
				}
				go w.validate(context.WithoutCancel(t.Context()), "t1") //nolint:errcheck // it never answers
				<-died
				w.start()
			}
			gitIn(t, dir, "switch", "-q", "-c", "mine")
			mine := gitIn(t, dir, "rev-parse", "mine")
			var answer *pluginsdk.OnTaskValidatedResponse
			for range 2 { // the first one may end what has died
				var err error
				if answer, err = w.validate(t.Context(), "t1"); err != nil && !strings.Contains(err.Error(), "git switch task/t1") {
					t.Fatal(err)
				}
			}
			w.isWaiting(answer, "worktree", "git switch task/t1")
			if now := gitIn(t, dir, "rev-parse", "mine"); now != mine || read(t, dir, "new.txt") != "new\n" {
				t.Errorf("their branch was moved from %s to %s", mine, now)
			}
			gitIn(t, dir, "add", "-A")
			gitIn(t, dir, "stash", "-q")
			gitIn(t, dir, "switch", "-q", "task/t1")
			if at == "" {
				gitIn(t, dir, "stash", "pop", "-q")
			}
			w.merges("t1")
			w.sound()
		})
	}
	t.Run("a commit", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, repository(t, "shop"))
		dir := w.begun("t1", "")
		write(t, dir, "new.txt", "new\n")
		if _, err := w.complete(t.Context(), "t1"); err != nil {
			t.Fatal(err)
		}
		write(t, w.repo, "c.txt", "moved\n")
		commitAll(t, w.repo, "moved")
		w.plugin.Config.Fault = func(step, _ string) {
			if step == "rebasing" {
				write(t, dir, "d.txt", "a person's\n")
				commitAll(t, dir, "in the last moment")
			}
		}
		if answer, err := w.validate(t.Context(), "t1"); err == nil {
			t.Errorf("%+v", answer)
		}
		w.plugin.Config.Fault = func(string, string) {}
		w.merges("t1")
		if read(t, w.repo, "d.txt") != "a person's\n" {
			t.Error("their commit is lost")
		}
		w.bare()
	})
	// A link in the worktree's place leads to somebody's files, of which none is committed,
	// reset or removed.
	t.Run("a link", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, repository(t, "shop"))
		dir, theirs := w.begun("t1", ""), t.TempDir()
		write(t, theirs, "letter", "dear\n")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(theirs, dir); err != nil {
			t.Fatal(err)
		}
		if answer, err := w.complete(t.Context(), "t1"); err == nil {
			t.Errorf("%+v", answer)
		}
		answer, err := w.validate(t.Context(), "t1")
		if err != nil {
			t.Fatal(err)
		}
		w.isWaiting(answer, "worktree", "gone")
		w.fails("t1")
		if read(t, theirs, "letter") != "dear\n" {
			t.Error("it is gone")
		}
		w.bare()
	})
}

// A worktree that somebody has removed is said to be gone, and its task can be ended.
func TestTheWorktreeIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(t.Context(), "t1"); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("%v", err)
	}
	w.fails("t1")
	w.bare()
	w.begun("t2", "")
	if err := os.RemoveAll(w.repo); err != nil {
		t.Fatal(err)
	}
	w.fails("t2")
}

// Who cancels while the worktree is readied waits for no command, and nothing is left.
func TestCancelledDuringSetUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w.settings(map[string]any{"setup": map[string]string{w.repo: "echo begun >'" + pipe + "'; trap '' TERM; sleep 600 & wait; sleep 600"}})
	before := w.look()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := w.create(ctx, "t1", "")
		ended <- err
	}()
	if read(t, pipe) != "begun\n" { // a pipe is read when somebody writes
		t.Error("it has not begun")
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := w.plugin.lanes.enter(over, taskKeys+"t1"); err == nil {
		t.Error("the task's end would not wait for it")
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was not cancelled")
	}
	w.fails("t1")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()
}

// Nothing is taken away while a command that was cancelled may still write there.
func TestTheEndWaitsForTheSetUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	r, err := w.plugin.load(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	r.Phase = settingUp
	if err := w.plugin.save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	leave, err := w.plugin.lanes.enter(t.Context(), taskKeys+"t1") // as OnTaskCreate does
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.plugin.OnTaskFailed(ctx, &pluginsdk.OnTaskFailedRequest{Task: *w.task("t1")}); err == nil || !exists(dir) {
		t.Errorf("it did not wait: %v", err)
	}
	leave()
	w.fails("t1")
	w.bare()
}

// Who cancels while it is merged gets all of the merge or nothing of it.
func TestCancelledDuringTheMerge(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"commit", "committed", "merging", "locked", "move", "files", "index", "unlock", "removing", "files removed"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			before := w.look()
			dir := w.begun("t1", "")
			write(t, dir, "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			w.plugin.Config.Fault = func(step, _ string) {
				if step == at {
					cancel()
				}
			}
			_, _ = w.validate(ctx, "t1")
			if now := w.look(); now.status != "" || exists(filepath.Join(w.repo, ".git", "index.lock")) {
				t.Errorf("a half of it: %+v", now)
			}
			said := w.fails("t1")
			now := w.look()
			merged := exists(filepath.Join(w.repo, "new.txt"))
			if now.status != "" || merged != (now.head != before.head) {
				t.Errorf("merged %v, the checkout is %+v and was %+v", merged, now, before)
			}
			if merged != strings.Contains(said.Note, "merged before that") { // people are told that it is cancelled
				t.Errorf("merged %v, and people are told %q", merged, said.Note)
			}
			w.bare()
		})
	}
}

// Two processes of the plugin are at work while one version replaces another, or when two
// daemons have tasks on one repository: none may take the other's half for a dead one's.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"adding", "add", "added", "commit", "merging", "locked", "move", "files", "index", "unlock"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			old := w.plugin
			newer := &Plugin{}
			if err := newer.Start(t.Context(), w.host.As(newer.Manifest())); err != nil {
				t.Fatal(err)
			}
			interfered := 0
			interfere := func(call func(ctx context.Context) error) func(string, string) {
				return func(step, _ string) {
					if step != at || interfered > 0 {
						return
					}
					interfered++
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
					defer cancel()
					if err := call(ctx); pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
						t.Errorf("the other process did not wait: %v", err)
					}
				}
			}
			cwd := pluginsdk.TaskContext{Cwd: w.repo}
			old.Config.Fault = interfere(func(ctx context.Context) error {
				_, err := newer.OnTaskCreate(ctx, &pluginsdk.OnTaskCreateRequest{Task: *w.task("t1"), Context: cwd})
				return err
			})
			dir := w.begun("t1", "")
			write(t, dir, "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			old.Config.Fault = interfere(func(ctx context.Context) error {
				_, err := newer.OnTaskValidated(ctx, &pluginsdk.OnTaskValidatedRequest{Task: *w.task("t1"), Evidence: w.round["t1"]})
				return err
			})
			w.merges("t1")
			if w.look().status != "" || read(t, w.repo, "new.txt") != "new\n" || interfered != 1 {
				t.Errorf("the checkout is %+v, interfered %d", w.look(), interfered)
			}
			w.bare()
		})
	}
	// What was made while the lock was waited for is gone on with.
	w := newWorld(t, repository(t, "shop"))
	newer := &Plugin{Config: Config{Look: time.Millisecond}}
	newer.Config.Lock = func(directory *os.File) error {
		w.begun("t1", "")
		write(t, filepath.Join(w.repo, worktrees, "t1"), "new.txt", "new\n")
		return flock(directory)
	}
	if err := newer.Start(t.Context(), w.host.As(newer.Manifest())); err != nil {
		t.Fatal(err)
	}
	answer, err := newer.OnTaskCreate(t.Context(), &pluginsdk.OnTaskCreateRequest{Task: *w.task("t1"), Context: pluginsdk.TaskContext{Cwd: w.repo}})
	if err != nil || read(t, *answer.Cwd, "new.txt") != "new\n" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// Who commits in the moment of the merge loses nothing by it: before it the work is looked at
// once more, and in it git says that the checkout is locked.
func TestTheTargetMovesInTheMoment(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"merging", "locked", "move"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			write(t, w.begun("t1", ""), "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			before, moved := w.look(), ""
			w.plugin.Config.Fault = func(step, _ string) {
				if step != at {
					return
				}
				if at == "locked" {
					if out, err := gitCommand(w.repo, "commit", "-q", "--allow-empty", "-m", "mine").CombinedOutput(); err == nil || !strings.Contains(string(out), "index.lock") {
						t.Errorf("committed in a locked checkout: %s", out)
					}
				}
				moved = gitIn(t, w.repo, "commit-tree", "-p", before.head, "-m", "mine", before.head+"^{tree}")
				gitIn(t, w.repo, "update-ref", "refs/heads/main", moved)
			}
			answer, err := w.validate(t.Context(), "t1")
			if at == "move" && err == nil || at != "move" && (err != nil || answer.Handover != pluginsdk.HandoverAgain) {
				t.Errorf("%+v, %v", answer, err)
			}
			before.head = moved
			if now := w.look(); now != before || exists(filepath.Join(w.repo, "new.txt")) {
				t.Errorf("the checkout is %+v, and was %+v", now, before)
			}
			w.plugin.Config.Fault = func(string, string) {}
			w.sound()
			w.merges("t1")
			if gitIn(t, w.repo, "rev-list", "--count", "--merges", moved+"..HEAD") != "1" {
				t.Error("it is not merged into what the target has become")
			}
			w.bare()
		})
	}
}

// What somebody commits on the branch when it is about to be removed is kept.
func TestACommitInTheLastMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "new.txt", "new\n")
	w.plugin.Config.Fault = func(step, _ string) {
		if step == string(removing) {
			write(t, dir, "late.txt", "late\n")
			commitAll(t, dir, "late")
		}
	}
	w.merges("t1")
	if gitIn(t, w.repo, "show", "refs/harness/tasks/t1:late.txt") != "late" {
		t.Error("it is lost")
	}
	w.bare()
}

// Two tasks that end at once are merged one after the other, and so are ten: none is lost,
// and none is checked more than twice.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	const tasks = 10
	for n := range tasks {
		id := fmt.Sprintf("t%d", n)
		write(t, w.begun(id, ""), id+".txt", "new\n")
	}
	asked := make(chan struct{}, 16) // as many hooks as the core asks at a time
	var mu sync.Mutex
	var all sync.WaitGroup
	evaluations, patches := 0, make(map[string]int)
	for n := range tasks {
		all.Go(func() {
			id := fmt.Sprintf("t%d", n)
			for {
				asked <- struct{}{}
				_, err := w.complete(context.Background(), id)
				<-asked
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				evaluations++
				patches[w.patch(id)]++
				mu.Unlock()
				asked <- struct{}{}
				answer, err := w.validate(context.Background(), id)
				for pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted && err != nil { // it is asked until it gets what it needs
					answer, err = w.validate(context.Background(), id)
				}
				<-asked
				if err != nil {
					t.Error(err)
					return
				}
				if answer.Handover == pluginsdk.HandoverAgain {
					continue
				}
				if answer.Handover != "" {
					t.Errorf("%s: %+v", id, answer)
				}
				return
			}
		})
	}
	all.Wait()
	if evaluations != 2*tasks-1 || len(patches) != tasks {
		t.Errorf("evaluated %d times, %d works", evaluations, len(patches))
	}
	if merges := gitIn(t, w.repo, "rev-list", "--count", "--merges", "--first-parent", "HEAD"); merges != fmt.Sprint(tasks) {
		t.Errorf("%s merges", merges)
	}
	for n := range tasks {
		if !exists(filepath.Join(w.repo, fmt.Sprintf("t%d.txt", n))) {
			t.Errorf("task %d is not merged", n)
		}
	}
	if w.look().status != "" {
		t.Errorf("the checkout is %+v", w.look())
	}
	w.bare()
}

// Who waits for another task's merge goes on when that task does not come to it.
func TestTheOneAheadIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	w.config.Look = 1
	w.start()
	for _, id := range []string{"t1", "t2"} {
		write(t, w.begun(id, ""), id+".txt", "new\n")
		if _, err := w.complete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w.repo, "c.txt", "moved\n")
	commitAll(t, w.repo, "moved")
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("%+v, %v", answer, err)
	}
	// It is ahead, and others wait while it is evaluated; as many as may.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	waits := func() {
		_, err := w.validate(ctx, "t2")
		ended <- err
	}
	for range mostWaiting + 1 {
		go waits()
	}
	if err := <-ended; pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	for range mostWaiting {
		if err := <-ended; pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
			t.Errorf("cancelled: %v", err)
		}
	}
	ctx = t.Context()
	go waits()
	if _, err := w.host.SDK().Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: "t1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the one ahead is rejected: %v", err)
	}
}

// What was left behind is listed, and nothing of it is removed; what was kept long enough is.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	w.begun("t1", "")
	w.begun("t2", "")
	w.begun("t3", "")
	gitIn(t, w.repo, "worktree", "add", "-q", "-b", "task/t4", ".claude/worktrees/t4")
	gitIn(t, w.repo, "worktree", "add", "-q", "-b", "of-a-person", ".claude/worktrees/mine")
	if _, err := w.host.SDK().Tasks.Cancel(t.Context(), &pluginsdk.CancelTaskRequest{ID: "t1"}); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.repo, "update-ref", keptRef("old"), "HEAD")
	gitIn(t, w.repo, "update-ref", "refs/heads/task/other", "HEAD")
	checks, err := w.plugin.OnCheck(t.Context(), &pluginsdk.OnCheckRequest{})
	if err != nil || len(checks.Checks) != 3 {
		t.Fatalf("%+v, %v", checks, err)
	}
	for n, name := range []string{"git", "worktree t1", "worktree t4"} {
		if checks.Checks[n].Name != name || n > 0 && !strings.Contains(checks.Checks[n].Remedy, "worktree remove") {
			t.Errorf("%+v", checks.Checks[n])
		}
	}
	if err := w.plugin.dropKept(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := w.plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t1", "t2", "t3", "t4", "mine"} {
		if !exists(filepath.Join(w.repo, ".claude", "worktrees", name)) {
			t.Errorf("%s was removed", name)
		}
	}
	if gitIn(t, w.repo, "for-each-ref", keptRefs) == "" {
		t.Error("what is new is not kept")
	}
	broken := t.TempDir() // which keeps no other's
	if _, err := w.plugin.host.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: repositoryKeys, Value: []byte(broken + "\x00" + broken)}); err != nil {
		t.Fatal(err)
	}
	if err := w.plugin.dropKept(t.Context(), time.Now().Add(time.Hour)); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("%v", err)
	}
	if refs := gitIn(t, w.repo, "for-each-ref", "--format=%(refname)", keptRefs, "refs/heads/task/other"); refs != "refs/heads/task/other" {
		t.Errorf("refs %s", refs)
	}
}
