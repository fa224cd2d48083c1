package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// home is the directory of the user who runs git.
var home string

func TestMain(m *testing.M) {
	// The settings of the user who runs the tests are none of theirs.
	var err error
	if home, err = os.MkdirTemp("", "worktree-home"); err != nil {
		panic(err)
	}
	config := "[init]\n\tdefaultBranch = main\n[core]\n\tfsync = none\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	command := exec.Command("git", append([]string{"-C", dir, "-c", "gc.auto=0"}, args...)...)
	command.Env = slices.DeleteFunc(os.Environ(), func(one string) bool { return strings.HasPrefix(one, "GIT_") })
	return command
}

// gitIn calls git as a person would.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// write writes files below a directory: name, content, name, content.
func write(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shop is the repository that repository makes copies of: five calls of git cost more than a copy.
var shop = sync.OnceValue(func() string {
	dir := filepath.Join(home, "shop")
	for name, content := range map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", "sub/b.txt": "b\n", "c.txt": "c\n", ".git/hooks/.none": ""} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			panic(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "--template="}, {"config", "user.name", "Ann"}, {"config", "user.email", "ann@example.org"}, {"add", "-A"}, {"commit", "-q", "-m", "first"},
	} {
		if out, err := gitCommand(dir, args...).CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	return dir
})

// copyTree copies a directory with the modes and times of its files.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		copied := filepath.Join(to, strings.TrimPrefix(path, from))
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.Mkdir(copied, info.Mode().Perm())
		case entry.Type() == os.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, copied))
		}
		if filepath.Base(filepath.Dir(filepath.Dir(path))) == "objects" && os.Link(path, copied) == nil { // git's: none changes
			return nil
		}
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(copied, data, info.Mode().Perm()), os.Chtimes(copied, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes one with a commit, on the branch main, at a path that may have anything in
// it.
func repository(t testing.TB, name string) string {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(parent, name)
	copyTree(t, shop(), repo)
	gitIn(t, repo, "update-index", "-q", "--refresh") // the files are others to git
	return repo
}

func commitAll(t testing.TB, dir, message string) {
	t.Helper()
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", message)
}

// committed is commitAll, and returns the commit.
func committed(t testing.TB, dir, message string) string {
	t.Helper()
	commitAll(t, dir, message)
	return gitIn(t, dir, "rev-parse", "HEAD")
}

// world is an installation with the plugin, and what a test plays: the core and the worker.
type world struct {
	t      testing.TB
	host   *plugintest.Host
	repo   string
	config Config
	plugin *Plugin

	mu    sync.Mutex
	set   []byte // the settings
	kept  int    // copies of it
	tasks map[string]*pluginsdk.Task
	round map[string][]pluginsdk.Evidence    // of the task's latest evaluation
	said  *pluginsdk.OnTaskValidatedResponse // the latest
	locks []*os.File                         // that the instance has taken, and may hold
}

func newWorld(t testing.TB, repo string) *world {
	w := &world{t: t, host: plugintest.NewHost(), repo: repo, tasks: make(map[string]*pluginsdk.Task), round: make(map[string][]pluginsdk.Evidence)}
	w.start()
	return w
}

// theGit is git as an instance finds it, which asks it for its version.
var theGit = sync.OnceValue(func() *git.Git {
	found, err := git.Find(context.Background(), "git")
	if err != nil {
		panic(err)
	}
	return found
})

// start starts another instance with the same host, as the daemon does when one has died.
func (w *world) start() {
	w.t.Helper()
	w.mu.Lock()
	for _, lock := range w.locks {
		_ = lock.Close() // as it ends with a process
	}
	w.locks = nil
	w.mu.Unlock()
	w.plugin = &Plugin{Config: w.config}
	if w.config.Program == "" {
		w.plugin.git = theGit()
	}
	w.plugin.Config.Lock = func(directory *os.File) error {
		err := flock(directory)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.locks = append(w.locks, directory)
		}
		return err
	}
	if err := w.plugin.Start(context.Background(), w.host.As(w.plugin.Manifest())); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) settings(object map[string]any) {
	w.t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		w.t.Fatal(err)
	}
	w.set = raw
	w.host.SetSettings(raw)
	w.start()
}

// patch is what names the work that was last written down.
func (w *world) patch(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.round[id][4].Output
}

// task makes a task, which begins later.
func (w *world) task(id string) *pluginsdk.Task {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tasks[id] == nil {
		w.tasks[id] = &pluginsdk.Task{ID: id, OriginalMessage: "do " + id + "\nat once", Status: pluginsdk.TaskEvaluating, CurrentIteration: 1}
		w.host.AddTask(*w.tasks[id])
	}
	return w.tasks[id]
}

// create begins a task in a directory; "": the repository.
func (w *world) create(ctx context.Context, id, cwd string) (pluginsdk.TaskContext, error) {
	if cwd == "" {
		cwd = w.repo
	}
	task := w.task(id)
	was := pluginsdk.TaskContext{Cwd: cwd, Context: "Be brief."}
	answer, err := w.plugin.OnTaskCreate(ctx, &pluginsdk.OnTaskCreateRequest{Task: *task, Context: was})
	is := was.Changed(answer)
	if err == nil {
		w.mu.Lock()
		task.Cwd, task.Labels, task.CwdPlugin = is.Cwd, is.Labels, name
		w.mu.Unlock()
	}
	return is, err
}

// begun begins a task and returns its directory.
func (w *world) begun(id, cwd string) string {
	w.t.Helper()
	is, err := w.create(context.Background(), id, cwd)
	if err != nil {
		w.t.Fatal(err)
	}
	return is.Cwd
}

func (w *world) complete(ctx context.Context, id string) (*pluginsdk.OnTaskCompleteResponse, error) {
	answer, err := w.plugin.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{Task: *w.task(id)})
	if err == nil && answer != nil {
		w.mu.Lock()
		w.round[id] = answer.Evidence
		for i := range answer.Evidence {
			answer.Evidence[i].Plugin = name
		}
		w.mu.Unlock()
	}
	return answer, err
}

func (w *world) validate(ctx context.Context, id string) (*pluginsdk.OnTaskValidatedResponse, error) {
	w.mu.Lock()
	evidence := w.round[id]
	w.mu.Unlock()
	answer, err := w.plugin.OnTaskValidated(ctx, &pluginsdk.OnTaskValidatedRequest{Task: *w.task(id), Evidence: evidence})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = answer
	return answer, err
}

// evaluated has a task evaluated and handed over, as often as it has to be.
func (w *world) evaluated(id string) (answer *pluginsdk.OnTaskValidatedResponse, rounds int) {
	w.t.Helper()
	for {
		rounds++
		if said, err := w.complete(context.Background(), id); err != nil || said.Verdict != "" {
			w.t.Fatalf("task %s: evaluated: %+v, %v", id, said, err)
		}
		answer, err := w.validate(context.Background(), id)
		if err != nil {
			w.t.Fatalf("task %s: handed over: %v", id, err)
		}
		if answer.Handover != pluginsdk.HandoverAgain {
			return answer, rounds
		}
	}
}

// waits wants a task to wait for a person with a mark, who is told something.
func (w *world) waits(id, mark string, words ...string) {
	w.t.Helper()
	answer, _ := w.evaluated(id)
	w.isWaiting(answer, mark, words...)
}

func (w *world) isWaiting(answer *pluginsdk.OnTaskValidatedResponse, mark string, words ...string) {
	w.t.Helper()
	if answer.Handover != pluginsdk.HandoverWait || answer.Mark != mark || answer.CwdGone {
		w.t.Fatalf("want it to wait, marked %q: %+v", mark, answer)
	}
	for _, word := range words {
		if !strings.Contains(answer.Reason, word) {
			w.t.Errorf("%q is not in %q", word, answer.Reason)
		}
	}
}

// rejects wants a task's work to be given back to the worker, who is told something.
func (w *world) rejects(id string, words ...string) {
	w.t.Helper()
	said, err := w.complete(context.Background(), id)
	if err != nil || said.Verdict != pluginsdk.VerdictReject {
		w.t.Fatalf("want it given back: %+v, %v", said, err)
	}
	for _, word := range words {
		if !strings.Contains(said.Feedback, word) {
			w.t.Errorf("%q is not in %q", word, said.Feedback)
		}
	}
}

// merges wants a task to be merged.
func (w *world) merges(id string) (rounds int) {
	w.t.Helper()
	answer, rounds := w.evaluated(id)
	if answer.Handover != "" || !answer.CwdGone {
		w.t.Fatalf("want it merged: %+v", answer)
	}
	return rounds
}

func (w *world) fails(id string) *pluginsdk.OnTaskFailedResponse {
	w.t.Helper()
	answer, err := w.plugin.OnTaskFailed(context.Background(), &pluginsdk.OnTaskFailedRequest{Task: *w.task(id)})
	if err != nil || !answer.CwdGone && w.task(id).Labels != nil {
		w.t.Fatalf("told of the end: %+v, %v", answer, err)
	}
	return answer
}

// sight is what must not change of a checkout.
type sight struct{ head, branch, status string }

func (w *world) look() sight { return lookAt(w.t, w.repo) }

func lookAt(t testing.TB, repo string) sight {
	t.Helper()
	var seen sight
	for line := range strings.Lines(gitIn(t, repo, "status", "--porcelain=v2", "--branch", "--ignored=no") + "\n") {
		if head, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			seen.head = strings.TrimSuffix(head, "\n")
		} else if branch, ok := strings.CutPrefix(line, "# branch.head "); ok {
			seen.branch = strings.TrimSuffix(branch, "\n")
		} else if !strings.HasPrefix(line, "# ") {
			seen.status += line
		}
	}
	return seen
}

// sound wants a repository to have no fault.
func (w *world) sound() {
	w.t.Helper()
	if out, err := gitCommand(w.repo, "fsck", "--strict", "--no-dangling", "--no-progress").CombinedOutput(); err != nil || len(out) > 0 {
		w.t.Errorf("git fsck: %v\n%s", err, out)
	}
	locks, err := filepath.Glob(filepath.Join(w.repo, ".git", "*lock*"))
	if err != nil || len(locks) > 0 {
		w.t.Errorf("locks: %q, %v", locks, err)
	}
}

// bare wants nothing to be left of any task, but refs that are kept.
func (w *world) bare() {
	w.t.Helper()
	w.sound()
	if list := gitIn(w.t, w.repo, "worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		w.t.Errorf("worktrees:\n%s", list)
	}
	if refs := gitIn(w.t, w.repo, "for-each-ref", "--format=%(refname)", "refs/heads/task", "refs/harness/trees"); refs != "" {
		w.t.Errorf("refs: %s", refs)
	}
	left, err := filepath.Glob(filepath.Join(w.repo, filepath.FromSlash(worktrees), "[^.]*"))
	if err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %q, %v", left, err)
	}
	for _, entry := range w.host.State("worktree") {
		if strings.HasPrefix(entry.Key, taskKeys) {
			w.t.Errorf("remembered: %s %s", entry.Key, entry.Value)
		}
	}
}
