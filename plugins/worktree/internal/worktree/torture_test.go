package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
