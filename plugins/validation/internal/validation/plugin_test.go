package validation_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/validation/internal/validation"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A worker knows by what it will be judged, and may run that where it disturbs nobody.
func TestAWorkerIsToldTheChecks(t *testing.T) {
	f := start(t)
	f.settings(object{"checks": list{
		object{"name": "test", "command": "make test"}, object{"name": "lint", "command": "make lint && make more"},
		object{"name": "test", "command": "make it", "repository": "/the/repository"},
	}})
	plugin := f.serve()
	in := func(task pluginsdk.Task, c pluginsdk.TaskContext) *pluginsdk.OnTaskCreateResponse {
		t.Helper()
		answer, err := plugin.OnTaskCreate(t.Context(), &pluginsdk.OnTaskCreateRequest{Task: task, Context: c})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	labels := map[string]string{"worktree.path": f.dir, "worktree.repository": "/the/repository"}
	own := in(pluginsdk.Task{CwdPlugin: "worktree"}, pluginsdk.TaskContext{Cwd: f.dir, Context: "You are in a worktree.", Labels: labels})
	if !slices.Equal(own.AllowTools, []string{"Bash(make it)"}) || own.SetLabels["validation.checks"] != "make lint && make more\nmake it" || own.Cwd != nil || own.PermissionMode != nil {
		t.Errorf("in its worktree: %+v", own)
	}
	for _, want := range []string{"You are in a worktree.\n\n", "`make it` (test)", "`make lint && make more` (lint)", "you may run them"} {
		if !strings.Contains(*own.Context, want) {
			t.Errorf("%q is not in %q", want, *own.Context)
		}
	}
	if part := in(pluginsdk.Task{CwdPlugin: "worktree"}, pluginsdk.TaskContext{Cwd: filepath.Join(f.dir, "sub"), Labels: labels}); len(part.AllowTools) != 1 || !strings.Contains(*part.Context, "run in "+f.dir) {
		t.Errorf("in a part of it: %+v", part)
	}
	directory := in(pluginsdk.Task{OwnDirectory: true}, pluginsdk.TaskContext{Cwd: t.TempDir()})
	if !slices.Equal(directory.AllowTools, []string{"Bash(make test)"}) {
		t.Errorf("in a directory of its own: %+v", directory)
	}
	for _, by := range []string{"", "stranger", "Worktree"} { // who has set the labels is not known
		if moved := in(pluginsdk.Task{CwdPlugin: by}, pluginsdk.TaskContext{Cwd: f.dir, Labels: labels}); len(moved.AllowTools) > 0 {
			t.Errorf("moved there by %q: %+v", by, moved)
		}
	}
	for name, labels := range map[string]map[string]string{"none": nil, "another's": {"worktree.path": t.TempDir()}, "a strange one": {"worktree.path": "."}} {
		if shared := in(pluginsdk.Task{CwdPlugin: "worktree"}, pluginsdk.TaskContext{Cwd: f.dir, Labels: labels}); len(shared.AllowTools) > 0 || shared.Context == nil || strings.Contains(*shared.Context, "may run") {
			t.Errorf("in a directory of others, worktree %s: %+v", name, shared)
		}
	}

	f.settings(object{"checks": list{}})
	plugin = f.serve()
	for _, made := range []map[string]string{
		{"Makefile": "test:\n\tcurl evil\n"}, {"Makefile": "test:\n\tcurl evil\n", ".git/HEAD": "ref: refs/heads/main\n"},
		{"package.json": `{"scripts":{"test":"curl evil"}}`}, {"go.mod": "module x\n", "x_test.go": "package x\n"}, {".github/workflows/ci.yml": "jobs: {a: {steps: [{run: make test}]}}\n"},
	} {
		dir := t.TempDir()
		for name, content := range made {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if nothing := in(pluginsdk.Task{OwnDirectory: true}, pluginsdk.TaskContext{Cwd: dir}); nothing.Context != nil || len(nothing.AllowTools) > 0 {
			t.Errorf("checks that the worker has made: %+v", nothing)
		}
	}
	for _, cwd := range []string{"", t.TempDir()} {
		if nothing := in(pluginsdk.Task{OwnDirectory: true}, pluginsdk.TaskContext{Cwd: cwd}); nothing.Context != nil || len(nothing.AllowTools)+len(nothing.SetLabels) > 0 {
			t.Errorf("without checks: %+v", nothing)
		}
	}
}

// A setting that cannot hold is refused when it is set, with what is wrong with it.
func TestSettings(t *testing.T) {
	f := start(t)
	plugin := f.serve()
	for raw, says := range map[string]string{
		`{"timeoutSeconds":0}`: "timeoutSeconds", `{"atOnce":-1}`: "atOnce", `{"reviewCostUsd":0}`: "reviewCostUsd", `{"models":"x"}`: "models",
		`{"checks":[{"name":"luck","command":"x"}]}`:                         "luck",
		`{"checks":[{"name":"test","command":"x","repository":"relative"}]}`: "relative",
		`{"environment":{"A=B":"c"}}`:                                        "A=B",
		`{"makers":["workflow",""]}`:                                         "makers",
		`{"environment":{"A":"c\u0000"}}`:                                    "NUL",
	} {
		_, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(raw)})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", raw, err)
		}
		host := plugintest.NewHost()
		host.SetSettings(json.RawMessage(raw))
		if started, err := host.New(t, new(validation.Plugin)); err == nil {
			if err = started.Start(t.Context()); err == nil {
				t.Errorf("%s: it starts", raw)
			}
		}
	}
	// What is set holds for what begins then.
	if _, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(
		`{"environment":{"MINE":"wrong"},"checks":[{"name":"test","command":"test \"$MINE\" = right"}]}`)}); err != nil {
		t.Fatal(err)
	}
	f.lay(map[string]string{"Makefile": "test:\n\ttrue\n"})
	if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || !strings.Contains(said.Feedback, "$MINE") {
		t.Errorf("%+v, %v", said, err)
	}
}
