package validation_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// owning is a task in an empty directory that the core has made for it, whose answers its
// reviewer accepts. looks is called by the reviewer, with the place that it may read.
func owning(t *testing.T, looks func(dir string)) *fixture {
	t.Helper()
	piece := func(kind, quote string) list { return list{object{"kind": kind, "quote": quote}} }
	raw, err := json.Marshal(object{"verdict": "accept", "feedback": "", "answers": object{
		"completeness": object{"answer": "yes", "why": "all of it", "evidence": piece("request", "make it two")},
		"claims":       object{"answer": "yes", "why": "it is so", "evidence": piece("result", "it is two")},
		"sources":      object{"answer": "yes", "why": "read", "evidence": list{object{"kind": "file", "file": "report.md", "line": 1, "quote": "two"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := start(t)
	f.settings(object{"checks": list{}})
	f.dir = t.TempDir()
	f.lay(map[string]string{"report.md": "two\n"})
	task := &f.request.Task
	task.Cwd, task.CwdPlugin, task.OwnDirectory, task.Labels, f.request.Evidence = f.dir, "", true, nil, nil
	f.Agent = func(_ context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		f.asked = append(f.asked, r)
		looks(strings.TrimSuffix(strings.TrimPrefix(r.AllowedTools[0], "Read(/"), "/**)"))
		return pluginsdk.InvokeResult{StructuredOutput: raw}
	}
	return f
}

// accepts has the reviewer accept the work, and returns the evidence with its maker's name.
func (f *fixture) accepts(plugin *plugintest.Plugin) []pluginsdk.Evidence {
	f.t.Helper()
	said, err := f.review(plugin)
	if err != nil || said.Verdict != pluginsdk.VerdictAccept {
		f.t.Fatalf("%+v, %v", said, err)
	}
	for i := range said.Evidence {
		said.Evidence[i].Plugin = "validation"
	}
	return said.Evidence
}

func (f *fixture) handsOver(plugin *plugintest.Plugin, evidence []pluginsdk.Evidence) *pluginsdk.OnTaskValidatedResponse {
	f.t.Helper()
	said, err := plugin.OnTaskValidated(f.t.Context(), &pluginsdk.OnTaskValidatedRequest{Task: f.request.Task, Evidence: evidence})
	if err != nil {
		f.t.Fatal(err)
	}
	return said
}

// The reviewer of a task without a repository reads a checkout of what the worker has handed in,
// and what is handed over is that: whatever is written into the directory meanwhile.
func TestADirectoryOfATasksOwnIsJudgedAsATree(t *testing.T) {
	for name, does := range map[string]func(dir string) error{
		"rewrites":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "report.md"), []byte("evil\n"), 0o600) },
		"adds":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "evil.sh"), nil, 0o600) },
		"removes":   func(dir string) error { return os.Remove(filepath.Join(dir, "report.md")) },
		"links out": func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "passwd")) },
		"links": func(dir string) error {
			_ = os.Remove(filepath.Join(dir, "report.md"))
			return os.Symlink("/etc/passwd", filepath.Join(dir, "report.md"))
		},
		"runs": func(dir string) error { return os.Chmod(filepath.Join(dir, "report.md"), 0o700) },
		"ignores": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
		},
		"too much": func(dir string) error {
			_ = os.WriteFile(filepath.Join(dir, "large"), nil, 0o600)
			return os.Truncate(filepath.Join(dir, "large"), 2<<30)
		},
		"replaces all of it": func(dir string) error {
			_ = os.Rename(dir, dir+"-was")
			return os.Mkdir(dir, 0o700)
		},
		"a link in its place": func(dir string) error {
			_ = os.Rename(dir, dir+"-was")
			_ = os.Mkdir(dir+"-evil", 0o700)
			return os.Symlink(dir+"-evil", dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			f = owning(t, func(dir string) {
				if strings.HasPrefix(dir, f.dir) {
					t.Errorf("the reviewer reads in %s itself", dir)
				}
				if err := does(f.dir); err != nil {
					t.Error(err)
				}
				if has, err := os.ReadFile(filepath.Join(dir, "report.md")); err != nil || string(has) != "two\n" {
					t.Errorf("the reviewer reads %q, %v", has, err)
				}
			})
			plugin := f.serve()
			evidence := f.accepts(plugin)
			if !strings.Contains(f.asked[0].Prompt, "> report.md") || !strings.Contains(f.asked[0].Prompt, evidence[0].Tree) {
				t.Errorf("the reviewer was asked %s", f.asked[0].Prompt)
			}
			said := f.handsOver(plugin, evidence)
			if said.Handover != pluginsdk.HandoverAgain || !strings.Contains(said.Reason, f.dir) {
				t.Errorf("handed over: %+v", said)
			}
		})
	}
}

// What is yet as it was is handed over, and nothing of it stays behind.
func TestADirectoryOfATasksOwnIsHandedOver(t *testing.T) {
	f := owning(t, func(string) {})
	plugin := f.serve()
	evidence := f.accepts(plugin)
	kinds := map[string]pluginsdk.Evidence{}
	for _, e := range evidence {
		kinds[e.Kind] = e
	}
	if evidence[0].Kind != "verdict" || evidence[0].Tree != kinds["tree"].Tree || kinds["tree"].File != f.dir || kinds["paths"].Output != "report.md" || !strings.Contains(kinds["diff"].Diff, "+two") {
		t.Errorf("evidence: %+v", evidence)
	}
	// A new process of the plugin, and a person's word, which names no tree.
	for _, shown := range [][]pluginsdk.Evidence{nil, evidence} {
		f.lay(map[string]string{"evil.sh": "evil\n"})
		if said := f.handsOver(f.serve(), shown); said.Handover != pluginsdk.HandoverAgain {
			t.Errorf("with another file: %+v", said)
		}
		if err := os.Remove(filepath.Join(f.dir, "evil.sh")); err != nil {
			t.Fatal(err)
		}
	}
	if said := f.handsOver(f.serve(), evidence); said.Handover != "" {
		t.Errorf("as it was: %+v", said)
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "harness-work-*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// What a reviewer cannot be shown whole waits for a person, who may let it pass.
func TestADirectoryThatIsTooLargeWaits(t *testing.T) {
	f := owning(t, func(string) {})
	f.lay(map[string]string{"large": ""})
	if err := os.Truncate(filepath.Join(f.dir, "large"), 2<<30); err != nil {
		t.Fatal(err)
	}
	plugin := f.serve()
	said, err := f.review(plugin)
	if err != nil || said.Verdict != pluginsdk.VerdictWait || len(f.asked) > 0 || said.Marks[0] != "unread" || !strings.Contains(said.Feedback, "256 MB") {
		t.Fatalf("%+v, %v", said, err)
	}
	if said := f.handsOver(plugin, nil); said.Handover != "" {
		t.Errorf("accepted by a person: %+v", said)
	}
	long := strings.Repeat("a-long-name", 18)
	f = owning(t, func(string) {})
	for n := range 300 {
		f.lay(map[string]string{long + strings.Repeat("x", n%40) + string(rune('a'+n%26)) + strings.Repeat("y", n/40): ""})
	}
	if said, err := f.review(f.serve()); err != nil || said.Verdict != pluginsdk.VerdictWait || len(f.asked) > 0 || said.Marks[0] != "unread" {
		t.Errorf("with many names: %+v, %v", said, err)
	}
}

// A repository that the worker has made in its directory is named, and its settings and hooks
// have no effect on what is looked at.
func TestARepositoryInADirectoryOfATasksOwn(t *testing.T) {
	f := owning(t, func(dir string) {
		if _, err := os.Lstat(filepath.Join(dir, "x", ".git")); err == nil {
			t.Error("the reviewer's place has the worker's repository")
		}
	})
	below := filepath.Join(f.dir, "x")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	git(t, below, "init", "-q")
	git(t, below, "config", "core.fsmonitor", "touch "+ran)
	f.lay(map[string]string{"x/a": "a\n", ".gitattributes": "* filter=x\n", "odd\xff": "\xff\n"})
	plugin := f.serve()
	evidence := f.accepts(plugin)
	if prompt := f.asked[0].Prompt; !strings.Contains(prompt, `"x/.git" (a git repository`) || !strings.Contains(prompt, "> x/a\n") {
		t.Errorf("asked: %s", prompt)
	}
	if said := f.handsOver(plugin, evidence); said.Handover != "" {
		t.Errorf("%+v", said)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a program of the worker's was run")
	}
}

// Checks that the operator has set are run in a checkout, and not where the worker works.
func TestChecksOfADirectoryOfATasksOwn(t *testing.T) {
	f := owning(t, func(string) {})
	f.says = []pluginsdk.InvokeResult{good(rejection)}
	ran := filepath.Join(t.TempDir(), "ran")
	f.settings(object{"checks": list{object{"name": "test", "command": "pwd >" + ran + "; git log --oneline | wc -l >>" + ran + "; echo evil >report.md; touch left"}}})
	f.lay(map[string]string{"Makefile": "lint:\n\ttouch " + ran + "-by-make\n"})
	if said, err := f.review(f.serve()); err == nil {
		t.Logf("%+v", said) // the reviewer's answers are of another kind
	}
	where, err := os.ReadFile(ran)
	if err != nil || strings.Contains(string(where), f.dir) || !strings.Contains(string(where), "/checks/files\n1\n") {
		t.Errorf("run in %q, %v", where, err)
	}
	for _, path := range []string{filepath.Join(f.dir, "left"), ran + "-by-make"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("there is %s", path)
		}
	}
}

// A verdict whose answer was lost is not taken for what has been written into the directory
// since; as long as the directory is as it was, it is not paid for again.
func TestAVerdictOnADirectoryAsItWas(t *testing.T) {
	read := ""
	f := owning(t, func(dir string) {
		if _, err := os.Lstat(filepath.Join(dir, "evil.sh")); err == nil {
			read = "evil.sh"
		}
	})
	was := f.accepts(f.serve())[0].Tree
	if again := f.accepts(f.serve())[0].Tree; again != was || len(f.asked) != 1 {
		t.Errorf("asked %d times about one tree", len(f.asked))
	}
	f.lay(map[string]string{"evil.sh": "evil\n"})
	if is := f.accepts(f.serve())[0].Tree; is == was || len(f.asked) != 2 || read != "evil.sh" {
		t.Errorf("asked %d times, and accepted %s", len(f.asked), is)
	}
}
