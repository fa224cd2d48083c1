package worktree

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// keeping is a task whose branch is to stay when the task ends without being merged.
func (w *world) keeping(id string) *pluginsdk.Task {
	task := w.task(id)
	task.Labels = map[string]string{labelKeep: keepBranch}
	return task
}

// begunKeeping is begun, of such a task.
func (w *world) begunKeeping(id, cwd string) string {
	w.t.Helper()
	w.keeping(id)
	dir := w.begun(id, cwd)
	w.task(id).Labels[labelKeep] = keepBranch
	return dir
}

// commanded runs a command that a note ends with, between two of its words.
func (w *world) commanded(note, from, to string) {
	w.t.Helper()
	_, rest, found := strings.Cut(note, from)
	command, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		w.t.Fatalf("%q has no command between %q and %q", note, from, to)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = w.repo
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// A task that says so leaves its branch, with what was committed and what was not, and people are told
// where it is and how it goes. A task can go on from it, for as long as the branch is there.
func TestABranchIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	before := w.look()
	dir := w.begunKeeping("t1", "")
	write(t, dir, "one.txt", "one\n")
	one := committed(t, dir, "one")
	write(t, dir, "two.txt", "two\n")
	note := w.fails("t1").Note
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	for _, want := range []string{"task/t1", w.repo} {
		if !strings.Contains(note, want) {
			t.Errorf("%q is not in %q", want, note)
		}
	}
	if gitIn(t, w.repo, "rev-parse", "task/t1^") != one || gitIn(t, w.repo, "show", "task/t1:two.txt") != "two" {
		t.Errorf("the branch has\n%s", gitIn(t, w.repo, "log", "--stat", "task/t1"))
	}
	if refs := gitIn(t, w.repo, "for-each-ref", "refs/harness"); refs != "" || exists(filepath.Join(w.repo, worktrees, "t1")) {
		t.Errorf("besides there is %q", refs)
	}
	w.task("t2").FromTaskID = "t1"
	if dir = w.begun("t2", ""); read(t, dir, "one.txt") != "one\n" || read(t, dir, "two.txt") != "two\n" {
		t.Error("it does not go on where the other has ended")
	}
	w.merges("t2")
	w.commanded(note, ": ", " shows it")
	w.commanded(note, "and ", " deletes it")
	w.bare()

	// One without anything of its own leaves none, nor does one that is merged, or that says something else.
	w.begunKeeping("t3", "")
	if note := w.fails("t3").Note; note != "" {
		t.Errorf("of nothing people are told %q", note)
	}
	write(t, w.begunKeeping("t4", ""), "four.txt", "four\n")
	w.merges("t4")
	dir = w.begunKeeping("t5", "")
	w.task("t5").Labels[labelKeep] = "yes"
	write(t, dir, "five.txt", "five\n")
	if note := w.fails("t5").Note; note != "" || gitIn(t, w.repo, "show", keptRef("t5")+":five.txt") != "five" {
		t.Errorf("it is not kept as others are, and people are told %q", note)
	}
	w.bare()
}

// Wherever the plugin is killed at that, whoever comes next has the branch stay, whole and alone.
func TestKilledWhileABranchIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	w.minimal()
	write(t, w.begunKeeping("t1", ""), "new.txt", "new\n")
	deaths := w.deaths(func() error {
		_, err := w.plugin.OnTaskFailed(context.Background(), &pluginsdk.OnTaskFailedRequest{Task: *w.task("t1")})
		return err
	})
	if len(deaths) < 5 {
		t.Fatalf("there are %d steps to die at", len(deaths))
	}
	for nth, death := range append(deaths, w.keep("")) {
		w.restore(death)
		w.fails("t1")
		if gitIn(t, w.repo, "show", "task/t1:new.txt") != "new" || gitIn(t, w.repo, "rev-list", "--count", "main..task/t1") != "1" || gitIn(t, w.repo, "for-each-ref", "refs/harness") != "" {
			t.Errorf("it is not kept as it was")
		}
		gitIn(t, w.repo, "branch", "-D", "task/t1")
		w.bare()
		if t.Failed() {
			t.Fatalf("killed at %q (step %d)", death.at, nth+1)
		}
	}
}

// A task below another goes on from one that was cancelled there: with the other's files, those too that
// were not committed, in a worktree of its own, which is merged into the same worktree.
func TestATaskBelowGoesOn(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(w *world, id, cwd string) string{"as a ref": (*world).begun, "as a branch": (*world).begunKeeping} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			before := w.look()
			above := w.begun("p", "")
			dir := begin(w, "s", filepath.Join(above, "sub"))
			write(t, dir, "committed.txt", "half\n")
			commitAll(t, dir, "half")
			write(t, dir, "half.txt", "half\n")
			w.fails("s")
			write(t, above, "meanwhile.txt", "meanwhile\n") // and not committed
			w.task("s2").FromTaskID = "s"
			is, err := w.create(t.Context(), "s2", filepath.Join(above, "sub")) // to which the thread has gone back
			if err != nil {
				t.Fatal(err)
			}
			top := is.Labels["worktree.path"]
			if is.Labels["worktree.repository"] != above || is.Labels["worktree.target"] != "task/p" || is.Cwd != filepath.Join(top, "sub") || top == above {
				t.Errorf("it is to work with %+v", is)
			}
			for path, want := range map[string]string{"sub/committed.txt": "half\n", "sub/half.txt": "half\n", "meanwhile.txt": "meanwhile\n"} {
				if read(t, top, path) != want {
					t.Errorf("it does not go on with %s", path)
				}
			}
			write(t, is.Cwd, "half.txt", "whole\n")
			if _, err := w.complete(t.Context(), "s2"); err != nil || w.round["s2"][2].Output != "sub/committed.txt\nsub/half.txt\n" {
				t.Errorf("evidence %+v, %v", w.round["s2"], err)
			}
			w.merges("s2")
			if read(t, above, "sub/half.txt") != "whole\n" || lookAt(t, above).status != "" || w.look() != before {
				t.Errorf("above there is %+v, and in the checkout %+v", lookAt(t, above), w.look())
			}
			if title := gitIn(t, above, "log", "-1", "--format=%s|%p"); strings.Contains(title, " do") || !strings.HasPrefix(title, "do s2|") {
				t.Errorf("the last commit is %q", title)
			}

			// One that was merged has left nothing: what goes on from it begins with what there is now.
			head := gitIn(t, above, "rev-parse", "HEAD")
			w.task("s3").FromTaskID = "s2"
			dir = w.begun("s3", filepath.Join(above, "sub"))
			if gitIn(t, dir, "rev-parse", "HEAD") != head || read(t, dir, "half.txt") != "whole\n" {
				t.Error("it does not go on from what was merged")
			}
			write(t, dir, "more.txt", "more\n")
			w.merges("s3")
			w.merges("p")
			if read(t, w.repo, "sub/more.txt") != "more\n" || read(t, w.repo, "sub/half.txt") != "whole\n" {
				t.Error("it is not in the checkout")
			}
			_ = gitCommand(w.repo, "branch", "-D", "task/s").Run()
			w.bare()
		})
	}
}

// People who cancel what is merged already are told how it is taken back.
func TestWhatTakesAMergeBack(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]bool{"into a branch": false, "into a task's worktree": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			into := w.repo
			if below {
				into = w.begun("p", "")
			}
			write(t, w.begun("t1", into), "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			w.plugin.Config.Fault = func(step, _ string) {
				if step == "removing" {
					cancel()
				}
			}
			_, _ = w.validate(ctx, "t1")
			note := w.fails("t1").Note
			if !exists(filepath.Join(into, "new.txt")) {
				t.Fatal("it is not merged")
			}
			w.commanded(note, ": ", " takes it back")
		})
	}
}
