package workflow

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// never is a reviewer that is never content with a batch.
func never(scope string, _ int) string {
	if scope == "all" {
		return "APPROVE"
	}
	return "REVISE"
}

// changes is a worker that writes something else each time.
func (w *world) changes(j job) pluginsdk.InvokeResult {
	w.write(j.task.Cwd, "x.go", fmt.Sprintf("package x // %d\n", j.attempt))
	return pluginsdk.InvokeResult{Text: "Done."}
}

// An acceptance that was noted, and did not reach the tasks, is not made up for by another word.
func TestAnAcceptanceThatDidNotArriveIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.says, w.works = never, w.changes })
	id := w.starts("dir=" + w.dir + " stages=builder,reviewer")
	w.waits(id)
	_, err := w.now().plugin.flow(id).change(context.Background(), func(r *record) error { return r.accept("ann", new(string)) })
	if err != nil {
		t.Fatal(err)
	}
	w.must("/workflow continue " + id + " no, do it once more")
	w.until("another round", func() bool { return w.reviewed()["builder"] == 4 || over(w.task(id)) })
	if why := w.waits(id); !strings.Contains(why, "asked for changes 4 times") {
		t.Errorf("it waits: %s", why)
	}
}

// So it is when a person has gone on with the workflow's task otherwise after the plugin was started anew.
func TestAnAcceptanceOfALifeBeforeIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.says, w.works = never, w.changes })
	id := w.starts("dir=" + w.dir + " stages=builder,reviewer")
	w.waits(id)
	_, err := w.now().plugin.flow(id).change(context.Background(), func(r *record) error { return r.accept("ann", new(string)) })
	if err != nil {
		t.Fatal(err)
	}
	w.kill(w.now())
	w.begin()
	w.until("the acceptance to be forgotten", func() bool { rec := w.record(id); return !rec.waived() })
}

// A person who accepts work as it is accepts no other work.
func TestOtherWorkThanWasAcceptedWaitsAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		world  func(*world)
		stages string
	}{
		"of a batch": {func(w *world) { w.says, w.works = never, w.changes }, "builder,reviewer"},
		"all of it": {func(w *world) {
			w.says = func(scope string, _ int) string {
				if scope == "all" {
					return "REVISE of Task 2"
				}
				return "APPROVE"
			}
		}, "architect,builder,reviewer batch=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, row.world)
			id := w.starts("dir=" + w.dir + " stages=" + row.stages)
			w.waits(id)
			w.write(w.dir, "x.go", "package other\n")
			reviewed := w.reviewed()
			w.must("/workflow continue " + id + " accept=yes")
			if why := w.waits(id); !strings.Contains(why, "it has changed since") {
				t.Errorf("it waits: %s", why)
			}
			w.must("/workflow continue " + id + " accept=yes")
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
				t.Errorf("it is %s: %s", task.Status, task.Error)
			}
			if now := w.reviewed(); now["all"] > reviewed["all"]+1 || name == "all of it" && now["all"] != reviewed["all"] {
				t.Errorf("reviewed %v, and before %v", now, reviewed)
			}
		})
	}
}

// A person can accept work that the project's checks fail on.
func TestWorkThatFailsTheChecksIsAccepted(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stages string
		whole  bool
		waits  string
	}{
		"of a stage":                 {"builder,reviewer", false, "its checks have failed 3 times"},
		"all of it":                  {"architect,builder,reviewer", true, "the whole work was sent back 3 times"},
		"all of it, with no builder": {"scout", true, "the workflow has no builder that could mend it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.checks = func(task pluginsdk.Task) string {
				if (task.Labels[labelRoot] != "") == row.whole {
					return "make test: exit code 2"
				}
				return ""
			}
			if !row.whole {
				w.works = w.changes
			}
			id := w.starts("dir=" + w.dir + " stages=" + row.stages)
			if why := w.waits(id); !strings.Contains(why, row.waits) {
				t.Errorf("it waits: %s", why)
			}
			if row.whole {
				if _, err := w.types("/workflow continue " + id + " accept=yes cost=90"); err == nil || !strings.Contains(err.Error(), "leave cost out") {
					t.Errorf("with a cost: %v", err)
				}
			}
			w.must("/workflow continue " + id + " accept=yes")
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
				t.Errorf("it is %s: %s", task.Status, task.Error)
			}
			for _, s := range w.record(id).Stages {
				if s.Status != "completed" || s.Hold != nil {
					t.Errorf("%s is %s", s.Agent, s.Status)
				}
			}
		})
	}
}

// A workflow that has cost what it may waits for a person, whatever it was about to do.
func TestAWorkflowAtItsCostLimitWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.prices.review = 1 })
	w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
		w.host.Fail("Agent.Start", pluginsdk.Errorf(pluginsdk.CodeExhausted, "the task has cost what it may"))
		return nil
	}
	id := w.starts("dir=" + w.dir + " cost=0.5")
	if why := w.waits(id); !strings.Contains(why, "the workflow has cost $1.00 of the $0.50 that it may") {
		t.Errorf("it waits: %s", why)
	}
	if marks := w.task(id).Marks; len(marks) != 1 || marks[0] != "cost" {
		t.Errorf("its marks are %q", marks)
	}
}

// A person whose acceptance another plugin does not pass is told so, and can have the work taken all the same.
func TestAnAcceptanceThatTheChecksDoNotPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.works = func(j job) pluginsdk.InvokeResult {
		w.changes(j)
		return pluginsdk.InvokeResult{Text: "BLOCKED: which port?"}
	}
	w.checks = func(task pluginsdk.Task) string {
		if task.Labels[labelRoot] == "" {
			return "make test: exit code 2"
		}
		return ""
	}
	id := w.starts("dir=" + w.dir + " stages=builder,reviewer")
	w.waits(id)
	w.must("/workflow continue " + id + " accept=yes")
	if why := w.waits(id); !strings.Contains(why, "the plugin validation does not accept what ann has accepted as it is") {
		t.Errorf("it waits: %s", why)
	}
	w.must("/workflow continue " + id + " accept=yes")
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted || len(w.told()) != 1 {
		t.Errorf("it is %s, and was told %q", task.Status, w.told())
	}
}
