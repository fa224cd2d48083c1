package validation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/validation/internal/validation"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// fixture is a host with a reviewer, and a task with its work.
type fixture struct {
	*plugintest.Host
	t    *testing.T
	dir  string // the worktree
	base string

	mu      sync.Mutex
	says    []pluginsdk.InvokeResult // what the reviewer says, one turn after the other; the last one for ever
	asked   []pluginsdk.StartTurnRequest
	request pluginsdk.OnTaskCompleteRequest
}

// templates is the directory of the repositories that tests copy.
var templates string

func TestMain(m *testing.M) {
	run.Reap()
	var err error
	if templates, err = os.MkdirTemp("", "validation-templates"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(templates)
	os.Exit(code)
}

// template is a repository that tests copy, which costs less than six calls of git: of the commit
// base, in which a.txt says one, and of the tree in which it says two.
type template struct{ dir, base, tree string }

var repository = sync.OnceValue(func() template {
	made := template{dir: templates}
	must := func(args ...string) string {
		said, err := call(context.Background(), made.dir, args...)
		if err != nil {
			panic(fmt.Sprintf("git %q: %v\n%s", args, err, said))
		}
		return said
	}
	lay := func(name, content string) {
		if err := os.WriteFile(filepath.Join(made.dir, name), []byte(content), 0o600); err != nil {
			panic(err)
		}
	}
	must("init", "-q", "--template=")
	lay("a.txt", "one\n")
	lay(".gitignore", "ran\n")
	must("add", "-A")
	must("commit", "-q", "-m", "first")
	made.base = must("rev-parse", "HEAD")
	lay("a.txt", "two\n")
	lay("lint.txt", "fine\n")
	must("add", "-A")
	made.tree = must("write-tree")
	if err := os.Mkdir(filepath.Join(made.dir, ".git", "info"), 0o700); err != nil {
		panic(err)
	}
	return made
})

func call(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	output, err := command.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	said, err := call(t.Context(), dir, args...)
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, said)
	}
	return said
}

func (f *fixture) lay(files map[string]string) {
	f.t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// start is a task in a worktree whose project is checked by sh: its settings say how. A
// check leaves a line in the file ran.
func start(t *testing.T) *fixture {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // where reviewers sit
	f := &fixture{Host: plugintest.NewHost(), t: t, dir: t.TempDir()}
	made := repository()
	if err := os.CopyFS(f.dir, os.DirFS(made.dir)); err != nil {
		t.Fatal(err)
	}
	f.base = made.base
	f.settings(map[string]any{})
	f.Agent = func(_ context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked = append(f.asked, r)
		said := f.says[0]
		if len(f.says) > 1 {
			f.says = f.says[1:]
		}
		return said
	}
	f.request = pluginsdk.OnTaskCompleteRequest{
		Call: pluginsdk.Call{ID: "call-1"},
		Task: pluginsdk.Task{
			ID: "task-1", ThreadID: "T", OriginalMessage: "make it two", Prompt: "make it two", Cwd: f.dir, CwdPlugin: "worktree", CurrentIteration: 1,
			Labels: map[string]string{"worktree.path": f.dir, "worktree.repository": "/the/repository"},
		},
		Result: pluginsdk.InvokeResult{Text: "DONE: it is two"},
	}
	f.shows(made.tree, "two\n")
	return f
}

// settings are the checks of the project and what else is set.
func (f *fixture) settings(more map[string]any) {
	f.t.Helper()
	all := map[string]any{"checks": []any{
		map[string]any{"name": "test", "command": "echo test >>$RAN; grep -q two a.txt"}, map[string]any{"name": "lint", "command": "echo lint >>$RAN; cat lint.txt >&2; test ! -e bad"},
	}}
	all["environment"] = map[string]any{"RAN": filepath.Join(f.dir, "ran")}
	maps.Copy(all, more)
	raw, err := json.Marshal(all)
	if err != nil {
		f.t.Fatal(err)
	}
	f.SetSettings(raw)
}

// work is what the worker has made of a.txt, as the plugin before has written it down.
func (f *fixture) work(content string) {
	f.t.Helper()
	f.lay(map[string]string{"a.txt": content, "lint.txt": "fine\n"})
	git(f.t, f.dir, "add", "-A")
	f.shows(git(f.t, f.dir, "write-tree"), content)
}

// shows is what the plugin before says of the work, in which a.txt has a content.
func (f *fixture) shows(tree, content string) {
	f.request.Evidence = []pluginsdk.Evidence{
		{Kind: "tree", Tree: tree, Command: "git write-tree", File: f.dir}, {Kind: "base", Tree: f.base}, {Kind: "paths", Output: "a.txt\nlint.txt"},
		{Kind: "diff", Diff: "-one\n+" + content}, {Kind: "patch-id", Output: "patch of " + content},
	}
	for i := range f.request.Evidence {
		f.request.Evidence[i].Plugin = "worktree"
	}
}

// review has the plugin, as one process of it, look at the work.
func (f *fixture) review(plugin *plugintest.Plugin) (*pluginsdk.OnTaskCompleteResponse, error) {
	f.t.Helper()
	return plugin.OnTaskComplete(f.t.Context(), &f.request)
}

func (f *fixture) serve() *plugintest.Plugin { return f.Serve(f.t, new(validation.Plugin)) }

func (f *fixture) turns() []pluginsdk.StartTurnRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// ran is how often the checks were run.
func (f *fixture) ran() int {
	content, err := os.ReadFile(filepath.Join(f.dir, "ran"))
	if err != nil {
		return 0
	}
	return strings.Count(string(content), "test\n")
}

type (
	object = map[string]any
	list   = []any
)

// good is an acceptance in which everything holds, with changes.
func good(changes ...func(said object)) pluginsdk.InvokeResult {
	answers := object{}
	for _, question := range []string{"format", "build", "tests_written", "coverage", "mocks", "imports", "types", "dependencies", "patterns"} {
		answers[question] = object{"answer": "does_not_apply", "why": "it is a text", "evidence": list{object{"kind": "file", "file": "a.txt", "line": 1, "quote": "two"}}}
	}
	answers["tests_pass"] = object{"answer": "yes", "why": "they do", "evidence": list{object{"kind": "command", "command": "echo test >>$RAN; grep -q two a.txt", "exitCode": 0}}}
	answers["lint"] = object{"answer": "yes", "why": "it does", "evidence": list{
		object{"kind": "command", "command": "echo lint >>$RAN; cat lint.txt >&2; test ! -e bad", "exitCode": 0},
	}}
	said := object{"verdict": "accept", "feedback": "well done", "answers": answers}
	for _, change := range changes {
		change(said)
	}
	raw, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return pluginsdk.InvokeResult{StructuredOutput: raw, CostUSD: 0.1}
}

func rejection(said object) { said["verdict"], said["feedback"] = "reject", "a.txt:1: three" }

// lie quotes what is not there.
func lie(said object) {
	said["answers"].(object)["patterns"].(object)["evidence"] = list{object{"kind": "file", "file": "a.txt", "line": 1, "quote": "three"}}
}

func failing(kind pluginsdk.FailureKind, message string) pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: kind, Message: message}}
}
