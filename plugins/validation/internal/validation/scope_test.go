package validation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// scoped is a task of the plugin workflow that says how much of it is judged.
func scoped(f *fixture, scope string) *fixture {
	f.request.Task.Plugin = "workflow"
	f.request.Task.Labels["validation.scope"] = scope
	f.says = []pluginsdk.InvokeResult{good()}
	return f
}

// checked wants the work to have no verdict and no reviewer, and returns the evidence.
func (f *fixture) checked() []pluginsdk.Evidence {
	f.t.Helper()
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != "" || len(said.Marks) > 0 || len(f.turns()) > 0 {
		f.t.Fatalf("%+v, %v, after %d reviews", said, err, len(f.turns()))
	}
	return said.Evidence
}

// nowhere takes the task out of its worktree, into a directory of no repository.
func (f *fixture) nowhere() {
	f.dir = f.t.TempDir()
	f.request.Task.Cwd, f.request.Task.CwdPlugin, f.request.Evidence = f.dir, "", nil
	delete(f.request.Task.Labels, "worktree.path")
	f.lay(map[string]string{"a.txt": "two\n"})
}

// Work that its maker judges is checked and shown: no verdict, no reviewer.
func TestWorkThatIsOnlyChecked(t *testing.T) {
	for name, row := range map[string]struct {
		lay     func(f *fixture)
		tree    bool
		command int
	}{
		"in a worktree": {func(*fixture) {}, true, 2},
		"of work without a run": {func(f *fixture) { // which its plugin hands in
			f.request.Task.RunID, f.request.Result = "", pluginsdk.InvokeResult{Text: "three batches, all merged"}
		}, true, 2},
		"without git":       {(*fixture).nowhere, false, 2},
		"in one of its own": {func(f *fixture) { f.nowhere(); f.request.Task.OwnDirectory = true }, true, 2},
		"in another's worktree": {func(f *fixture) { // the settings name the checkout below which both are
			f.request.Evidence[1].File = "/the/repository"
			f.request.Task.Labels["worktree.repository"] = filepath.Join("/the/repository/.claude/worktrees/W")
			f.settings(object{"checks": list{object{"name": "test", "command": "grep -q two a.txt", "repository": "/the/repository"}}})
		}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := scoped(start(t), "checks")
			row.lay(f)
			evidence := f.checked()
			ran := kindsIn(evidence, "command")
			if len(ran) != row.command || len(kindsIn(evidence, "no-checks")) > 0 || len(kindsIn(evidence, "verdict")) > 0 {
				t.Fatalf("evidence %+v", evidence)
			}
			for _, e := range ran {
				if e.ExitCode != 0 || row.tree != (e.Tree != "") {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// Checks that fail reject, and checks that cannot be run are an error, whoever judges the work.
func TestWorkThatIsOnlyCheckedAndDoesNotPass(t *testing.T) {
	for name, nowhere := range map[string]bool{"in a worktree": false, "without git": true} {
		t.Run(name, func(t *testing.T) {
			f := scoped(start(t), "checks")
			if nowhere {
				f.nowhere()
			}
			f.settings(object{"checks": list{object{"name": "test", "command": "grep -q three a.txt"}}})
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != pluginsdk.VerdictReject || !strings.Contains(said.Feedback, "grep -q three") {
				t.Errorf("checks that fail: %+v, %v", said, err)
			}
			f.settings(object{"checks": list{object{"name": "test", "command": "no-such-program-here"}}})
			if said, err := f.review(f.serve()); err == nil {
				t.Errorf("checks that cannot be run: %+v", said)
			}
			f.settings(object{})
			f.request.Result.Failure = &pluginsdk.Failure{Message: "out of tokens"}
			if said, err := f.review(f.serve()); err != nil || said.Verdict != pluginsdk.VerdictReject {
				t.Errorf("a turn that has failed: %+v, %v", said, err)
			}
			if len(f.turns()) > 0 {
				t.Error("a reviewer was asked")
			}
		})
	}
}

// Work that changes its checks passes those of before too, or waits for a person.
func TestWorkThatIsOnlyCheckedAndChangesItsChecks(t *testing.T) {
	for name, row := range map[string]struct {
		before  string // what the check looks for
		verdict pluginsdk.Verdict
	}{"and passes both": {"two", ""}, "and not those of before": {"one", pluginsdk.VerdictWait}} {
		t.Run(name, func(t *testing.T) {
			f := scoped(project(t, map[string]string{"Makefile": "test:\n\tgrep -q " + row.before + " a.txt\n"}), "checks")
			f.change(map[string]string{"a.txt": "two\n", "Makefile": "test:\n\ttrue\n"})
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != row.verdict || len(f.turns()) > 0 {
				t.Fatalf("%+v, %v", said, err)
			}
			for _, kind := range []string{"command", "check-files", "base-check"} {
				if len(kindsIn(said.Evidence, kind)) != 1 {
					t.Errorf("%s of %+v", kind, said.Evidence)
				}
			}
		})
	}
}

// Who judges the work by what was checked is told when nothing was, and what is not checked any more.
func TestWorkWithoutChecks(t *testing.T) {
	for name, row := range map[string]struct {
		lay   func(f *fixture)
		words string
		tree  bool
	}{
		"in a worktree":  {func(*fixture) {}, "has no checks", true},
		"without git":    {(*fixture).nowhere, "has no checks", false},
		"one of its own": {func(f *fixture) { f.nowhere(); f.request.Task.OwnDirectory = true }, "has no checks", true},
		"nothing changed": {func(f *fixture) {
			f.shows(f.base+"^{tree}", "")
			f.request.Evidence[0].Tree = git(f.t, f.dir, "rev-parse", f.base+"^{tree}")
		}, "changes nothing", true},
		"nowhere": {func(f *fixture) { f.nowhere(); f.request.Task.Cwd = "" }, "no directory", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := scoped(start(t), "checks")
			f.settings(object{"checks": list{}})
			row.lay(f)
			evidence := f.checked()
			none := kindsIn(evidence, "no-checks")
			if len(none) != 1 || !strings.Contains(none[0].Output, row.words) || row.tree != (none[0].Tree != "") {
				t.Errorf("%+v", evidence)
			}
		})
	}
	f := scoped(start(t), "checks")
	f.nowhere()
	f.settings(object{"checks": list{}})
	f.request.Task.Labels["validation.checks"] = "make test"
	if gone := kindsIn(f.checked(), "checks-gone"); len(gone) != 1 || gone[0].Output != "make test" {
		t.Errorf("checks that are gone: %+v", gone)
	}
}

// Of work that its maker judges alone nothing is said, and nothing of it is run.
func TestWorkThatIsNotJudgedHere(t *testing.T) {
	f := scoped(start(t), "none")
	f.settings(object{"checks": list{object{"name": "test", "command": "no-such-program-here"}}})
	if evidence := f.checked(); len(evidence) > 0 || f.ran() > 0 {
		t.Errorf("%+v", evidence)
	}
	f.nowhere()
	f.request.Task.OwnDirectory = true
	f.request.Result = pluginsdk.InvokeResult{}
	if evidence := f.checked(); len(evidence) > 0 {
		t.Errorf("%+v", evidence)
	}
	if said := f.handsOver(f.serve(), nil); said.Handover != "" {
		t.Errorf("handed over: %+v", said)
	}
}

// Only the plugins that the operator names can say that they judge their tasks, and only in these words.
func TestWhoseTasksAreNotReviewed(t *testing.T) {
	for name, row := range map[string]struct {
		maker, scope string
		makers       list // nil: as they are by themselves
		reviewed     bool
	}{
		"workflow":          {"workflow", "checks", nil, false},
		"another's":         {"delegation", "checks", nil, true},
		"another's, none":   {"delegation", "none", nil, true},
		"nobody's":          {"", "none", nil, true},
		"in other letters":  {"Workflow", "none", nil, true},
		"not named":         {"workflow", "none", list{}, true},
		"named":             {"delegation", "checks", list{"delegation"}, false},
		"instead":           {"workflow", "checks", list{"delegation"}, true},
		"no scope":          {"workflow", "", nil, true},
		"one that is none":  {"workflow", "nothing", nil, true},
		"in other letters ": {"workflow", "None", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := scoped(start(t), row.scope)
			f.request.Task.Plugin = row.maker
			if row.makers != nil {
				f.settings(object{"makers": row.makers})
			}
			said, err := f.review(f.serve())
			if err != nil || row.reviewed != (said.Verdict == pluginsdk.VerdictAccept) || row.reviewed != (len(f.turns()) > 0) || f.ran() == 0 {
				t.Errorf("%+v, %v, after %d reviews", said, err, len(f.turns()))
			}
		})
	}
}

// The worker is not promised a reviewer that its work does not get here.
func TestWhatAWorkerIsToldByScope(t *testing.T) {
	f := start(t)
	plugin := f.serve()
	for scope, told := range map[string]struct{ checks, reviewer bool }{"": {true, true}, "checks": {true, false}, "none": {false, false}} {
		labels := map[string]string{"worktree.path": f.dir, "validation.scope": scope}
		answer, err := plugin.OnTaskCreate(t.Context(), &pluginsdk.OnTaskCreateRequest{
			Task: pluginsdk.Task{Plugin: "workflow", CwdPlugin: "worktree"}, Context: pluginsdk.TaskContext{Cwd: f.dir, Labels: labels},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !told.checks {
			if answer.Context != nil || len(answer.AllowTools)+len(answer.SetLabels) > 0 {
				t.Errorf("%q: %+v", scope, answer)
			}
			continue
		}
		if strings.Contains(*answer.Context, "reviewer") != told.reviewer || !strings.Contains(*answer.Context, "only when all of them pass") || answer.SetLabels["validation.checks"] == "" {
			t.Errorf("%q: %+v", scope, *answer.Context)
		}
	}
	// What is set for the repository holds in a worktree for another task's worktree.
	f.settings(object{"checks": list{object{"name": "test", "command": "make it", "repository": "/the/repository"}}})
	answer, err := f.serve().OnTaskCreate(t.Context(), &pluginsdk.OnTaskCreateRequest{
		Task: pluginsdk.Task{Plugin: "workflow", CwdPlugin: "worktree"}, Context: pluginsdk.TaskContext{Cwd: f.dir, Labels: map[string]string{
			"worktree.path": f.dir, "worktree.repository": "/the/repository/.claude/worktrees/W", "worktree.root": "/the/repository",
		}},
	})
	if err != nil || !slices.Equal(answer.AllowTools, []string{"Bash(make it)"}) {
		t.Errorf("%+v, %v", answer, err)
	}
}

// What was checked in a directory of the task's own is what is handed over.
func TestADirectoryThatIsOnlyChecked(t *testing.T) {
	f := scoped(start(t), "checks")
	f.nowhere()
	f.request.Task.OwnDirectory = true
	plugin := f.serve()
	said, err := f.review(plugin)
	if err != nil || said.Verdict != "" || len(kindsIn(said.Evidence, "tree")) != 1 {
		t.Fatalf("%+v, %v", said, err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "evil"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := f.handsOver(plugin, nil); said.Handover != pluginsdk.HandoverAgain {
		t.Errorf("handed over: %+v", said)
	}
}
