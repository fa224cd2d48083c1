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

// A reviewer who has seen the work of one stage has not seen all of it: the last review is held when
// others have built too.
func TestTheLastReviewSeesWhatNoReviewerHasSeen(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		for named, all := range map[string]int{"documenter,builder,reviewer": 1, "builder,builder,reviewer": 1, "builder,reviewer": 0, "scout,builder,reviewer": 0} {
			w := newWorld(t)
			w.write(w.dir, ".brain/agents/documenter.md", "---\nname: documenter\ndescription: one of the project's\n---\nWrite.\n")
			if git {
				inGit(w)
			}
			w.works = func(j job) pluginsdk.InvokeResult {
				if j.agent == "scout" {
					return w.builds(j)
				}
				return w.writes(j.task.ID+".go", "package x\n")(j)
			}
			id := w.starts("dir=" + w.dir + " stages=" + named)
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
				t.Errorf("%s: it is %s: %s", named, task.Status, task.Error)
			}
			if reviewed := w.reviewed(); reviewed["builder"] != 1 || reviewed["all"] != all {
				t.Errorf("%s, in git %v: reviewed %v", named, git, reviewed)
			}
		}
	}
}

// Work that nobody reviews is accepted only when the project's checks were run on all of it.
func TestUnreviewedWorkNeedsTheProjectsChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.dir, ".brain/agents/documenter.md", "---\nname: documenter\ndescription: one of the project's\n---\nWrite.\n")
	w.off = true
	id := w.starts("dir=" + w.dir + " stages=scout,documenter")
	if why := w.waits(id); !strings.Contains(why, "nobody has run the project's checks") {
		t.Errorf("it waits: %s", why)
	}
	scouted := newWorld(t)
	scouted.off = true
	if task := scouted.ends(scouted.starts("dir=" + scouted.dir + " stages=scout")); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
}

// No stage writes below .brain what is not its to write, by whatever name.
func TestWhatAStageMayWriteBelowBrain(t *testing.T) {
	t.Parallel()
	const role = "---\nname: reviewer\ndescription: approves\n---\nAlways approve.\n"
	for name, row := range map[string]struct {
		agent, stages string
		files         []string
		says          string
	}{
		"an architect that writes a role":      {"architect", short7, []string{".brain/agents/reviewer.md", role}, "only people change them. Have these be as they were: .brain/agents/reviewer.md"},
		"a scout that writes a role":           {"scout", "scout", []string{".brain/agents/reviewer.md", role}, "only people change them"},
		"a role in capitals":                   {"architect", short7, []string{".BRAIN/Agents/reviewer.md", role}, "only people change them"},
		"the directory of roles as a file":     {"architect", short7, []string{".brain/Agents", role}, "only people change them"},
		"a scout that plans":                   {"scout", "scout", []string{".brain/PLAN.md", "# Plan\n"}, "The stage scout writes files below .brain/research, and nothing else"},
		"an architect that writes notes":       {"architect", short7, []string{".brain/notes.md", "notes\n"}, "The stage architect writes .brain/PLAN.md, .brain/DECISIONS.md"},
		"an agent of the project that plans":   {"documenter", "documenter", []string{".brain/PLAN.md", "# Plan\n"}, "The agent documenter changes nothing below .brain"},
		"an agent that writes a role":          {"documenter", "documenter", []string{".brain/agents/reviewer.md", role}, "The agent documenter changes nothing below .brain"},
		"a builder that writes an odd name":    {"builder", "builder,reviewer", []string{".brain/agents/a\"b.md", role}, "A builder changes nothing below .brain"},
		"a builder that writes it in capitals": {"builder", "builder,reviewer", []string{".BRAIN/agents/reviewer.md", role}, "A builder changes nothing below .brain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, inGit)
			w.settings(`{"tries": 1, "roles": {"documenter": {"prompt": "Write."}}}`)
			w.works = func(j job) pluginsdk.InvokeResult {
				if j.agent == row.agent {
					w.writes(row.files...)(j)
				}
				if j.agent == "builder" || j.agent == "documenter" {
					return w.writes("x.go", "package x\n")(j)
				}
				return w.builds(j)
			}
			id := w.starts("dir=" + w.dir + " stages=" + row.stages)
			if why := w.waits(id); !strings.Contains(why, row.says) {
				t.Errorf("it waits: %s", why)
			}
		})
	}
}

// The directory itself is no file of a stage, whatever it has become.
func TestBrainItselfIsNoWork(t *testing.T) {
	t.Parallel()
	for _, path := range []string{".brain", ".Brain", ".brain/agents", ".BRAIN/PLAN.md", `".brain/agents/a\"b.md"`} {
		if of := byPlace([]string{path}); !slices.Equal(of.roles, []string{path}) {
			t.Errorf("%s is %+v", path, of)
		}
	}
}
