package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func write(cwd, path string) Call { return call(cwd, "Write", "file_path", path, "content", "x") }

// What a rule for writing below the directory in which the agent works allows.
func TestRuleForADirectory(t *testing.T) {
	cwd := newTree(t)
	home := filepath.Dir(cwd)
	rows := map[string]bool{
		"new.txt": true, "./new.txt": true, "sub/deep/er/new.txt": true, cwd + "/new.txt": true, cwd + "//sub/new.txt": true, "inner/new.txt": true,
		"main.go": true, "sub/über.txt": true, "HEAD": true, "x.make": true,
		// Elsewhere.
		"/etc/x": false, home + "/x": false, "../x": false, "sub/../x": false, "sub/../../x": false, cwd + "/../beside/x": false, home: false, "/": false, cwd + "-more/x": false,
		"out/x": false, "out": false, "out/../x": false, "dangling": false, "dangling/x": false, "hosts": false, "main.go/x": false, "sub/loop/x": false,
		// Read in different ways.
		"": false, "~": false, "~/x": false, "~root/x": false, " x": false, "x ": false, "x\n": false, "x\x00y": false, "a\\b": false, "\\etc\\x": false, "\u202ex": false, "cafe\u0301": false, "-x": true,
		"sub/\u200b.git/x": false, strings.Repeat("x/", maxPath): false, strings.Repeat("x", 300): false,
		// Settings of programs and agents.
		".git/config": false, ".git/hooks/pre-commit": false, ".git": false, ".GIT/config": false, "sub/.git/config": false, ".gitattributes": false, ".gitmodules": false, ".gitconfig": false, ".claude/settings.json": false, ".claude": false, ".mcp.json": false,
		"sub/.claude/x": false, ".claude/worktrees/t/x": false, ".husky/pre-commit": false, ".vscode/tasks.json": false, ".idea/x": false, ".github/workflows/x.yml": false, ".bashrc": false, ".profile": false, ".npmrc": false, ".env": false, ".envrc": false, ".cargo/config.toml": false, ".x": false,
		"CLAUDE.md": false, "claude.MD": false, "sub/CLAUDE.md": false, "CLAUDE.local.md": false, "AGENTS.md": false, "Makefile": false, "GNUmakefile": false, "makefile": false, "rules.mk": false, "package.json": false, "sub/package.json": false, "CLAUDE.md/x": false,
		"makeﬁle": false, "ruﬆ-toolchain": false, "\u034f.git/config": false, ".gi\ufe0ft/config": false, "sub/\u3164Makefile": false, "\u115fMakefile": false,
		"go.mod": false, "rust-toolchain.toml": false, "AGENTſ.md": false, "pac\u212aage.json": false, "Cargo.toml": false, "build.rs": false, "conftest.py": false, "pyproject.toml": false,
	}
	must(t, os.Symlink("loop", cwd+"/sub/loop"))
	rule := offer(t, KindDirectory, write(cwd, "main.go"))
	if rule.Value != cwd {
		t.Fatalf("the rule is for %s, want %s", rule.Value, cwd)
	}
	for path, want := range rows {
		if Allows(rule, write(cwd, path)) != want {
			t.Errorf("write %.60q: want %v", path, want)
		}
		if !want && offered(KindDirectory, write(cwd, path)) {
			// Beside the project a directory of its own may be offered, none of the project.
			for _, other := range Offers(write(cwd, path)) {
				if other.Kind == KindDirectory && within(other.Value, cwd) {
					t.Errorf("for %.60q, %s is offered", path, other.Value)
				}
			}
		}
	}
	narrow := offer(t, KindDirectory, write(cwd, "sub/new.txt"))
	if narrow.Value != cwd+"/sub" || Allows(narrow, write(cwd, "main.go")) || Allows(narrow, write(cwd, "subway/x")) || !Allows(narrow, write(cwd, "inner/x")) {
		t.Errorf("the rule for sub, with the value %s, allows more or less than sub", narrow.Value)
	}
	if !Allows(narrow, write(cwd+"/sub", "x")) || Allows(narrow, write(cwd+"/sub", "../x")) {
		t.Error("where the agent works makes another directory of it")
	}
}

// Each tool has rules of its own, and an input with a field that is unknown has none.
func TestToolsOfADirectory(t *testing.T) {
	cwd := newTree(t)
	calls := []Call{
		write(cwd, "sub/a.txt"),
		call(cwd, "Edit", "file_path", "sub/a.txt", "old_string", "x", "new_string", "y"),
		call(cwd, "MultiEdit", "file_path", "sub/a.txt", "edits", []any{map[string]any{"old_string": "x"}}),
		call(cwd, "NotebookEdit", "notebook_path", "sub/a.txt", "new_source", "x"),
		call(cwd, "Read", "file_path", "sub/a.txt", "limit", 5),
		call(cwd, "Glob", "path", "sub", "pattern", "*.txt"),
		call(cwd, "Grep", "path", "sub", "pattern", "x", "-n", true),
	}
	for i, use := range calls {
		rule := offer(t, KindDirectory, use)
		if rule.Value != cwd+"/sub" {
			t.Errorf("%s: the rule is for %s", use.Tool, rule.Value)
		}
		for j, other := range calls {
			if Allows(rule, other) != (i == j) {
				t.Errorf("%s by a rule for %s", other.Tool, use.Tool)
			}
		}
		more := use
		more.Input = append([]byte(`{"unknown":1,`), use.Input[1:]...)
		if Allows(rule, more) || offered(KindDirectory, more) {
			t.Errorf("%s with an unknown field is allowed", use.Tool)
		}
		upper := use
		upper.Input = []byte(strings.NewReplacer("file_path", "File_Path", "notebook_path", "Notebook_path").Replace(string(use.Input)))
		if strings.Contains(string(upper.Input), "_Path") && Allows(rule, upper) {
			t.Errorf("%s with its path under another name is allowed", use.Tool)
		}
	}
	both := Call{Tool: "Write", Cwd: cwd, Input: []byte(`{"file_path":"/etc/x","content":"x","File_Path":"sub/x"}`)}
	if Allows(offer(t, KindDirectory, calls[0]), both) {
		t.Error("a second path hides the first")
	}
}

// What is too wide, the system's, a program's or secret is not offered.
func TestDirectoriesNotOffered(t *testing.T) {
	cwd := newTree(t)
	home := filepath.Dir(cwd)
	must(t, os.MkdirAll(home+"/.ssh", 0o700))
	must(t, os.MkdirAll(home+"/.config/app", 0o700))
	must(t, os.MkdirAll(home+"/notes", 0o700))
	must(t, os.MkdirAll(home+"/wide/cwd/deep", 0o700))
	read := func(path string) Call { return call(cwd, "Read", "file_path", path) }
	rows := []struct {
		call    Call
		offered bool
	}{
		{write(cwd, home+"/notes/x"), true}, {read(home + "/notes/x"), true}, {read("/etc/hostname"), true}, {read(home + "/.config/app/x"), true},
		{write(cwd, home+"/x"), false}, {read(home + "/x"), false}, {write(cwd, "/x"), false}, {read("/x"), false}, {write(cwd, filepath.Dir(home)+"/x"), false},
		{write(cwd, "/etc/x"), false}, {write(cwd, "/usr/local/bin/git"), false}, {write(cwd, "/dev/sda"), false}, {write(cwd, home+"/.config/app/x"), false}, {write(cwd, home+"/.local/bin/git"), false},
		{read("/proc/self/environ"), false}, {read("/dev/mem"), false}, {read("/sys/x"), false}, {read(home + "/.ssh/id_rsa"), false}, {read(home + "/.SSH/id_rsa"), false}, {read(home + "/notes/.env"), false}, {read(home + "/notes/.netrc"), false},
		{read(strings.ToUpper(home) + "/x"), false}, {write(cwd, "/USR/x/y"), false}, {read("/PROC/x/y"), false}, {write(cwd, "/LIBRARY/x/y"), false}, {read(home + "/.pa\u00dfword-store/x"), false},
		{write(home+"/wide/cwd", strings.ToUpper(home+"/wide")+"/x"), false}, {write(home+"/wide/cwd", home+"/wide/x"), false}, {write(home+"/wide/cwd", "deep/x"), true}, {write(home, "x"), false}, {write(home, home+"/notes/x"), true}, {write("/", "etc/x"), false},
		{call(cwd, "Grep", "pattern", "x"), true}, {call(cwd, "Grep", "pattern", "x", "path", "/"), false}, {call(cwd, "Grep", "pattern", "x", "path", home), false}, {call(cwd, "Grep", "pattern", "x", "path", 5), false},
	}
	for _, row := range rows {
		if offered(KindDirectory, row.call) != row.offered {
			t.Errorf("%s %s in %s: want offered %v", row.call.Tool, row.call.Input, row.call.Cwd, row.offered)
		}
	}
	// Rules that nobody was offered, as from a database that somebody wrote to.
	for _, value := range []string{"/", home, home + "/", cwd + "/", cwd + "/.", "", ".", "project", filepath.Dir(home), "/proc", cwd + "/sub/.."} {
		if Allows(pluginsdk.ApprovalRule{Tool: "Write", Kind: KindDirectory, Value: value}, write(cwd, "sub/x")) {
			t.Errorf("a rule for %q allows", value)
		}
	}
	must(t, os.Symlink(home, home+"-alias"))
	t.Setenv("HOME", home+"-alias")
	elsewhere := t.TempDir()
	if offered(KindDirectory, call(elsewhere, "Read", "file_path", home+"/x")) {
		t.Error("the home directory is offered when HOME is a symlink")
	}
	t.Setenv("HOME", "")
	if offered(KindDirectory, call(elsewhere, "Read", "file_path", "/x")) {
		t.Error("the root is offered when there is no home directory")
	}
	if len(Offers(write(".", "x"))) > 0 {
		t.Error("a relative place to work is taken")
	}
}

// A task's working tree is below the agent's hidden directory; the agent's settings are not
// to be written from there all the same.
func TestDirectoryOfATask(t *testing.T) {
	cwd := newTree(t)
	tree := cwd + "/.claude/worktrees/task"
	must(t, os.MkdirAll(tree, 0o700))
	rule := offer(t, KindDirectory, write(tree, "x"))
	for path, want := range map[string]bool{"sub/x": true, ".claude/settings.json": false, "../../settings.json": false, cwd + "/.claude/settings.json": false, cwd + "/x": false} {
		if Allows(rule, write(tree, path)) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
	for _, hidden := range []string{"/.claude", "/.claude/agents", "/.claude/worktrees", "/.git", "/.git/hooks"} {
		must(t, os.MkdirAll(cwd+hidden, 0o700))
		if offered(KindDirectory, write(cwd+hidden, "x")) {
			t.Errorf("%s is offered to the agent that works in it", hidden)
		}
	}
}

// The links that lead out are seen when the call comes, not when the rule is made.
func TestDirectoryWithASwappedSymlink(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindDirectory, write(cwd, "sub/x"))
	must(t, os.Rename(cwd+"/sub", cwd+"/old"))
	must(t, os.Symlink("../beside", cwd+"/sub"))
	if Allows(rule, write(cwd, "sub/x")) {
		t.Error("the directory has become a symlink to elsewhere")
	}
	must(t, os.Remove(cwd+"/sub"))
	must(t, os.Symlink(".git", cwd+"/sub"))
	if Allows(rule, write(cwd, "sub/config")) || Allows(offer(t, KindDirectory, write(cwd, "x")), write(cwd, "sub/config")) {
		t.Error("a symlink leads into .git")
	}
}

// Glob's pattern is a path too.
func TestPatternsOfGlob(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindDirectory, call(cwd, "Glob", "pattern", "**/*.go"))
	rows := map[string]bool{
		"*.go": true, "**/*.{ts,tsx}": true, "sub/*.txt": true, "inner/**/*.txt": true, "sub/a.txt": true, "**/sub/*": false, "**": true, "./sub/*": true,
		"/etc/*": false, "/etc/**": false, "../*": false, "sub/../../*": false, "**/../*": false, "out/*": false, "out/**/*.txt": false, "*/secret.txt": false, "o?t/*": false, "{out,sub}/*": false, "{.,}{.,}/*": false,
		"[o]ut/*": false, "\\/etc/*": false, "~/*": false, "dangling/*": false, "@(out)/*": false,
	}
	for pattern, want := range rows {
		if Allows(rule, call(cwd, "Glob", "pattern", pattern)) != want {
			t.Errorf("%s: want %v", pattern, want)
		}
	}
	if Allows(rule, call(cwd, "Glob")) || Allows(rule, call(cwd, "Glob", "pattern", 5)) {
		t.Error("a Glob without a pattern is allowed")
	}
}

// A symlink into /proc leads each process somewhere else, so nobody knows where it leads
// whom: here the test, there the agent's shell.
func TestSymlinksThatDifferWithWhoLooks(t *testing.T) {
	if _, err := os.Readlink("/proc/self/cwd"); err != nil {
		t.Skip("there is no /proc")
	}
	cwd := newTree(t)
	t.Chdir(cwd + "/sub")
	must(t, os.Symlink("/proc/self/cwd/..", cwd+"/link")) // here the project, for a shell in it what is above it
	must(t, os.Symlink("link", cwd+"/again"))
	list, rule := offer(t, KindCommand, bash(cwd, "cat main.go")), offer(t, KindDirectory, write(cwd, "main.go"))
	for _, path := range []string{"link/main.go", "link/new", "again/main.go", "again", "link"} {
		if Allows(list, bash(cwd, "cat "+path)) || Allows(rule, write(cwd, path)) || offered(KindCall, write(cwd, path)) {
			t.Errorf("%s is allowed", path)
		}
	}
}

// What resolve makes of a path is what the file system makes of it.
func TestPathsAreFollowedAsTheSystemDoes(t *testing.T) {
	cwd := newTree(t)
	must(t, os.MkdirAll(cwd+"/a/b/c", 0o700))
	for name, target := range map[string]string{
		"a/up": "../a/b", "a/b/far": "../../sub", "two": "a/up/c", "abs": cwd + "/a/./b/", "back": "a/up/../b", "gone": "a/nowhere", "round": "a/round2", "a/round2": "../round", "self": ".",
		"file": "main.go",
	} {
		must(t, os.Symlink(target, cwd+"/"+name))
	}
	for _, path := range []string{
		"a", "a/up", "a/up/c", "a/up/far", "a/up/far/a.txt", "two", "two/new", "abs/c", "abs/new/er", "back", "back/c", "gone", "gone/x", "round", "round/x", "self/self/a/up", "file", "file/x", "main.go/x", "out", "hosts", "dangling", "new", "new/er/x",
	} {
		got, ok := resolve(cwd, path)
		want, err := filepath.EvalSymlinks(cwd + "/" + path)
		if err == nil && (!ok || got != want) {
			t.Errorf("%s leads to %q, %v; want %q", path, got, ok, want)
		}
		if err != nil && ok && os.MkdirAll(got, 0o700) == nil { // it does not exist yet: it is made where it was said to be
			if want, err := filepath.EvalSymlinks(cwd + "/" + path); err != nil || got != want {
				t.Errorf("%s leads to %q; want %q, %v", path, got, want, err)
			}
		}
		if missing := err != nil && !strings.HasPrefix(path, "new") && !strings.HasSuffix(path, "/new") && !strings.HasSuffix(path, "new/er"); missing && ok {
			t.Errorf("%s, which leads nowhere, is taken for %q", path, got)
		}
	}
}
