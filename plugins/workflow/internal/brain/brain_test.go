package brain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func open(t *testing.T, dir string) *brain.Brain {
	t.Helper()
	b, err := brain.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// names are the files of a directory, by name.
func names(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// at is a state that has something in every field.
func at(id string) stages.State {
	when := time.Date(2026, 11, 3, 4, 5, 6, 7, time.UTC)
	said := stages.Verdict{
		Decision: stages.Revise, Score: 4, Summary: "one is missing", Issues: []string{"a.go:3: \"handle\" it"}, PatternsCompliance: "mostly", Batch: "Tasks 1-3",
		Source: "output", Tree: "abc", RunID: "r", Checks: []string{"go test ./...: 0"}, By: "Ann", At: when, CostUSD: 0.5, Seconds: 2.5,
	}
	return stages.State{
		Version: stages.Version, ID: id, Request: "Build a \u2028 thing\n", Dir: "/d", Git: true, Why: "small", BatchSize: 3, Limits: stages.Limits{Rounds: 3, Redesigns: 1, Tries: 3},
		Redesigns: 1, Waits: "a person", StartedAt: when, EndedAt: when, Final: []stages.Verdict{said},
		Stages: []stages.Stage{
			{Agent: "architect", Status: stages.Completed, StartedAt: when, CompletedAt: when, SessionID: "s", Validation: &stages.Validation{Passed: true, Reason: "none", Tries: 2, At: when}},
			{Agent: "builder", Teams: true, BatchScope: plan.Scope{First: 1, Last: 3}, Status: stages.Reviewing, TaskID: "t", ThreadID: "th", RunID: "r", Attempt: 2, CostUSD: 0.25},
			{Agent: "reviewer", BatchScope: plan.Scope{First: 1, Last: 3}, Status: stages.Running, Verdicts: []stages.Verdict{said}},
			{Agent: "builder", BatchScope: plan.Scope{First: 4, Last: 4}, Status: stages.Pending},
			{Agent: "writer", Status: stages.Failed},
		},
	}
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if _, found, err := b.Load(); found || err != nil {
		t.Fatal(found, err)
	}
	for _, want := range []stages.State{at("w1"), at("w2"), {ID: "w3"}} {
		if err := b.Save(want); err != nil {
			t.Fatal(err)
		}
		want.Version = stages.Version
		for _, b := range []*brain.Brain{b, open(t, dir)} {
			if got, found, err := b.Load(); !found || err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("it is %t, %v\n%+v, want\n%+v", found, err, got, want)
			}
		}
	}
	if got := names(t, filepath.Join(dir, brain.Dir)); !slices.Equal(got, []string{".gitignore", brain.StateFile}) {
		t.Errorf("there are %q", got)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, brain.Dir, brain.StateFile))), &fields); err != nil || fields["version"] != float64(stages.Version) {
		t.Errorf("the file has the version %v: %v", fields["version"], err)
	}
}

// A state that was cut anywhere is never read as another one, and what is left of it is kept.
func TestAStateThatIsCutIsSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Save(at("w1")); err != nil {
		t.Fatal(err)
	}
	whole := read(t, filepath.Join(dir, brain.Dir, brain.StateFile))
	for length := range len(whole) + 1 {
		if got, err := brain.Parse([]byte(whole[:length])); (err == nil) != (length >= len(whole)-1) || err == nil && !reflect.DeepEqual(got, at("w1")) {
			t.Fatalf("%d bytes of %d are read: %v, %+v", length, len(whole), err, got)
		}
		if length%101 != 0 && length < len(whole)-3 {
			continue // the file is as it was cut elsewhere
		}
		dir := t.TempDir()
		b, file := open(t, dir), filepath.Join(dir, brain.Dir, brain.StateFile)
		write(t, file, whole[:length])
		got, found, err := b.Load()
		if err == nil {
			if !found || !reflect.DeepEqual(got, at("w1")) || length < len(whole)-1 {
				t.Fatalf("of %d bytes it is %t\n%+v", length, found, got)
			}
			continue
		}
		aside := keptAside(t, dir, err)
		if found || got.ID != "" || len(aside) != 1 || read(t, aside[0]) != whole[:length] {
			t.Fatalf("of %d bytes: %t, %v, kept in %q", length, found, err, aside)
		}
		if _, found, err := b.Load(); found || err != nil {
			t.Fatalf("after it was set aside: %t, %v", found, err)
		}
	}
}

// keptAside are the files of states that were set aside, which the error names.
func keptAside(t *testing.T, dir string, err error) (files []string) {
	t.Helper()
	if !errors.Is(err, brain.ErrSetAside) || !strings.Contains(fmt.Sprint(err), filepath.Join(dir, brain.Dir, brain.StateFile)) {
		t.Fatalf("the error is %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, brain.Dir, brain.StateFile)); !os.IsNotExist(err) {
		t.Fatalf("the state file is still there: %v", err)
	}
	named := false
	for _, name := range names(t, filepath.Join(dir, brain.Dir)) {
		if strings.HasPrefix(name, brain.StateFile+".bad-") {
			files = append(files, filepath.Join(dir, brain.Dir, name))
			named = named || strings.Contains(err.Error(), name)
		}
	}
	if !named {
		t.Errorf("%q are there, and the error is %v", files, err)
	}
	return files
}

func TestAStateThatCannotBeReadIsSetAside(t *testing.T) {
	good, _ := json.Marshal(at("w1"))
	with := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatal(old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, content := range map[string]string{
		"empty":             "",
		"zeros":             strings.Repeat("\x00", 4096),
		"zeros in it":       string(good[:200]) + strings.Repeat("\x00", 200) + string(good[400:]),
		"null":              "null",
		"a list":            "[]",
		"something follows": string(good) + "{}",
		"no version":        with(`"version":1,`, ""),
		"newer":             with(`"version":1`, `"version":2`),
		"newer, and other":  `{"version":2,"stages":"elsewhere"}`,
		"negative":          with(`"version":1`, `"version":-1`),
		"no id":             with(`"id":"w1"`, `"id":""`),
		"no agent":          with(`"agent":"builder"`, `"agent":""`),
		"a status":          with(`"pending"`, `"approved"`),
		"no status":         with(`"status":"pending"`, `"status":""`),
		"a verdict":         with(`"verdict":"REVISE"`, `"verdict":"ACCEPT"`),
		"a scope":           with(`"Task 4"`, `"Tasks 4-3"`),
		"another type":      with(`"batchSize":3`, `"batchSize":"3"`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, brain.Dir, brain.StateFile)
			write(t, file, content)
			if _, found, err := open(t, dir).Load(); found || err == nil {
				t.Fatalf("it is read: %v", err)
			} else if strings.Contains(name, "newer") && !strings.Contains(err.Error(), "its version is 2") {
				t.Errorf("it is newer, and the error is %v", err)
			} else if aside := keptAside(t, dir, err); len(aside) != 1 || read(t, aside[0]) != content {
				t.Errorf("it is kept in %q", aside)
			}
			// One that nobody has looked at is not written over either, and its name is not taken.
			write(t, file, content)
			b := open(t, dir)
			if aside := keptAside(t, dir, b.Save(at("w2"))); len(aside) != 2 || read(t, aside[1]) != content {
				t.Errorf("they are kept in %q", aside)
			}
			if err := b.Save(at("w2")); err != nil {
				t.Error(err)
			}
			if got, found, err := b.Load(); !found || err != nil || got.ID != "w2" {
				t.Errorf("the new one is %q: %v", got.ID, err)
			}
		})
	}
}

func TestAStateThatIsWrongIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if err := b.Save(at("w1")); err != nil {
		t.Fatal(err)
	}
	wrong := at("w1")
	wrong.Stages[0].Status = "approved"
	for _, state := range []stages.State{{}, wrong} {
		if err := b.Save(state); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal {
			t.Errorf("it is written: %v", err)
		}
	}
	if got, found, err := b.Load(); !found || err != nil || !reflect.DeepEqual(got, at("w1")) {
		t.Errorf("it is %t, %v, %+v", found, err, got)
	}
}

func TestTheProjectsHistoryHasNothingOfThePlugins(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	ignored := strings.Fields(read(t, filepath.Join(dir, brain.Dir, ".gitignore")))
	for _, name := range []string{".gitignore", "pipeline-state.json*", "workflow.lock", "REVIEW.md"} {
		if !slices.Contains(ignored, name) {
			t.Errorf("%s is not in %q", name, ignored)
		}
	}
	write(t, filepath.Join(dir, brain.Dir, ".gitignore"), "own")
	open(t, dir)
	if got := read(t, filepath.Join(dir, brain.Dir, ".gitignore")); got != "own" {
		t.Errorf("a project's own is %q now", got)
	}
}

func TestAReviewIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).WriteReview(strings.Repeat("é", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, brain.Dir, brain.ReviewFile)); len(got) > 257<<10 || !strings.HasSuffix(got, "é\n\n[the rest is cut off]\n") {
		t.Errorf("it has %d bytes", len(got))
	}
}
