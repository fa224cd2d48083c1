package workflow

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// stops stops the only workflow, once, and as if the turn at work was not known yet.
func (w *world) stops() func() {
	return sync.OnceFunc(func() {
		w.now().plugin.flow(w.roots()[0].ID).atWork.Clear()
		if _, err := w.types("/workflow stop " + w.roots()[0].ID); err != nil {
			w.Error(err)
		}
	})
}

// A workflow that is stopped at its end is not merged.
func TestAStopAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(w *world, stop func()){
		"when it is handed in": func(w *world, stop func()) {
			w.plan = func(int) string { return tasksOf(1) } // whose review is the last one, too
			w.faults = func(step, _ string) {
				if step == "handIn" {
					stop()
				}
			}
		},
		"while the last review is begun": func(w *world, stop func()) {
			w.says = func(scope string, _ int) string {
				if scope == "all" {
					stop()
				}
				return "APPROVE"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, inGit)
			when(w, w.stops())
			id := w.starts("dir=" + w.dir + " batch=1 stages=architect,builder,reviewer")
			if why := w.waits(id); !strings.Contains(why, "stopped by ann") {
				t.Errorf("it waits: %s", why)
			}
			if slices.Contains(w.merged, "write the parts") {
				t.Error("it is merged")
			}
			w.must("/workflow continue " + id)
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted || w.reviewed()["all"] > 1 {
				t.Errorf("it is %s after %d last reviews", task.Status, w.reviewed()["all"])
			}
		})
	}
}

// A workflow that is stopped while its stages are chosen asks nothing else.
func TestAStopAtTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.stops()
	w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
		if r.Purpose == "workflow-router" {
			stop()
		}
		return nil
	}
	id := w.starts("dir=" + w.dir)
	if why := w.waits(id); !strings.Contains(why, "stopped by ann") {
		t.Errorf("it waits: %s", why)
	}
	w.mu.Lock()
	asked := len(w.asked)
	w.mu.Unlock()
	if asked != 1 {
		t.Errorf("%d turns were asked for", asked)
	}
	w.must("/workflow continue " + id)
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
}

// A review that is begun as the workflow is stopped is ended, and no other one is asked for.
func TestAStopWhileAReviewIsBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.works = w.changes })
	stop := w.stops()
	w.says = func(scope string, _ int) string {
		if scope == "builder" {
			stop()
		}
		return "APPROVE"
	}
	id := w.starts("dir=" + w.dir + " stages=builder,reviewer")
	if why := w.waits(id); !strings.Contains(why, "stopped by ann") {
		t.Errorf("it waits: %s", why)
	}
	if n := w.reviewed()["builder"]; n != 1 {
		t.Errorf("%d reviews were asked for", n)
	}
}

// A stop that comes after a person has had the workflow go on, and before it does, is not forgotten.
func TestAStopAfterAContinue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.works = func(j job) pluginsdk.InvokeResult {
		if len(w.told()) == 1 {
			return pluginsdk.InvokeResult{Text: "BLOCKED: which port?"}
		}
		return w.builds(j)
	}
	stop := w.stops()
	w.faults = func(step, _ string) {
		if step == "opened" && len(w.told()) > 0 {
			stop()
		}
	}
	id := w.starts("dir=" + w.dir + " stages=scout")
	w.waits(id)
	w.must("/workflow continue " + id)
	if why := w.waits(id); !strings.Contains(why, "stopped by ann") || len(w.told()) != 1 {
		t.Errorf("it waits: %s, after %q", why, w.told())
	}
	w.must("/workflow continue " + id)
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
}
