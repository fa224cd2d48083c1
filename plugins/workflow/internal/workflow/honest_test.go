package workflow

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plan without tasks takes no reviewer away: after a review that asks for another plan it is given
// back, and the last review is held.
func TestANewPlanWithoutTasksIsGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan = func(n int) string {
		if n == 1 || n == 5 {
			return tasksOf(3)
		}
		return "Just build it.\n"
	}
	w.says = func(scope string, round int) string {
		if scope == "Task 2" && round == 1 {
			return "REDESIGN"
		}
		return "APPROVE"
	}
	id := w.starts("dir=" + w.dir + " batch=1 stages=" + short7)
	if why := w.waits(id); !strings.Contains(why, "The new plan in .brain/PLAN.md has no task") {
		t.Errorf("it waits: %s", why)
	}
	w.must("/workflow continue " + id)
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	if reviewed := w.reviewed(); reviewed["Task 1"] != 1 || reviewed["Task 2"] != 2 || reviewed["Task 3"] != 1 || reviewed["all"] != 1 {
		t.Errorf("reviewed %v", reviewed)
	}
}

// A person who accepts a new plan without tasks keeps the stages, their tasks, and the reviews.
func TestANewPlanWithoutTasksThatAPersonAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan = func(n int) string {
		if n == 1 {
			return tasksOf(3)
		}
		return "Just build it.\n"
	}
	w.says = func(scope string, round int) string {
		if scope == "Task 2" && round == 1 {
			return "REDESIGN"
		}
		return "APPROVE"
	}
	id := w.starts("dir=" + w.dir + " batch=1 stages=" + short7)
	w.waits(id)
	w.must("/workflow continue " + id + " accept=yes")
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	if reviewed := w.reviewed(); reviewed["Task 2"] != 2 || reviewed["Task 3"] != 1 || reviewed["all"] != 1 {
		t.Errorf("reviewed %v", reviewed)
	}
	if rec := w.record(id); len(rec.Tasks) != 3 || len(rec.Stages) != 7 {
		t.Errorf("it has %d tasks and %d stages", len(rec.Tasks), len(rec.Stages))
	}
}

// The plan that is built is that of the last architect.
func TestTheLastArchitectsPlanIsBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.dir, ".brain/agents/security-architect.md", "---\nname: security-architect\ndescription: one of the project's\n---\nLook.\n")
	w.plan = func(n int) string { return tasksOf(n * 2) }
	id := w.starts("dir=" + w.dir + " batch=2 stages=architect,security-architect,builder,reviewer")
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	if told := w.told(); !slices.Equal(told, []string{"architect #1", "security-architect #1", "builder Tasks 1-2 #1", "builder Tasks 3-4 #1"}) {
		t.Errorf("told %q", told)
	}
	if told := w.toldOf("builder Tasks 3-4 #1"); !strings.Contains(told, "### Task 4: part 4") {
		t.Errorf("it was told %q", told)
	}
}

// What the stages begin with says whether all is reviewed.
func TestTheStagesThatItBeganWithSayWhetherAllIsReviewed(t *testing.T) {
	t.Parallel()
	var r record
	if r.begin([]stages.Stage{{Agent: "builder"}}); !r.Unreviewed {
		t.Error("it has no reviewer")
	}
	r.begin([]stages.Stage{{Agent: "builder"}, {Agent: "code-review"}})
	if r.Stages = r.Stages[:1]; r.Unreviewed {
		t.Error("it began with a reviewer")
	}
}
