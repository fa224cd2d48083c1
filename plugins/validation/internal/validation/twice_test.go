package validation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// project is a task whose base has these files beside a.txt, which says one. A name that ends in *
// is a program, a content that begins with -> a link.
func project(t *testing.T, base map[string]string) *fixture {
	t.Helper()
	f := start(t)
	f.settings(object{"checks": list{}})
	f.edit(map[string]string{"a.txt": "one\n", "lint.txt": "gone"})
	f.edit(base)
	git(t, f.dir, "add", "-A")
	f.base = git(t, f.dir, "commit-tree", "-m", "base", "-p", f.base, git(t, f.dir, "write-tree"))
	git(t, f.dir, "update-ref", "HEAD", f.base)
	return f
}

// edit writes files; one of the content "gone" is removed.
func (f *fixture) edit(files map[string]string) {
	f.t.Helper()
	for name, content := range files { // what goes makes room
		if content == "gone" {
			if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	for name, content := range files {
		if content == "gone" {
			continue
		}
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, "*") {
			name, mode = strings.TrimSuffix(name, "*"), 0o700
		}
		path := filepath.Join(f.dir, name)
		err := os.RemoveAll(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if to, link := strings.CutPrefix(content, "->"); err == nil && link {
			err = os.Symlink(to, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), mode)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// change is what the worker makes of the project.
func (f *fixture) change(files map[string]string) {
	f.t.Helper()
	f.edit(files)
	git(f.t, f.dir, "add", "-A", "-f")
	f.request.Evidence = []pluginsdk.Evidence{
		{Kind: "tree", Tree: git(f.t, f.dir, "write-tree"), File: f.dir}, {Kind: "base", Tree: f.base}, {Kind: "patch-id", Output: "patch"},
	}
	for i := range f.request.Evidence {
		f.request.Evidence[i].Plugin = "worktree"
	}
}

// by is an acceptance that cites a check, and quotes a.txt.
func by(command, quote string) pluginsdk.InvokeResult {
	return good(func(said object) {
		for name, answer := range said["answers"].(object) {
			answer.(object)["answer"] = "does_not_apply"
			answer.(object)["evidence"] = list{object{"kind": "file", "file": "a.txt", "line": 1, "quote": quote}}
			if name == "tests_pass" && command != "" {
				answer.(object)["answer"], answer.(object)["evidence"] = "yes", list{object{"kind": "command", "command": command, "exitCode": 0}}
			}
		}
	})
}

func kindsIn(evidence []pluginsdk.Evidence, kind string) (found []pluginsdk.Evidence) {
	for _, e := range evidence {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// looks is a recipe that counts its runs, and passes where a.txt says two.
const looks = "\t@echo test >>$$RAN; grep -q two a.txt\n"

// Work that changes what the checks are is checked by what they were as well: a worker does not get
// by with checks that it has made weaker.
func TestChecksThatAreMadeWeaker(t *testing.T) {
	calls := func(what string) string { return "test:\n\t" + what + "\n" }
	weak := "#!/bin/sh\ntrue\n"
	strong := "#!/bin/sh\ngrep -q two a.txt\n"
	for name, row := range map[string]struct{ base, work map[string]string }{
		"the Makefile":            {map[string]string{"Makefile": "test:\n" + looks}, map[string]string{"Makefile": calls("true")}},
		"one before it":           {map[string]string{"Makefile": "test:\n" + looks}, map[string]string{"GNUmakefile": calls("true")}},
		"one of another case":     {map[string]string{"Makefile": "test:\n" + looks}, map[string]string{"makefile": calls("true")}},
		"an include":              {map[string]string{"Makefile": "include conf/vars\ntest:\n\t$(CHECK)\n", "conf/vars": "CHECK = grep -q two a.txt\n"}, map[string]string{"conf/vars": "CHECK = true\n"}},
		"an include of several":   {map[string]string{"Makefile": "CHECK = grep -q two a.txt\n-include conf/*.inc\ntest:\n\t$(CHECK)\n"}, map[string]string{"conf/zz.inc": "CHECK = true\n"}},
		"a script":                {map[string]string{"Makefile": calls("sh scripts/test.sh"), "scripts/test.sh": strong}, map[string]string{"scripts/test.sh": weak}},
		"a program":               {map[string]string{"Makefile": calls("@./run-tests"), "run-tests*": strong}, map[string]string{"run-tests*": weak}},
		"a script of a script":    {map[string]string{"Makefile": calls("sh t/a.sh"), "t/a.sh": ". t/lib.sh\n", "t/lib.sh": strong}, map[string]string{"t/lib.sh": weak}},
		"beside the script":       {map[string]string{"Makefile": calls("sh t/a.sh"), "t/a.sh": "cd t; . ./lib.sh\n", "t/lib.sh": "grep -q two ../a.txt\n"}, map[string]string{"t/lib.sh": weak}},
		"behind a link":           {map[string]string{"Makefile": calls("./check"), "check": "->real/one", "real/one*": strong}, map[string]string{"real/one*": weak}},
		"another link":            {map[string]string{"Makefile": calls("./check"), "check": "->real/one", "real/one*": strong, "real/two*": weak}, map[string]string{"check": "->real/two"}},
		"behind a directory":      {map[string]string{"Makefile": calls("scripts/check"), "scripts": "->real", "real/check*": strong}, map[string]string{"real/check*": weak}},
		"in a variable":           {map[string]string{"CONF": "x", "Makefile": "DIR := etc\nCONF = $(DIR)/lint.conf\ntest:\n\tgrep -qf $(CONF) a.txt\n", "etc/lint.conf": "two\n"}, map[string]string{"etc/lint.conf": ".\n"}},
		"in a shell variable":     {map[string]string{"Makefile": calls("D=etc; grep -qf $$D/lint.conf a.txt"), "etc/lint.conf": "two\n"}, map[string]string{"etc/lint.conf": ".\n"}},
		"moved":                   {map[string]string{"Makefile": calls("sh scripts/test.sh"), "scripts/test.sh": strong}, map[string]string{"scripts/test.sh": "gone", "scripts/t.sh": weak, "Makefile": calls("sh scripts/t.sh")}},
		"taken away":              {map[string]string{"Makefile": calls("[ ! -e strict.sh ] || sh strict.sh"), "strict.sh": strong}, map[string]string{"strict.sh": "gone"}},
		"a directory of it":       {map[string]string{"Makefile": calls("sh check.sh"), "check.sh": strong}, map[string]string{"check.sh": "gone", "check.sh/x": "", "Makefile": calls("sh check.sh/x")}},
		"attributes":              {map[string]string{"Makefile": "test:\n" + looks}, map[string]string{"Makefile": calls("true"), ".gitattributes": "Makefile -diff -text binary linguist-generated\n"}},
		"a name of two words":     {map[string]string{"Makefile": calls("sh 'the check.sh'"), "the check.sh": strong}, map[string]string{"the check.sh": weak}},
		"in its directory":        {map[string]string{"Makefile": calls("@cd qa && ./run"), "qa/run*": "#!/bin/sh\ngrep -q two ../a.txt\n"}, map[string]string{"qa/run*": weak}},
		"a module":                {map[string]string{"Makefile": calls("@python3 -m tools.check"), "tools/check.py": "import sys; sys.exit('two' not in open('a.txt').read())\n"}, map[string]string{"tools/check.py": ""}},
		"a test that is run":      {map[string]string{"Makefile": calls("@python3 tests/run_all.py"), "tests/run_all.py": "import sys; sys.exit('two' not in open('a.txt').read())\n"}, map[string]string{"tests/run_all.py": ""}},
		"a list":                  {map[string]string{"Makefile": calls("@while read t; do sh $$t; done <list.txt"), "list.txt": "strict\n", "strict": strong, "weak": weak}, map[string]string{"list.txt": "weak\n"}},
		"a program before it":     {map[string]string{"Makefile": "export PATH := $(CURDIR)/tools-of-ours:$(PATH)\n" + calls("@grep -q two a.txt"), "tools-of-ours/x": ""}, map[string]string{"tools-of-ours/grep*": weak}},
		"another Taskfile":        {map[string]string{"Makefile": calls("@sh -c \"`cat Task*`\""), "Taskfile.dist.yml": "grep -q two a.txt"}, map[string]string{"Taskfile.dist.yml": "true"}},
		"a target before it":      {map[string]string{"Makefile": "test: unit\nunit:\n\tpython3 -c 1; sh u.sh\n", "u.sh": strong}, map[string]string{"u.sh": weak}},
		"a directory of its name": {map[string]string{"Makefile": calls("@grep -q two a.txt")}, map[string]string{"test/x.txt": "x\n"}},
		"in a crowd of patterns":  {map[string]string{"Makefile": "CHECK = grep -q two a.txt\n-include conf/*.dat\ntest:\n\t$(CHECK)\n"}, map[string]string{"conf/zz.dat": "CHECK = true\n", ".ci/a.mk": strings.Repeat("a* b? c* ", 200)}},
		"one with prerequisites":  {map[string]string{"Makefile": "test: a.txt\n\t@grep -q two a.txt\n"}, map[string]string{"test/x.txt": "x\n"}},
		"what it would have made": {map[string]string{"Makefile": "test: build/tested.txt\nbuild/tested.txt: a.txt\n\tgrep -q two a.txt\n"}, map[string]string{"build/tested.txt": "x\n"}},
		"in place of a library":   {map[string]string{"Makefile": calls("@python3 -m unittest -q"), "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertIn('two', open('a.txt').read())\n"}, map[string]string{"gettext.py": "import os\nos._exit(0)\n", "dis.py": "import os\nos._exit(0)\n"}},
		"a new submodule":         {map[string]string{"Makefile": "test:\n" + looks}, map[string]string{".gitmodules": "[submodule \"x\"]\n", "Makefile": calls("true")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := project(t, row.base)
			f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, ".git", "ran")}})
			f.says = []pluginsdk.InvokeResult{by("make test", "one")}
			work := map[string]string{"b.txt": "new\n"} // a.txt still says one
			for file, content := range row.work {
				work[file] = content
			}
			f.change(work)
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != pluginsdk.VerdictWait || !slices.Equal(said.Marks, []string{"checks-changed"}) || len(f.turns()) != 0 {
				t.Fatalf("%+v, %v after %d reviews", said, err, len(f.turns()))
			}
			files := kindsIn(said.Evidence, "check-files")
			for file := range row.work {
				if len(files) != 1 || !strings.Contains("\n"+files[0].Output+"\n", "\n"+strings.TrimSuffix(file, "*")+"\n") {
					t.Errorf("%s is not named: %+v", file, files)
				}
			}
			if before := kindsIn(said.Evidence, "base-check"); len(before) != 1 || before[0].ExitCode == 0 || before[0].Command != "make test" || before[0].Tree != f.request.Evidence[0].Tree {
				t.Errorf("of the checks before: %+v", before)
			}
			if own := kindsIn(said.Evidence, "command"); len(own) != 1 || own[0].ExitCode != 0 {
				t.Errorf("of its own: %+v", own)
			}
			if !strings.Contains(said.Feedback, "make test") || !strings.Contains(said.Feedback, "git -C "+f.dir+" diff") || strings.Contains(said.Feedback, "harness-work-") {
				t.Errorf("a person reads %s", said.Feedback)
			}
			if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "harness-work-*", "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("left are %q, %v", left, err)
			}
		})
	}
}

// Work in a directory of the project does not hide the project's checks by some of its own there.
func TestChecksThatAreHidden(t *testing.T) {
	bin := t.TempDir()                                                                               // a test tool that is always content
	if err := os.WriteFile(filepath.Join(bin, "pytest"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	f := project(t, map[string]string{"Makefile": "test:\n" + looks, "sub/b.txt": "one\n"})
	f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, ".git", "ran")}})
	f.request.Task.Cwd = filepath.Join(f.dir, "sub")
	f.says = []pluginsdk.InvokeResult{by("pytest", "one")}
	f.change(map[string]string{"sub/b.txt": "two\n", "sub/pyproject.toml": "[project]\ndependencies = [\n\"pytest\",\n]\n"})
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictWait || !slices.Equal(said.Marks, []string{"checks-changed"}) || len(f.turns()) != 0 {
		t.Errorf("%+v, %v after %d reviews", said, err, len(f.turns()))
	}
}

// What is no change to the checks is checked once, as it always was.
func TestWhatIsNoChangeToTheChecks(t *testing.T) {
	makefile := "test:\n" + looks + "run:\n\tpython3 app.py --config app.yml\n"
	for name, work := range map[string]map[string]string{
		"a source":                 {"main.go": "package main\n"},
		"what a pattern is for":    {"src/a.ts": "2\n", "src/b/c.json": "2\n", "LICENSE": "2\n"},
		"what is served":           {"serve.py": "2\n", "requirements.txt": "a==2\nb==1\n"},
		"what another target runs": {"app.py": "2\n", "app.yml": "2\n"},
		"a document":               {"README.md": "run make test, scripts/test.sh\n", ".github/CONTRIBUTING.md": "2\n"},
		"what a package needs":     {"package.json": `{"scripts":{"start":"x"},"dependencies":{"a":"2"},"version":"2"}`},
		"what a module needs":      {"go.mod": "module x\n\ngo 1.22\n\nrequire a v2 // tool\n\ntool b\n"},
		"what a project needs":     {"pyproject.toml": "[project]\nversion = '2'\n[tool.ruff]\nx = 1\n"},
		"what a crate needs":       {"sub/Cargo.toml": "[package]\nname = \"x\"\n[dependencies]\na = \"2\"\n"},
		"a test":                   {"a_test.go": "package main\n", "tests/test_a.py": "2\n"},
		"a lock file":              {"package-lock.json": "{}", "uv.lock": "2"},
		"called as a library":      {"src/types.py": "2\n", "src/logging.py": "2\n", "src/token.py": "2\n", "lib/uuid.py": "2\n"},
		"called as a tool":         {"app/vendor/models.py": "2\n", "app/commands/setup.py": "2\n", "insurance/coverage.py": "2\n", "ci/client.go": "package ci // 2\n", "pkg/pods/handler.go": "package pods // 2\n"},
		"called as a container":    {"pkg/compose.go": "package pkg // 2\n", "src/compose.js": "2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := project(t, map[string]string{
				"Makefile": makefile, "package-lock.json": "{}\n", "uv.lock": "1", "app.py": "1\n", "app.yml": "1\n", "package.json": `{"scripts":{"start":"x"},"dependencies":{"a":"1"}}`,
				"src/a.ts": "1\n", "src/b/c.json": "1\n", "LICENSE": "1\n", "tsconfig.json": `{"include":["./src/**/*"],"paths":{"@/*":["./src/*"]}}`, ".gitattributes": "* text=auto\n",
				"src/types.py": "1\n", "src/logging.py": "1\n", "src/token.py": "1\n", "lib/uuid.py": "1\n", "app/vendor/models.py": "1\n", "app/commands/setup.py": "1\n", "insurance/coverage.py": "1\n",
				"ci/client.go": "package ci\n", "pkg/pods/handler.go": "package pods\n", "pkg/compose.go": "package pkg\n", "src/compose.js": "1\n",
				"serve.py": "1\n", "Dockerfile": "RUN pip install -r requirements.txt\nCMD [\"python\", \"serve.py\"]\n", "requirements.txt": "a==1\n",
				"sub/Cargo.toml": "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n", "go.mod": "module x\n\ngo 1.22\n\ntool b\n", "pyproject.toml": "[project]\nversion = '1'\n[tool.ruff]\nx = 1\n",
			})
			f.settings(object{"checks": list{object{"name": "build", "command": ""}, object{"name": "lint", "command": ""}, object{"name": "format", "command": ""}}, "environment": object{"RAN": filepath.Join(f.dir, "ran")}})
			f.says = []pluginsdk.InvokeResult{by("make test", "two")}
			work["a.txt"] = "two\n"
			f.change(work)
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 1 || len(kindsIn(said.Evidence, "check-files")) != 0 || strings.Contains(f.turns()[0].Prompt, "changes what the checks are") {
				t.Errorf("%+v, %v after %d runs", said, err, f.ran())
			}
		})
	}
}

// A change to the checks that passes before and after is reviewed, and the reviewer is told of it.
func TestTheReviewerIsToldOfChangedChecks(t *testing.T) {
	f := project(t, map[string]string{"Makefile": "test:\n" + looks + "\t@echo AS-BEFORE\n"})
	f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, "ran")}})
	f.says = []pluginsdk.InvokeResult{by("make test", "two")}
	f.change(map[string]string{"a.txt": "two\n", "Makefile": "test:\n" + looks + "\t@echo AS-NOW\n", ".github/workflows/ci.yml": "on: push\n"})
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 2 || len(f.turns()) != 1 {
		t.Fatalf("%+v, %v after %d runs", said, err, f.ran())
	}
	prompt := f.turns()[0].Prompt
	_, told, _ := strings.Cut(prompt, "changes what the checks are")
	for _, want := range []string{"> .github/workflows/ci.yml\n> Makefile\n", "### Before the work, test: `make test`", "> AS-BEFORE"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %s", want, told)
		}
	}
	if !strings.Contains(prompt, "> AS-NOW") || strings.Contains(prompt, "harness-work-") && !strings.Contains(prompt, "/review/files") {
		t.Errorf("it was asked %s", prompt)
	}
	if files := kindsIn(said.Evidence, "check-files"); len(files) != 1 || files[0].Output != ".github/workflows/ci.yml\nMakefile" {
		t.Errorf("the evidence is %+v", files)
	}
	// The verdict stands while the patch does, and both are run again.
	f.request.Call.ID = "call-2"
	if said, err := f.review(f.serve()); err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 4 || len(f.turns()) != 1 {
		t.Errorf("again: %+v, %v after %d runs", said, err, f.ran())
	}
	// Work that fails its own checks is rejected by that, and nothing else is run.
	f.change(map[string]string{"Makefile": "test:\n" + looks + "\t@echo HERE; false\n"})
	f.request.Call.ID = "call-3"
	if said, err := f.review(f.serve()); err != nil || said.Verdict != pluginsdk.VerdictReject || f.ran() != 5 || !strings.Contains(said.Feedback, "HERE") {
		t.Errorf("its own fail: %+v, %v after %d runs", said, err, f.ran())
	}
}

// The first checks of a project replace none. The reviewer is told so.
func TestTheFirstChecks(t *testing.T) {
	f := project(t, map[string]string{"go.sum": ""})
	f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, "ran")}})
	f.says = []pluginsdk.InvokeResult{by("make test", "two")}
	f.change(map[string]string{"a.txt": "two\n", "Makefile": "test:\n" + looks})
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 1 || !strings.Contains(f.turns()[0].Prompt, "Before the work the project had no checks") {
		t.Errorf("%+v, %v after %d runs", said, err, f.ran())
	}
}

// Checks of before that cannot be run any more, be it by what the work has moved, are a person's
// to look at, and no fault of the machine's that is tried for ever.
func TestChecksOfBeforeThatCannotBeRun(t *testing.T) {
	for name, row := range map[string]struct{ base, work map[string]string }{
		"what it needs has moved": {map[string]string{"Makefile": "test:\n\tcat data/one.dat\n", "data/one.dat": "1"}, map[string]string{"Makefile": "test:\n\tcat data/two.dat\n", "data/one.dat": "gone", "data/two.dat": "1"}},
		"the target was renamed":  {map[string]string{"Makefile": "test:\n\tmake -f other.make old\n", "other.make": "old:\n\ttrue\n"}, map[string]string{"Makefile": "test:\n\tmake -f other.make new\n", "other.make": "new:\n\ttrue\n"}},
		"its program is gone":     {map[string]string{"Makefile": "test:\n\t./no-such-program\n"}, map[string]string{"Makefile": "test:\n\ttrue\n"}},
		"its manager is not here": {map[string]string{"package.json": `{"packageManager":"bun@1","scripts":{"test":"x"}}`}, map[string]string{"package.json": `{}`, "Makefile": "test:\n\ttrue\n"}},
	} {
		f := project(t, row.base)
		f.says = []pluginsdk.InvokeResult{by("make test", "one")}
		f.change(row.work)
		said, err := f.review(f.serve())
		if name == "the target was renamed" { // the targets are what the checks are: those of before are there
			if err != nil || said.Verdict != pluginsdk.VerdictAccept {
				t.Errorf("%s: %+v, %v", name, said, err)
			}
			continue
		}
		if err != nil || said.Verdict != pluginsdk.VerdictWait || !slices.Equal(said.Marks, []string{"checks-changed"}) || len(f.turns()) != 0 {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
	}
}

// However many files of the checks there are, a round of them can be kept.
func TestManyFilesOfTheChecks(t *testing.T) {
	f := project(t, map[string]string{"Makefile": "test:\n" + looks})
	f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, "ran")}})
	work := map[string]string{"a.txt": "two\n", "Makefile": "test:\n" + looks + "\n"}
	for n := range 500 {
		work[fmt.Sprintf("node_modules/%s-%d", strings.Repeat("a", 100), n)] = ""
	}
	f.change(work)
	f.reviewers(func(part, _ int) pluginsdk.InvokeResult {
		said := by("make test", "two")
		if part > 0 {
			said.StructuredOutput = append(said.StructuredOutput[:len(said.StructuredOutput)-1], fmt.Sprintf(`,"part":%d}`, part)...)
		}
		return said
	})
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 2 || !strings.Contains(f.turns()[0].Prompt, "> Makefile\n") || !strings.Contains(f.turns()[0].Prompt, "more files\n") {
		t.Errorf("%+v, %v after %d reviews", said, err, len(f.turns()))
	}
}

// What the checks of the work do to the repository changes nothing of how those of before are run.
func TestTheChecksDoNotChooseWhatTheyWere(t *testing.T) {
	f := project(t, map[string]string{"Makefile": "test:\n" + looks})
	f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, ".git", "ran"), "DIR": f.dir}})
	f.says = []pluginsdk.InvokeResult{by("make test", "one")}
	blob := git(t, f.dir, "rev-parse", "HEAD:Makefile")
	f.change(map[string]string{"Makefile": fmt.Sprintf("test:\n\t@for d in ../objects.git $$DIR; do printf 'test:\\n\\ttrue\\n' >w; git -C $$d replace -f %s $$(git -C $$d hash-object -w $$PWD/w); done; "+
		"mkdir -p ../../base-checks/files; cp w ../../base-checks/files/Makefile\n", blob)})
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictWait || said.Marks[0] != "checks-changed" {
		t.Errorf("%+v, %v", said, err)
	}
}

// A reviewer that lies about changed checks has given no verdict: what was run as it was before is no
// proof of what is there now, and neither is a command of the base.
func TestAReviewerThatLiesAboutChangedChecks(t *testing.T) {
	cites := func(command string) pluginsdk.InvokeResult { return by(command, "two") }
	for name, lie := range map[string]pluginsdk.InvokeResult{
		"a check that is gone": cites("make lint"),
		"the file before":      by("make test", "one"),
		"a Makefile that is gone": good(func(said object) {
			for _, answer := range said["answers"].(object) {
				answer.(object)["evidence"] = list{object{"kind": "file", "file": "Makefile", "line": 3, "quote": "lint:"}}
			}
		}),
		"that it has not changed": good(func(said object) {
			for _, answer := range said["answers"].(object) {
				answer.(object)["evidence"] = list{object{"kind": "unchanged", "file": "Makefile"}}
			}
		}),
	} {
		f := project(t, map[string]string{"Makefile": "test:\n" + looks + "lint:\n\t@echo fine\n"})
		f.settings(object{"checks": list{}, "environment": object{"RAN": filepath.Join(f.dir, "ran")}})
		f.change(map[string]string{"a.txt": "two\n", "Makefile": "test:\n" + looks})
		f.says = []pluginsdk.InvokeResult{lie}
		if said, err := f.review(f.serve()); err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || len(f.turns()) != 3 {
			t.Errorf("%s: %+v, %v after %d reviews", name, said, err, len(f.turns()))
		}
	}
}
