package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// story is the life of a task, from its making to its merge or its end: it asks for call after
// call until each has answered.
type story struct {
	*world
	nth  int    // step at which the plugin dies; 0: it has, or does not
	died string // where it has
}

// asks makes a call, anew when the plugin has died in it.
func (s *story) asks(call func() error) {
	s.t.Helper()
	if s.nth > 0 {
		steps := s.nth
		at, err := s.killed(steps, call)
		if at == "" {
			if err != nil {
				s.t.Fatal(err)
			}
			s.nth = 0
			return
		}
		s.died, s.nth = at, 0
	}
	if err := call(); err != nil {
		s.t.Fatalf("after the death at %q: %v", s.died, err)
	}
}

// Wherever the plugin is killed while it makes a worktree, writes the work down, puts it on
// top of the target, merges it, or takes it away: whoever comes next ends what it has begun,
// once, and nothing is left over.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	calls := []string{"create", "complete", "again", "complete again", "merge"}
	for dies, name := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth, more := 1, true; more; nth++ {
				s := &story{world: newWorld(t, repository(t, "shop"))}
				write(t, s.repo, "gone/deep/d.txt", "d\n")
				commitAll(t, s.repo, "gone")
				s.settings(map[string]any{"setup": map[string]string{s.repo: "echo x >>set-up"}})
				var dir string
				var answer *pluginsdk.OnTaskValidatedResponse
				validate := func() (err error) { answer, err = s.validate(context.Background(), "t1"); return err }
				complete := func() error { _, err := s.complete(context.Background(), "t1"); return err }
				for n, call := range []func() error{
					func() error {
						is, err := s.create(context.Background(), "t1", filepath.Join(s.repo, "sub"))
						dir = is.Cwd
						return err
					},
					complete, validate, complete, validate,
				} {
					if s.nth = 0; n == dies {
						s.nth = nth
					}
					s.asks(call)
					switch n {
					case 0:
						write(t, dir, "new.txt", "new\n")
						if err := os.RemoveAll(filepath.Join(dir, "..", "gone")); err != nil {
							t.Fatal(err)
						}
					case 1:
						write(t, s.repo, "c.txt", "moved\n")
						commitAll(t, s.repo, "moved")
						write(t, dir, "coverage.out", "of the checks\n")
					case 2:
						if answer.Handover != pluginsdk.HandoverAgain {
							// It was put on top before the plugin died, and what was looked at is another tree.
							t.Fatalf("killed at %q: %+v", s.died, answer)
						}
					}
				}
				more = s.died != ""
				if answer.Handover == pluginsdk.HandoverAgain { // what was looked at was lost with the plugin
					t.Errorf("killed at %q: %+v", s.died, answer)
				}
				if !answer.CwdGone || read(t, s.repo, "sub/new.txt") != "new\n" || exists(filepath.Join(s.repo, "sub/coverage.out")) || exists(filepath.Join(s.repo, "gone")) || s.look().status != "" {
					t.Errorf("killed at %q: %+v, the checkout is %+v", s.died, answer, s.look())
				}
				if merges := gitIn(t, s.repo, "rev-list", "--count", "--merges", "HEAD"); merges != "1" {
					t.Errorf("killed at %q: merged %s times", s.died, merges)
				}
				s.bare()
				if t.Failed() {
					t.Fatalf("killed at %q (step %d)", s.died, nth)
				}
			}
		})
	}
}

// The same of a task below another one, whose edits are committed for it.
func TestKilledBelowATask(t *testing.T) {
	t.Parallel()
	for dies, name := range []string{"create", "again", "merge"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth, more := 1, true; more; nth++ {
				s := &story{world: newWorld(t, repository(t, "shop"))}
				above := s.begun("p", "")
				write(t, above, "plan.txt", "a plan\n")
				var below string
				var answer *pluginsdk.OnTaskValidatedResponse
				validate := func() (err error) { answer, err = s.validate(context.Background(), "s"); return err }
				for n, call := range []func() error{
					func() (err error) {
						is, err := s.create(context.Background(), "s", above)
						below = is.Cwd
						return err
					},
					validate, validate,
				} {
					if n > 0 {
						if _, err := s.complete(t.Context(), "s"); err != nil {
							t.Fatal(err)
						}
					}
					if s.nth = 0; n == dies {
						s.nth = nth
					}
					s.asks(call)
					if n == 0 {
						write(t, below, "part.txt", "a part\n")
						write(t, above, "more.txt", "more\n")
					}
				}
				more = s.died != ""
				if !answer.CwdGone || read(t, above, "part.txt") != "a part\n" || read(t, above, "more.txt") != "more\n" || lookAt(t, above).status != "" {
					t.Errorf("%+v, and above there is %+v", answer, lookAt(t, above))
				}
				s.merges("p")
				s.bare()
				if t.Failed() {
					t.Fatalf("killed at %q (step %d)", s.died, nth)
				}
			}
		})
	}
}

// The same when the task is cancelled after the death: all of it is merged, or nothing.
func TestKilledAndThenCancelled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create", "merge", "fail"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; ; nth++ {
				w := newWorld(t, repository(t, "shop"))
				before := w.look()
				call := func() error { _, err := w.create(context.Background(), "t1", ""); return err }
				if name != "create" {
					write(t, w.begun("t1", ""), "new.txt", "new\n")
					if _, err := w.complete(t.Context(), "t1"); err != nil {
						t.Fatal(err)
					}
					call = func() error { _, err := w.validate(context.Background(), "t1"); return err }
				}
				if name == "fail" {
					call = func() error {
						_, err := w.plugin.OnTaskFailed(context.Background(), &pluginsdk.OnTaskFailedRequest{Task: *w.task("t1")})
						return err
					}
				}
				at, err := w.killed(nth, call)
				if err != nil {
					t.Fatal(err)
				}
				w.fails("t1")
				now := w.look()
				if merged := exists(filepath.Join(w.repo, "new.txt")); now.status != "" || merged != (now.head != before.head) {
					t.Errorf("merged %v, the checkout is %+v and was %+v", merged, now, before)
				}
				kept := gitIn(t, w.repo, "for-each-ref", keptRef("t1")) != ""
				if want := name != "create" && now.head == before.head; kept != want {
					t.Errorf("kept %v, want %v", kept, want)
				}
				w.bare()
				if t.Failed() {
					t.Fatalf("killed at %q (step %d)", at, nth)
				}
				if at == "" {
					return
				}
			}
		})
	}
}

// deadly has the world's git be killed in the middle of each call that a pattern of sh is of, for
// as long as it is armed: once it writes a large file.
func (w *world) deadly(pattern string) (arm func(), armed func() bool) {
	w.t.Helper()
	dir := w.t.TempDir()
	strike := filepath.Join(dir, "strike")
	write(w.t, dir, "git", "#!/bin/sh\ncase \" $* \" in "+pattern+") if rm '"+strike+"' 2>/dev/null; then ulimit -f 64; fi;; esac\nexec git \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.config.Program = filepath.Join(dir, "git")
	w.start()
	return func() { write(w.t, dir, "strike", "") }, func() bool { return exists(strike) }
}

func large(line string) string { return strings.Repeat(line+"\n", 50_000) }

// Not the plugin but its git is killed, in the middle of writing files.
func TestGitIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, "m.x", large("m"))
	commitAll(t, w.repo, "large")
	arm, armed := w.deadly(`*" worktree add "*|*" reset --quiet --hard "*|*" read-tree -m -u "*`)
	before := w.look()

	arm()
	if _, err := w.create(t.Context(), "t1", ""); err == nil {
		t.Fatal("nothing was killed")
	}
	if now := w.look(); now != before || armed() {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()

	dir := w.begun("t1", "")
	write(t, dir, "a.txt", "changed\n", "l.x", large("l"), "m.x", large("changed"), "z.txt", "z\n")
	write(t, w.repo, "n.x", large("n"))
	commitAll(t, w.repo, "moved")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	arm()
	if answer, err := w.validate(t.Context(), "t1"); err == nil || armed() {
		t.Fatalf("nothing was killed on the way to the target: %+v", answer)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("%+v, %v", answer, err)
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	arm()
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != "" || armed() {
		t.Fatalf("%+v, %v", answer, err)
	}
	if now := w.look(); now.status != "" || read(t, w.repo, "l.x") != large("l") || read(t, w.repo, "z.txt") != "z\n" || read(t, w.repo, "m.x") != large("changed") {
		t.Errorf("the checkout is %+v", now)
	}
	w.bare()
}

// A commit that is killed is made again, whatever it has left locked in the worktree.
func TestACommitIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := t.TempDir()
	strike := filepath.Join(dir, "strike")
	write(t, dir, "strike", "", "git", "#!/bin/sh\ncase \" $* \" in *\" commit --quiet \"*) if rm '"+strike+"' 2>/dev/null; then touch \"$GIT_DIR/index.lock\"; kill -9 $$; fi;; esac\nexec git \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.config.Program = filepath.Join(dir, "git")
	w.start()
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if answer, err := w.validate(t.Context(), "t1"); err == nil || !exists(filepath.Join(w.repo, ".git", "worktrees", "t1", "index.lock")) {
		t.Fatalf("nothing was killed: %+v", answer)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Errorf("%+v, %v", answer, err)
	}
	w.bare()
}

// A full disk keeps a task from beginning, in git's words; in the middle of a merge it leaves
// a half of it that is made whole when there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, "large", strings.Repeat("large\n", 50_000))
	commitAll(t, w.repo, "large")
	before := w.look()
	full := filepath.Join(t.TempDir(), "git")
	write(t, filepath.Dir(full), "git", "#!/bin/sh\ntrap '' XFSZ\nulimit -f 64\nexec git \"$@\"\n")
	if err := os.Chmod(full, 0o755); err != nil {
		t.Fatal(err)
	}
	w.config.Program = full
	w.start()
	if _, err := w.create(t.Context(), "t1", ""); err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("made on a full disk: %v", err)
	}
	w.fails("t1")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()

	w.config.Program = ""
	w.start()
	write(t, w.begun("t1", ""), "another", strings.Repeat("another\n", 50_000), "c.txt", "changed\n")
	if err := os.RemoveAll(filepath.Join(w.task("t1").Cwd, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	w.config.Program = full
	w.start()
	for range 2 {
		if answer, err := w.validate(t.Context(), "t1"); err == nil {
			t.Fatalf("merged on a full disk: %+v", answer)
		}
	}
	if !exists(filepath.Join(w.repo, ".git", "index.lock")) {
		t.Error("others may commit the half of a merge")
	}
	write(t, w.repo, "c.txt", "by somebody\n") // who has not seen that a merge is under way
	w.config.Program = ""
	w.start()
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" || w.look().status != "" {
		t.Errorf("%+v, %v; the checkout is %+v", answer, err, w.look())
	}
	if exists(filepath.Join(w.repo, "sub")) {
		t.Error("an empty directory is left")
	}
	if kept := gitIn(t, w.repo, "show", "refs/harness/leftovers/t1-checkout:c.txt"); kept != "by somebody" {
		t.Errorf("kept %q", kept)
	}
	w.bare()
}

// A lock that is not of a merge of the plugin's is somebody's: it stays, and is named.
func TestSomebodysLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(w.repo, ".git", "index.lock")
	write(t, w.repo, ".git/index.lock", "")
	before := gitIn(t, w.repo, "rev-parse", "HEAD")
	for range 2 {
		if _, err := w.validate(t.Context(), "t1"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err == nil || !strings.Contains(err.Error(), lock+" is there: another git") {
			t.Errorf("%v", err)
		}
	}
	if !exists(lock) || gitIn(t, w.repo, "rev-parse", "HEAD") != before || exists(filepath.Join(w.repo, "new.txt")) {
		t.Error("it was not respected")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Errorf("%+v, %v", answer, err)
	}
	w.bare()
}

// Locks of indexes that nobody else knows are of a git that has died, and in nobody's way.
func TestLocksOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	write(t, w.repo, ".git/worktrees/t1/harness-index.lock", "", ".git/harness-index.lock", "", ".git/harness-lock-t1", "")
	w.merges("t1")
	w.bare()
}
