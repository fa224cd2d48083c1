package stages_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

// list is made of agents; one that begins with + is completed, one with > is running.
func list(agents string) (made []stages.Stage) {
	for agent := range strings.FieldsSeq(agents) {
		s := stages.Stage{Agent: strings.TrimLeft(agent, "+>"), Status: stages.Pending}
		switch agent[0] {
		case '+':
			s.Status = stages.Completed
		case '>':
			s.Status = stages.Running
		}
		made = append(made, s)
	}
	return made
}

// shown is a list as one reads it: the agents, with what they are about.
func shown(list []stages.Stage) string {
	var words []string
	for _, s := range list {
		word := s.Agent
		switch s.Status {
		case stages.Completed:
			word = "+" + word
		case stages.Running:
			word = ">" + word
		}
		if scope := s.BatchScope.String(); scope != "" {
			word += "(" + strings.TrimPrefix(strings.TrimPrefix(scope, "Tasks "), "Task ") + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func headings(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "### Task %d: do %d\n\nwords\n\n", i+1, i+1)
	}
	return b.String()
}

func TestExpand(t *testing.T) {
	var hundred []string
	for first := 1; first <= 97; first += 3 {
		hundred = append(hundred, fmt.Sprintf("builder(%d-%d) reviewer(%d-%d)", first, first+2, first, first+2))
	}
	for name, row := range map[string]struct {
		list  string
		tasks int
		size  int
		want  string // empty: as it is
		why   string
	}{
		"0 headings":                      {"+architect builder reviewer", 0, 3, "", "no headings"},
		"1 heading":                       {"+architect builder reviewer", 1, 3, "+architect builder(1) reviewer(1)", ""},
		"3 headings":                      {"+architect builder reviewer", 3, 3, "+architect builder(1-3) reviewer(1-3)", ""},
		"4 headings":                      {"+architect builder reviewer", 4, 3, "+architect builder(1-3) reviewer(1-3) builder(4) reviewer(4)", ""},
		"7 headings":                      {"+architect builder reviewer", 7, 3, "+architect builder(1-3) reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", ""},
		"100 headings":                    {"+architect builder reviewer", 100, 3, "+architect " + strings.Join(hundred, " ") + " builder(100) reviewer(100)", ""},
		"batches of 1":                    {"builder reviewer", 2, 1, "builder(1) reviewer(1) builder(2) reviewer(2)", ""},
		"batches of 5":                    {"builder reviewer", 7, 5, "builder(1-5) reviewer(1-5) builder(6-7) reviewer(6-7)", ""},
		"batches of 0 are of 1":           {"builder reviewer", 1, 0, "builder(1) reviewer(1)", ""},
		"stages before":                   {"+scout +architect lint builder reviewer", 1, 3, "+scout +architect lint builder(1) reviewer(1)", ""},
		"stages after":                    {"+architect builder reviewer writer second-reviewer", 4, 3, "+architect builder(1-3) reviewer(1-3) builder(4) reviewer(4) writer second-reviewer", ""},
		"stages between":                  {"+architect builder writer reviewer tester", 4, 3, "+architect builder(1-3) reviewer(1-3) builder(4) reviewer(4) writer tester", ""},
		"names that contain the role":     {"+chief-architect go-builder-2 peer-review", 4, 3, "+chief-architect go-builder-2(1-3) peer-review(1-3) go-builder-2(4) peer-review(4)", ""},
		"capitals":                        {"Builder ReViewer", 1, 3, "Builder(1) ReViewer(1)", ""},
		"two builders":                    {"builder builder-2 reviewer", 1, 3, "builder(1) reviewer(1) builder-2", ""},
		"two pairs":                       {"builder reviewer fix-builder reviewer", 1, 3, "builder(1) reviewer(1) fix-builder reviewer", ""},
		"one that reviews builders":       {"builder-reviewer builder reviewer", 1, 3, "builder-reviewer builder(1) reviewer(1)", ""},
		"a builder that is done":          {"+builder +reviewer builder reviewer", 1, 3, "+builder +reviewer builder(1) reviewer(1)", ""},
		"a builder that runs":             {">builder reviewer", 1, 3, "", "builder"},
		"no builder":                      {"+architect reviewer", 3, 3, "", "builder"},
		"no reviewer":                     {"+architect builder", 3, 3, "", "review"},
		"a reviewer before the builder":   {"+architect reviewer builder", 3, 3, "", "review"},
		"the reviewer after is done":      {"builder +reviewer", 3, 3, "", "review"},
		"no stages":                       {"", 3, 3, "", "builder"},
		"neither builder nor reviewer":    {"scout architect", 3, 3, "", "builder"},
		"a builder of the CLI's spelling": {"rebuilder previewer", 1, 3, "rebuilder(1) previewer(1)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tasks, err := plan.Read(headings(row.tasks))
			if err != nil || len(tasks) != row.tasks {
				t.Fatal(len(tasks), err)
			}
			given := list(row.list)
			before := shown(given)
			got, why := stages.Expand(given, plan.Batches(len(tasks), row.size))
			want := row.want
			if want == "" {
				want = before
			}
			if shown(got) != want {
				t.Errorf("it is\n%s, want\n%s", shown(got), want)
			}
			if (why == "") != (row.want != "") || !strings.Contains(why, row.why) {
				t.Errorf("the reason is %q, want %q in it", why, row.why)
			}
			if shown(given) != before {
				t.Errorf("the list that was given is %s, and was %s", shown(given), before)
			}
			again, why := stages.Expand(got, plan.Batches(9, 2))
			if row.want != "" && (shown(again) != want || why == "") {
				t.Errorf("a second time it is %s: %q", shown(again), why)
			}
		})
	}
}

func TestAPairHasTheAgentsAndTheLeaveOfItsStages(t *testing.T) {
	given := list("go-builder reviewer")
	given[0].Teams, given[0].SessionID, given[0].TaskID = true, "s", "t"
	got, _ := stages.Expand(given, plan.Batches(2, 1))
	for n, s := range got {
		if s.Agent != given[n%2].Agent || s.Teams != (n%2 == 0) || s.BatchScope != (plan.Scope{First: n/2 + 1, Last: n/2 + 1}) || s.Status != stages.Pending || s.SessionID+s.TaskID != "" {
			t.Errorf("stage %d is %+v", n, s)
		}
	}
}

// pairs is an expanded list of 7 tasks, of which batches are approved by the first letters.
func planned(t *testing.T, agents, verdicts string) ([]stages.Stage, []plan.Task) {
	t.Helper()
	tasks, err := plan.Read(headings(7))
	if err != nil {
		t.Fatal(err)
	}
	made, _ := stages.Expand(list(agents), plan.Batches(7, 3))
	batch := 0
	for n := range made {
		if made[n].BatchScope.First == 0 {
			continue
		}
		if batch/2 < len(verdicts) {
			s := &made[n]
			s.Attempt, s.CostUSD, s.TaskID, s.SessionID = 1, 0.25, fmt.Sprint("t", n), fmt.Sprint("s", n)
			said := map[byte]stages.Decision{'A': stages.Approve, 'V': stages.Revise, 'D': stages.Redesign}[verdicts[batch/2]]
			s.Status = stages.Completed
			if said != stages.Approve {
				s.Status = stages.Running
			}
			if s.Role() == stages.Reviewer {
				s.Verdicts = []stages.Verdict{{Decision: said, Summary: fmt.Sprint(n)}}
			}
		}
		batch++
	}
	return made, tasks
}

func TestReplan(t *testing.T) {
	change := func(text string, numbers ...int) func([]plan.Task) []plan.Task {
		return func(tasks []plan.Task) []plan.Task {
			for _, n := range numbers {
				tasks[n-1].Body = text
			}
			return tasks
		}
	}
	more := func(to int) func([]plan.Task) []plan.Task {
		return func(tasks []plan.Task) []plan.Task {
			all, _ := plan.Read(headings(to))
			return append(tasks[:min(len(tasks), to)], all[min(len(tasks), to):]...)
		}
	}
	for name, row := range map[string]struct {
		agents, verdicts string
		change           func([]plan.Task) []plan.Task
		size             int
		want             string
		kept             int     // stages that keep their task
		cost             float64 // of all
	}{
		"nothing was approved": {"+architect builder reviewer", "D", change("x", 1), 3,
			"+architect builder(1-3) reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", 0, 0.5},
		"the approved one is as it was": {"+architect builder reviewer", "AD", change("x", 4), 3,
			"+architect +builder(1-3) +reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", 2, 1},
		"a task of the approved one has another text": {"+architect builder reviewer", "AD", change("x", 3), 3,
			"+architect builder(1-3) reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", 0, 1},
		"a task has another title": {"+architect builder reviewer", "AD", func(tasks []plan.Task) []plan.Task { tasks[0].Title = "other"; return tasks }, 3,
			"+architect builder(1-3) reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", 0, 1},
		"other ends of lines": {"+architect builder reviewer", "AD", change("words \r\n", 1, 2), 3,
			"+architect +builder(1-3) +reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)", 2, 1},
		"fewer tasks": {"+architect builder reviewer", "AAD", more(3), 3,
			"+architect +builder(1-3) +reviewer(1-3)", 2, 0.5},
		"the approved one has lost a task": {"+architect builder reviewer", "AD", more(2), 3,
			"+architect builder(1-2) reviewer(1-2)", 0, 1},
		"more tasks": {"+architect builder reviewer", "AD", more(8), 3,
			"+architect +builder(1-3) +reviewer(1-3) builder(4-6) reviewer(4-6) builder(7-8) reviewer(7-8)", 2, 1},
		"more tasks after a last one that is approved": {"+architect builder reviewer", "AAA", more(9), 3,
			"+architect +builder(1-3) +reviewer(1-3) +builder(4-6) +reviewer(4-6) +builder(7) +reviewer(7) builder(8-9) reviewer(8-9)", 6, 1.5},
		"batches of another size": {"+architect builder reviewer", "AD", change("x", 5), 2,
			"+architect +builder(1-3) +reviewer(1-3) builder(4) reviewer(4) builder(5-6) reviewer(5-6) builder(7) reviewer(7)", 2, 1},
		"approved out of order": {"+architect builder reviewer", "DA", change("x", 1), 4,
			"+architect builder(1-3) reviewer(1-3) +builder(4-6) +reviewer(4-6) builder(7) reviewer(7)", 2, 1},
		"stages between and after": {"+architect builder writer reviewer tester", "AD", more(4), 3,
			"+architect +builder(1-3) +reviewer(1-3) builder(4) reviewer(4) writer tester", 2, 1},
		"not divided before": {"+architect builder", "", more(4), 3, "+architect builder", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			given, old := planned(t, row.agents, row.verdicts)
			before := shown(given)
			changed := row.change(slices.Clone(old))
			got := stages.Replan(given, old, changed, plan.Batches(len(changed), row.size))
			if shown(got) != row.want {
				t.Errorf("it is\n%s, want\n%s", shown(got), row.want)
			}
			kept, cost := 0, 0.0
			for _, s := range got {
				cost += s.CostUSD
				if s.TaskID != "" {
					kept++
				}
				if (s.TaskID != "") != (s.Status == stages.Completed && s.BatchScope.First > 0) {
					t.Errorf("%s of %s has the task %q", s.Agent, s.BatchScope, s.TaskID)
				}
			}
			if kept != row.kept || cost != row.cost {
				t.Errorf("%d stages keep their task, want %d; all have cost %.2f, want %.2f", kept, row.kept, cost, row.cost)
			}
			if shown(given) != before {
				t.Errorf("the list that was given is %s", shown(given))
			}
		})
	}
}

// What was said of a batch, and how often it was tried, stays with its tasks.
func TestReplanKeepsWhatWasSaid(t *testing.T) {
	given, old := planned(t, "+architect builder reviewer", "AVD")
	changed := slices.Clone(old)
	changed[4].Body = "x"
	got := stages.Replan(given, old, changed, plan.Batches(7, 2))
	var said []string
	for _, s := range got {
		for _, v := range s.Verdicts {
			said = append(said, fmt.Sprintf("%s %s", s.BatchScope, v.Decision))
		}
		if s.BatchScope.Has(4) && (s.Attempt != 1 || s.SessionID != "") {
			t.Errorf("the batch of task 4 is %+v", s)
		}
	}
	if want := "Tasks 1-3 APPROVE, Task 4 REVISE, Task 7 REDESIGN"; strings.Join(said, ", ") != want {
		t.Errorf("what was said is %s, want %s", strings.Join(said, ", "), want)
	}
}

// A reviewer that approves, but whose stage did not complete, has not approved.
func TestReplanBuildsWhatWasNotCompleted(t *testing.T) {
	given, old := planned(t, "builder reviewer", "AAA")
	given[1].Status = stages.Running
	given[2].Status = stages.Failed
	given[5].Verdicts = append(given[5].Verdicts, stages.Verdict{Decision: stages.Revise})
	if got := shown(stages.Replan(given, old, old, plan.Batches(7, 3))); got != "builder(1-3) reviewer(1-3) builder(4-6) reviewer(4-6) builder(7) reviewer(7)" {
		t.Errorf("it is %s", got)
	}
}

func TestRounds(t *testing.T) {
	for said, want := range map[string]int{"": 0, "A": 0, "V": 1, "VV": 2, "VDV": 1, "VVD": 0, "AVV": 2} {
		var verdicts []stages.Verdict
		for _, one := range said {
			verdicts = append(verdicts, stages.Verdict{Decision: map[rune]stages.Decision{'A': stages.Approve, 'V': stages.Revise, 'D': stages.Redesign}[one]})
		}
		if got := stages.Rounds(verdicts); got != want {
			t.Errorf("%q are %d rounds, want %d", said, got, want)
		}
	}
}

func TestRoleOf(t *testing.T) {
	for agent, want := range map[string]stages.Role{
		"scout": stages.Scout, "web-scout": stages.Scout, "architect": stages.Architect, "chief-architect-2": stages.Architect, "builder": stages.Builder, "Go-Builder": stages.Builder,
		"reviewer": stages.Reviewer, "peer-review": stages.Reviewer, "architecture-reviewer": stages.Reviewer, "builder-reviewer": stages.Reviewer, "writer": stages.Other, "": stages.Other, "build": stages.Other,
	} {
		if got := stages.RoleOf(agent); got != want {
			t.Errorf("%q is %s, want %s", agent, got, want)
		}
	}
}
