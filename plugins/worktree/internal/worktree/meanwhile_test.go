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
