package workflow

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// does has a job done by the first of the functions whose key it has, "agent #iteration" or "agent batch
// #iteration", and else by an honest worker.
func (w *world) does(jobs map[string]func(job) pluginsdk.InvokeResult) func(job) pluginsdk.InvokeResult {
	return func(j job) pluginsdk.InvokeResult {
		for _, key := range []string{fmt.Sprintf("%s %s #%d", j.agent, j.batch, j.attempt), fmt.Sprintf("%s #%d", j.agent, j.attempt), j.agent} {
			if do := jobs[key]; do != nil {
				return do(j)
			}
		}
		return w.builds(j)
	}
}

func nothing(job) pluginsdk.InvokeResult { return pluginsdk.InvokeResult{Text: "Done."} }

// writes is a worker that writes files, named and with their content, and no others.
func (w *world) writes(files ...string) func(job) pluginsdk.InvokeResult {
	return func(j job) pluginsdk.InvokeResult {
		for n := 0; n+1 < len(files); n += 2 {
			w.write(j.task.Cwd, files[n], files[n+1])
		}
		return pluginsdk.InvokeResult{Text: "Done."}
	}
}

func says(text string) func(job) pluginsdk.InvokeResult {
	return func(job) pluginsdk.InvokeResult { return pluginsdk.InvokeResult{Text: text} }
}

func fails(failure pluginsdk.Failure) func(job) pluginsdk.InvokeResult {
	return func(job) pluginsdk.InvokeResult { return pluginsdk.InvokeResult{Failure: &failure} }
}

// toldOf is what an iteration was told, as "agent batch #iteration", the last one of them.
func (w *world) toldOf(what string) (content string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		if strings.Join(strings.Fields(fmt.Sprintf("%s %s #%d", j.agent, j.batch, j.attempt)), " ") == what {
			content = j.content
		}
	}
	return content
}

func (w *world) settings(object string) {
	w.host.SetSettings([]byte(object))
	for _, l := range w.lives {
		if err := l.plugin.configure([]byte(object)); err != nil {
			w.Fatal(err)
		}
	}
}

// turn of a workflow's life: what a person types, and what it waits for then; empty: it ends.
type event struct{ types, waits string }

const short7 = "architect,builder,reviewer"

// A workflow keeps to its rules, each of which is a row.
func TestTheRulesOfAWorkflow(t *testing.T) {
	t.Parallel()
	always := func(decision string) func(string, int) string {
		return func(scope string, _ int) string {
			if scope == "all" {
				return "APPROVE"
			}
			return decision
		}
	}
	on := func(scope string, rounds ...string) func(string, int) string {
		return func(of string, round int) string {
			if of == scope && round <= len(rounds) {
				return rounds[round-1]
			}
			return "APPROVE"
		}
	}
	for name, row := range map[string]struct {
		world    func(*world)
		stages   string
		options  string
		settings string
		life     []event // the first is without a command
		told     []string
		reviewed map[string]int
		told1    map[string]string // what stands in what iterations were told
		said     string            // stands in the workflow's thread
		check    func(*world, string)
	}{
		"the stages are chosen": {
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1"}, options: "batch=1",
			reviewed: map[string]int{"Task 1": 1, "Task 2": 1, "all": 1}, said: "Stages: architect, builder, reviewer. It has parts.",
		},
		"a scout that leaves nothing": {
			world:  func(w *world) { w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout #1": nothing}) },
			stages: "scout", life: []event{{}}, told: []string{"scout #1", "scout #2"}, told1: map[string]string{"scout #2": "There are no new files in .brain/research"},
		},
		"a scout that never leaves anything": {
			world:  func(w *world) { w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout": nothing}) },
			stages: "scout", life: []event{{waits: "scout: its checks have failed 3 times"}, {"continue", "its checks have failed 4 times"}, {"continue tries=2 look in the attic", "its checks have failed 6 times"}},
			told: []string{"scout #1", "scout #2", "scout #3", "scout #4", "scout #5", "scout #6"}, told1: map[string]string{"scout #4": "There are no new files", "scout #5": "look in the attic"},
		},
		"a scout that builds": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout #1": w.writes("x.go", "package x\n", ".brain/research/a.md", "a\n"), "scout #2": func(j job) pluginsdk.InvokeResult {
					_ = os.Remove(filepath.Join(j.task.Cwd, "x.go"))
					return w.builds(j)
				}})
			},
			stages: "scout", life: []event{{}}, told: []string{"scout #1", "scout #2"}, told1: map[string]string{"scout #2": "The stage scout writes below .brain only. Have these be as they were: x.go."},
		},
		"an architect without a plan": {
			world: func(w *world) { w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"architect #1": nothing}) }, stages: short7,
			life: []event{{}}, told: []string{"architect #1", "architect #2", "builder Tasks 1-2 #1"}, told1: map[string]string{"architect #2": "There is no plan."},
		},
		"a plan whose numbers have a gap": {
			world: func(w *world) {
				w.plan = func(n int) string {
					if n == 1 {
						return strings.ReplaceAll(tasksOf(3), "### Task 2", "### Task 4")
					}
					return tasksOf(3)
				}
			}, stages: short7,
			life: []event{{}}, told: []string{"architect #1", "architect #2", "builder Tasks 1-3 #1"}, told1: map[string]string{"architect #2": "must be numbered 1 to 3 in order"},
		},
		"a plan that is too long": {
			world: func(w *world) {
				w.plan = func(n int) string {
					if n == 1 {
						return tasksOf(3) + strings.Repeat("words ", 30_000)
					}
					return tasksOf(3)
				}
			}, stages: short7,
			life: []event{{}}, told: []string{"architect #1", "architect #2", "builder Tasks 1-3 #1"}, told1: map[string]string{"architect #2": ".brain/PLAN.md has more than 131072 bytes"},
		},
		"a plan without headings": {
			world: func(w *world) {
				w.plan = func(int) string { return "Just build it.\n" }
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder": w.writes("x.go", "package x\n")})
			}, stages: short7,
			life: []event{{}}, told: []string{"architect #1", "architect #2", "builder #1"}, said: "The stages stay as they are", reviewed: map[string]int{"builder": 1}, // which has looked at all of it
		},
		"no builder": {
			stages: "architect,reviewer", life: []event{{}}, told: []string{"architect #1"}, said: `none of those that are still to be run has an agent whose name contains "builder"`, reviewed: map[string]int{"all": 1}, // by the stage that is left
		},
		"no reviewer": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder": w.writes("x.go", "package x\n")})
			},
			stages: "architect,builder", life: []event{{}}, told: []string{"architect #1", "builder #1"}, said: `no stage after the builder has an agent whose name contains "review"`, reviewed: map[string]int{},
		},
		"stages after the reviewer, and roles of the project": {
			world: func(w *world) {
				for _, role := range []string{"documenter", "lead-architect", "senior-builder", "code-review"} {
					w.write(w.dir, ".brain/agents/"+role+".md", "---\nname: "+role+"\ndescription: one of the project's\n---\nYou are the "+role+".\n")
				}
			},
			stages: "lead-architect,senior-builder,code-review,documenter", life: []event{{}}, told: []string{"lead-architect #1", "senior-builder Tasks 1-2 #1", "documenter #1"},
			told1:    map[string]string{"documenter #1": "You are the documenter.", "senior-builder Tasks 1-2 #1": "You are the senior-builder."},
			reviewed: map[string]int{"Tasks 1-2": 1, "all": 1},
		},
		"several reviewers": {
			world: func(w *world) {
				w.write(w.dir, ".brain/agents/second-review.md", "---\nname: second-review\ndescription: looks again\n---\nLook.\n")
			},
			stages: short7 + ",second-review", options: "batch=1", life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1"}, reviewed: map[string]int{"Task 1": 1, "Task 2": 1, "all": 2},
		},
		"a builder that builds nothing": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder #1": nothing, "builder #2": w.writes("x.go", "package x\n")})
			},
			stages: "builder,reviewer", life: []event{{}}, told: []string{"builder #1", "builder #2"}, told1: map[string]string{"builder #2": "No file has changed."},
		},
		"a builder that changes the plan": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder #1": w.writes("x.go", "package x\n", ".brain/PLAN.md", "none\n"), "builder #2": func(j job) pluginsdk.InvokeResult {
					_ = os.Remove(filepath.Join(j.task.Cwd, ".brain/PLAN.md"))
					return nothing(j)
				}})
			},
			stages: "builder,reviewer", life: []event{{}}, told: []string{"builder #1", "builder #2"}, told1: map[string]string{"builder #2": "A builder changes nothing below .brain"},
		},
		"a builder that writes its review": {
			world: func(w *world) {
				inGit(w)
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder #1": w.writes("x.go", "package x\n", ".brain/REVIEW.md", "Verdict: APPROVE\n"), "builder #2": func(j job) pluginsdk.InvokeResult {
					_ = os.Remove(filepath.Join(j.task.Cwd, ".brain/REVIEW.md"))
					return nothing(j)
				}})
			},
			stages: "builder,reviewer", life: []event{{}}, told: []string{"builder #1", "builder #2"}, told1: map[string]string{"builder #2": "These files are the workflow's own"},
		},
		"the project's checks fail": {
			world: func(w *world) {
				w.checks = func(task pluginsdk.Task) string {
					if task.Labels[labelBatch] == "Task 1" && task.CurrentIteration < 4 {
						return "make test: exit code 2"
					}
					return ""
				}
			}, stages: short7, options: "batch=1",
			life: []event{{waits: "builder, Task 1: its checks have failed 3 times: make test: exit code 2"}, {"continue the port is 80", ""}},
			told: []string{"architect #1", "builder Task 1 #1", "builder Task 1 #2", "builder Task 1 #3", "builder Task 1 #4", "builder Task 2 #1"}, told1: map[string]string{"builder Task 1 #2": "make test: exit code 2", "builder Task 1 #4": "the port is 80"},
		},
		"the project's checks fail on the whole": {
			world: func(w *world) {
				w.checks = func(task pluginsdk.Task) string {
					if task.Labels[labelRoot] != "" && task.CurrentIteration == 1 {
						return "make test: exit code 2"
					}
					return ""
				}
			}, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "builder Task 2 #1"}, told1: map[string]string{"builder Task 2 #1": "make test: exit code 2"}, reviewed: map[string]int{"Task 1": 1, "Task 2": 2, "all": 1},
		},
		"the project's checks always fail on the whole": {
			world: func(w *world) {
				w.checks = func(task pluginsdk.Task) string {
					if task.Labels[labelRoot] != "" {
						return "make test: exit code 2"
					}
					return ""
				}
			}, stages: short7,
			life: []event{{waits: "the whole work was sent back 3 times"}}, told: []string{"architect #1", "builder Tasks 1-2 #1", "builder Tasks 1-2 #1", "builder Tasks 1-2 #1"},
		},
		"a reviewer that is never content": {
			world: func(w *world) { w.says = always("REVISE") }, stages: short7,
			life:  []event{{waits: "its reviewer has asked for changes 3 times"}, {"continue", "its reviewer has asked for changes 4 times"}, {"continue rounds=2 use the library", "its reviewer has asked for changes 6 times"}, {"continue accept=yes", ""}},
			told:  []string{"architect #1", "builder Tasks 1-2 #1", "builder Tasks 1-2 #2", "builder Tasks 1-2 #3", "builder Tasks 1-2 #4", "builder Tasks 1-2 #5", "builder Tasks 1-2 #6"},
			told1: map[string]string{"builder Tasks 1-2 #2": "part1.txt:1: say more", "builder Tasks 1-2 #5": "use the library"}, reviewed: map[string]int{"Tasks 1-2": 6, "all": 1},
			check: func(w *world, id string) {
				said := w.record(id).Stages[2].Verdicts
				if last := said[len(said)-1]; len(said) != 7 || last.By != "ann" || last.Decision != stages.Approve {
					w.Errorf("the last of %d verdicts is %+v", len(said), last)
				}
			},
		},
		"a reviewer that wants another plan": {
			world: func(w *world) { w.says = on("Task 2", "REDESIGN") }, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "architect #1", "builder Task 2 #1"}, told1: map[string]string{"architect #1": "A review asks for another plan."},
			reviewed: map[string]int{"Task 1": 1, "Task 2": 2, "all": 1}, said: "The new plan has 2 tasks in 2 batches.",
		},
		"another plan for what was approved": {
			world: func(w *world) {
				w.says = on("Task 2", "REDESIGN")
				w.plan = func(n int) string {
					return strings.ReplaceAll(tasksOf(2), "part 1", fmt.Sprintf("part 1 of plan %d", n))
				}
			}, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "architect #1", "builder Task 1 #1", "builder Task 2 #1"},
		},
		"a reviewer that always wants another plan": {
			world: func(w *world) { w.says = always("REDESIGN") }, stages: short7,
			life: []event{{waits: "its reviewer asks for another plan, and the workflow may not go back to the architect (1 of 1)"}, {"continue redesigns=1", "(2 of 2)"}, {"continue accept=yes", ""}},
		},
		"a reviewer that wants a plan where nobody plans": {
			world: func(w *world) {
				w.says = on("builder", "REDESIGN")
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder": func(j job) pluginsdk.InvokeResult {
					w.write(j.task.Cwd, "x.go", fmt.Sprint(j.attempt))
					return nothing(j)
				}})
			},
			stages: "builder,reviewer", life: []event{{waits: "may not go back to the architect"}, {"continue", ""}}, told: []string{"builder #1", "builder #2"},
		},
		"the last review asks for changes of a batch": {
			world: func(w *world) { w.says = on("all", "REVISE of Task 1") }, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "builder Task 1 #1"}, reviewed: map[string]int{"Task 1": 2, "Task 2": 1, "all": 2},
			told1: map[string]string{"builder Task 1 #1": "The last review of the whole work asks for changes"},
		},
		"the last review names no batch that there is": {
			world: func(w *world) { w.says = on("all", "REVISE of Task 9") }, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "builder Task 2 #1"},
		},
		"the last review is never content": {
			world: func(w *world) {
				w.says = func(scope string, _ int) string {
					if scope == "all" {
						return "REVISE of Task 2"
					}
					return "APPROVE"
				}
			}, stages: short7, options: "batch=1",
			life: []event{{waits: "the last review has asked for changes 3 times"}, {"continue accept=yes", ""}}, reviewed: map[string]int{"Task 1": 1, "Task 2": 3, "all": 3},
		},
		"the last review wants another plan": {
			world: func(w *world) { w.says = on("all", "REDESIGN") }, stages: short7, options: "batch=1",
			life: []event{{}}, told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1", "architect #1"}, reviewed: map[string]int{"Task 1": 1, "Task 2": 1, "all": 2},
			told1: map[string]string{"architect #1": "The last review asks for another plan."},
		},
		"nobody runs the project's checks": {
			world: func(w *world) { w.off = true }, stages: short7,
			life: []event{{waits: "the plugin validation is off, or comes after the plugin workflow"}},
		},
		"the plugin worktree is off": {
			world: func(w *world) {
				w.call(w.dir, "init", "-q")
				w.call(w.dir, "commit", "-q", "--allow-empty", "-m", "first")
			}, stages: short7,
			life: []event{{waits: "the plugin worktree, which gives a workflow a branch of its own there, is off"}}, told: nil,
		},
		"its worker cannot go on": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder Tasks 1-2 #1": says("I looked.\n\nBLOCKED: which port?")})
			}, stages: short7,
			life: []event{{waits: "builder, Tasks 1-2: which port?"}, {"continue port 80", ""}}, told: []string{"architect #1", "builder Tasks 1-2 #1", "builder Tasks 1-2 #2"}, told1: map[string]string{"builder Tasks 1-2 #2": "A person says:\nport 80"},
		},
		"turns that fail": {
			world: func(w *world) {
				no := fails(pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"})
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout #1": no, "scout #2": no, "scout #3": no, "scout #4": no})
			}, stages: "scout", life: []event{{}}, told: []string{"scout #1", "scout #2", "scout #3", "scout #4", "scout #5"}, told1: map[string]string{"scout #2": "The last turn failed (no luck)"},
		},
		"turns that always fail": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout": fails(pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"})})
			},
			stages: "scout", life: []event{{waits: "scout: its turn failed: no luck"}, {"continue", "its turn failed: no luck"}}, told: slices.Collect(func(yield func(string) bool) {
				for n := 1; n <= 10 && yield(fmt.Sprintf("scout #%d", n)); n++ {
				}
			}),
		},
		"a turn that fails for good": {
			world: func(w *world) {
				w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout #1": fails(pluginsdk.Failure{Kind: pluginsdk.FailureMissing, Message: "no such model"})})
			},
			stages: "scout", life: []event{{waits: "no such model"}, {"continue", ""}}, told: []string{"scout #1", "scout #2"},
		},
		"its cost": {
			world: func(w *world) { w.prices.work = 1 }, stages: short7, options: "batch=1 cost=1.5",
			life: []event{{waits: "the workflow has cost $2.0"}, {"continue cost=10", ""}},
			told: []string{"architect #1", "builder Task 1 #1", "builder Task 2 #1"}, reviewed: map[string]int{"Task 1": 1, "Task 2": 1, "all": 1},
		},
		"reviewing costs more than building": {
			world: func(w *world) { w.prices.review = 1; w.plan = func(int) string { return tasksOf(3) } }, stages: short7, options: "batch=1",
			life: []event{{}}, reviewed: map[string]int{"Task 1": 1, "Task 2": 1, "all": 1}, said: "Reviewing has cost $2.00, which is more than 100 % of the $1.30 of building.",
			check: func(w *world, id string) {
				if said := w.record(id).Stages[6].Verdicts; len(said) != 1 || said[0].By != "checks" {
					w.Errorf("%+v", said)
				}
			},
		},
		"a role that is not used": {
			world:  func(w *world) { w.write(w.dir, ".brain/agents/x.md", "no front matter\n") },
			stages: "scout", life: []event{{}}, said: ".brain/agents/x.md is not used",
		},
		"roles that are too long": {
			world: func(w *world) {
				for n := range 5 {
					w.write(w.dir, fmt.Sprintf(".brain/agents/role%d.md", n), fmt.Sprintf("---\nname: role%d\ndescription: long\n---\n%s", n, strings.Repeat("words ", 8_000)))
				}
			}, stages: "scout", life: []event{{}}, said: "The files in .brain/agents are not used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if row.settings != "" {
				w.settings(row.settings)
			}
			if row.world != nil {
				row.world(w)
			}
			options := "dir=" + w.dir + " " + row.options
			if row.stages != "" {
				options += " stages=" + row.stages
			}
			id := w.starts(options)
			for n, event := range row.life {
				if n > 0 {
					w.must(strings.Replace("/workflow "+event.types, "continue", "continue "+id, 1))
				}
				if event.waits == "" {
					if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
						t.Errorf("it is %s: %s", task.Status, task.Error)
					}
					w.mirrors(id)
				} else if why := w.waits(id); !strings.Contains(why, event.waits) {
					t.Errorf("it waits: %s; and not: %s", why, event.waits)
				}
			}
			if told := w.told(); row.told != nil && !slices.Equal(told, row.told) {
				t.Errorf("its agents were told\n%q, and not\n%q", told, row.told)
			}
			for what, words := range row.told1 {
				if told := w.toldOf(what); !strings.Contains(told, words) {
					t.Errorf("%s was told %q, and not %q", what, told, words)
				}
			}
			if reviewed := w.reviewed(); row.reviewed != nil && !maps.Equal(reviewed, row.reviewed) {
				t.Errorf("reviewed %v, and not %v", reviewed, row.reviewed)
			}
			if said := w.said(w.task(id).ThreadID); !strings.Contains(said, row.said) {
				t.Errorf("it says %q, and not %q", said, row.said)
			}
			if row.check != nil {
				row.check(w, id)
			}
		})
	}
}

// blocks is a place in the world where somebody waits until the test lets them go on.
type blocks struct{ there, on chan struct{} }

func newBlocks() *blocks { return &blocks{make(chan struct{}, 100), make(chan struct{})} }

func (b *blocks) stand() {
	b.there <- struct{}{}
	<-b.on
}

// A person stops a workflow at any moment, and it goes on where it was.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"router", "acceptance", "architect", "builder Task 1", "review Task 1", "builder Task 2", "review all"} {
		for _, ends := range []string{"continue", "abandon"} {
			t.Run(ends+" at "+at, func(t *testing.T) {
				t.Parallel()
				b := newBlocks()
				once := false
				var w *world
				here := func(what string) {
					w.mu.Lock()
					stands := what == at && !once
					once = once || stands
					w.mu.Unlock()
					if stands {
						b.stand()
					}
				}
				w = newWorld(t, func(w *world) {
					w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
						if what := strings.TrimPrefix(r.Purpose, "workflow-"); what != "review" {
							here(what)
						} else {
							here("review " + w.scopeOf(r))
						}
						return nil
					}
					w.works = func(j job) pluginsdk.InvokeResult {
						here(strings.TrimSpace(j.agent + " " + j.batch))
						return w.builds(j)
					}
				})
				id := w.starts("dir=" + w.dir + " batch=1")
				<-b.there
				w.must("/workflow stop " + id)
				close(b.on)
				if why := w.waits(id); !strings.Contains(why, "stopped by ann") {
					t.Errorf("it waits: %s", why)
				}
				if said := w.must("/workflow status " + id); !strings.Contains(said, "stopped in "+w.dir) {
					t.Errorf("%s", said)
				}
				if ends == "abandon" {
					w.must("/workflow abandon " + id)
					if task := w.ends(id); task.Status != pluginsdk.TaskCancelled {
						t.Errorf("it is %s", task.Status)
					}
					return
				}
				w.must("/workflow continue " + id + " with care")
				if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
					t.Errorf("it is %s: %s", task.Status, task.Error)
				}
				w.mirrors(id)
				for _, part := range []string{"part1.txt", "part2.txt"} {
					if w.read(w.dir, part) == "" {
						t.Errorf("there is no %s", part)
					}
				}
			})
		}
	}
}

// Among workflows that wait the oldest is first; one that waits for its turn is stopped at once, and one that
// waits for a person gives its place to the next.
func TestTheOldestWorkflowIsFirst(t *testing.T) {
	t.Parallel()
	b := newBlocks()
	w := newWorld(t)
	w.settings(`{"atOnce": 1}`)
	var order []string
	w.works = func(j job) pluginsdk.InvokeResult {
		w.mu.Lock()
		order = append(order, j.task.ParentTaskID)
		first := len(order) == 1
		w.mu.Unlock()
		if first {
			b.stand()
		}
		return w.builds(j)
	}
	var ids []string
	for range 4 {
		ids = append(ids, w.starts("dir="+t.TempDir()+" stages=scout"))
	}
	<-b.there
	w.until("the others to wait for a place", func() bool {
		queued := 0
		for _, id := range ids {
			if w.now().plugin.places.queued(id) {
				queued++
			}
		}
		return queued == 3
	})
	if said := w.must("/workflow status " + ids[1]); !strings.Contains(said, "queued") {
		t.Errorf("%s", said)
	}
	w.must("/workflow stop " + ids[1])
	if why := w.waits(ids[1]); !strings.Contains(why, "stopped by ann") {
		t.Errorf("it waits: %s", why)
	}
	close(b.on)
	for _, id := range []string{ids[0], ids[2], ids[3]} {
		w.ends(id)
	}
	w.must("/workflow continue " + ids[1])
	w.ends(ids[1])
	if want := []string{ids[0], ids[2], ids[3], ids[1]}; !slices.Equal(order, want) {
		t.Errorf("in the order %q, and not %q", order, want)
	}
}

// Batches that need nothing of one another are built at once, and merged in the plan's order; one that is stuck
// holds nobody up.
func TestBatchesSideBySide(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]func(w *world, j job) *pluginsdk.InvokeResult{
		"all well": func(*world, job) *pluginsdk.InvokeResult { return nil },
		"one stuck": func(_ *world, j job) *pluginsdk.InvokeResult {
			return &pluginsdk.InvokeResult{Text: "BLOCKED: which port?"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBlocks()
			w := newWorld(t, inGit, func(w *world) { w.plan = func(int) string { return tasksOf(3, "Depends: none") } })
			w.settings(`{"sideBySide": 3}`)
			w.works = func(j job) pluginsdk.InvokeResult {
				if j.batch == "Task 1" && j.attempt == 1 {
					b.stand()
					if said := stuck(w, j); said != nil {
						return *said
					}
				}
				return w.builds(j)
			}
			id := w.starts("dir=" + w.dir + " batch=1 stages=" + short7)
			<-b.there
			w.until("the reviews of the others", func() bool { r := w.reviewed(); return r["Task 2"] == 1 && r["Task 3"] == 1 })
			w.mu.Lock()
			merged := slices.Clone(w.merged)
			w.mu.Unlock()
			if want := []string{"architect: write the parts"}; !slices.Equal(merged, want) {
				t.Errorf("merged before the first: %q", merged)
			}
			close(b.on)
			want := []string{"architect: write the parts", "Task 1: part 1", "Task 2: part 2", "Task 3: part 3", "write the parts"}
			if name == "one stuck" {
				if why := w.waits(id); !strings.Contains(why, "builder, Task 1: which port?") {
					t.Errorf("it waits: %s", why)
				}
				want = []string{"architect: write the parts", "Task 2: part 2", "Task 3: part 3", "Task 1: part 1", "write the parts"}
				w.must("/workflow continue " + id + " 80")
			}
			w.ends(id)
			if !slices.Equal(w.merged, want) {
				t.Errorf("merged in the order %q", w.merged)
			}
			w.mirrors(id)
		})
	}
}

// A directory has one workflow at a time, whoever works there; one that cannot be used is said.
func TestTheDirectoryOfAWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := brain.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	release, err := b.Lock("another")
	if err != nil {
		t.Fatal(err)
	}
	id := w.starts("dir=" + w.dir + " stages=scout")
	if why := w.waits(id); !strings.Contains(why, "is in use by workflow another") {
		t.Errorf("it waits: %s", why)
	}
	if _, err := w.types("/workflow start dir=" + w.dir + " stages=scout x"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), "is open in "+w.dir) {
		t.Errorf("a second one: %v", err)
	}
	release()
	w.must("/workflow continue " + id)
	w.ends(id)
	w.mirrors(id)

	linked := t.TempDir()
	if err := os.Symlink(w.dir, filepath.Join(linked, ".brain")); err != nil {
		t.Fatal(err)
	}
	id = w.starts("dir=" + linked + " stages=scout")
	if why := w.waits(id); !strings.Contains(why, "links are not followed here") {
		t.Errorf("it waits: %s", why)
	}
	bare := t.TempDir()
	id = w.starts("dir=" + bare + " git=yes stages=scout")
	if _, err := os.Stat(filepath.Join(bare, ".git")); err != nil {
		t.Errorf("%v", err)
	}
	w.waits(id) // nobody gives it a worktree in this world
}

// What is mistyped is refused in words that say what to do.
func TestMistyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBlocks()
	w.works = func(j job) pluginsdk.InvokeResult { b.stand(); return w.builds(j) }
	id := w.starts("dir=" + w.dir + " stages=scout")
	<-b.there
	defer close(b.on)
	other := t.TempDir()
	for line, want := range map[string]string{
		"/workflow begin x":                                                `"begin" is nothing that a workflow can be asked for. Usage:`,
		"/workflow start dir=" + other:                                     "there is nothing to build",
		"/workflow start x":                                                "", // the thread's directory, which is taken
		"/workflow start dir=/nosuch x":                                    `"/nosuch" does not exist; make it first`,
		"/workflow start dir=" + other + " colour=red x":                   "start has no option of this name; it has dir, stages",
		"/workflow start dir=" + other + " cost=much x":                    `cost: "much" is not a positive amount`,
		"/workflow start dir=" + other + " batch=0 x":                      `batch: "0" is not a number from 1 to 50`,
		"/workflow start dir=" + other + " git=maybe x":                    "neither yes nor no",
		"/workflow start dir=" + other + " stages=tester x":                `there is no agent "tester"; there are architect, builder, reviewer, scout`,
		"/workflow start dir=" + other + " stages=, x":                     "the list of stages is empty",
		"/workflow start dir=" + other + " " + strings.Repeat("x", 70_000): "put the rest into a file of the project",
		"/workflow status nosuch":                                          `there is no workflow "nosuch"; /workflow status lists them`,
		"/workflow status x":                                               "nor 6 characters of one",
		"/workflow continue " + id:                                         "only one that waits can be continued",
		"/workflow continue":                                               "no workflow's id",
		"/workflow stop " + id + " rounds=2":                               "stop has no option of this name",
	} {
		if said, err := w.types(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %s, %v", line, said, err)
		}
	}
	w.must("/workflow stop " + id)
	w.group.Go(func() {})
}

// Agents start workflows and stop them; what a limit is, a person says.
func TestWhatAgentsMayNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) {
		w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"scout #1": says("BLOCKED: why?")})
	})
	id := w.starts("dir=" + w.dir + " stages=scout")
	w.waits(id)
	types := func(kind pluginsdk.ThreadKind, body string) error {
		_, err := w.commands(pluginsdk.OnCommandRequest{
			Call: pluginsdk.Call{ID: "agent-" + body}, Origin: pluginsdk.FromAgent, Thread: pluginsdk.Thread{ID: "primary", Kind: kind, Cwd: w.dir}, Body: body,
		})
		return err
	}
	for _, body := range []string{"continue " + id, "continue " + id + " accept=yes", "resume " + id, "abandon " + id} {
		if err := types(pluginsdk.ThreadPrimary, body); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || w.task(id).Status != pluginsdk.TaskWaiting {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := types(pluginsdk.ThreadTask, "start dir="+t.TempDir()+" x"); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "the worker of a task starts no workflow") {
		t.Errorf("a worker: %v", err)
	}
	if err := types(pluginsdk.ThreadPrimary, "start dir="+t.TempDir()+" x"); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("elsewhere: %v", err)
	}
	for _, tool := range []string{"workflow_continue", "workflow_abandon", "workflow_resume"} {
		answer, err := w.now().plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Name: tool, ThreadID: "primary", Input: []byte(`{"workflow": "` + id + `"}`)})
		if err != nil || !answer.Result.IsError || !strings.Contains(answer.Result.Text, "is for a person to say") {
			t.Errorf("%s: %+v, %v", tool, answer, err)
		}
	}
}

// A person decides on tasks of a workflow in the way of all tasks, and the workflow goes on from there.
func TestDecidedAsAnyTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBlocks()
	w.works = func(j job) pluginsdk.InvokeResult {
		if j.batch == "Task 1" && j.attempt == 1 {
			b.stand()
		}
		return w.builds(j)
	}
	id := w.starts("dir=" + w.dir + " batch=1 stages=" + short7)
	<-b.there
	at := w.record(id).Stages[1].TaskID
	if _, err := w.sdk.Tasks.Cancel(t.Context(), &pluginsdk.CancelTaskRequest{ID: at, Reason: "cancelled by ann"}); err != nil {
		t.Fatal(err)
	}
	close(b.on)
	w.moved.raise()
	if why := w.waits(id); !strings.Contains(why, "its task") && !strings.Contains(why, "its turn was stopped") {
		t.Errorf("it waits: %s", why)
	}
	if _, err := w.sdk.Tasks.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: id, Verdict: pluginsdk.VerdictReject, Feedback: "once more"}); err != nil {
		t.Fatal(err)
	}
	w.moved.raise()
	w.ends(id)
	if told := w.told(); !slices.Equal(told, []string{"architect #1", "builder Task 1 #1", "builder Task 1 #1", "builder Task 2 #1"}) {
		t.Errorf("%q", told)
	}
	if content := w.toldOf("builder Task 1 #1"); !strings.Contains(content, "once more") {
		t.Errorf("it was told %q", content)
	}
}

// A workflow whose record is gone, or cannot be read, waits, and says so; it can be abandoned.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ record, why string }{
		"gone": {"", "what was noted of this workflow is gone"}, "rubbish": {"{", "the record of workflow task-1 cannot be read"},
	} {
		for _, at := range []string{"builder", "review"} {
			t.Run(name+" at a "+at, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				b := newBlocks()
				w.works = func(j job) pluginsdk.InvokeResult {
					if j.agent == at {
						b.stand()
					}
					return w.builds(j)
				}
				w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
					if r.Purpose == "workflow-"+at {
						b.stand()
					}
					return nil
				}
				id := w.starts("dir=" + w.dir + " stages=" + short7)
				<-b.there
				w.kill(w.now())
				state := w.host.As((&Plugin{}).Manifest()).State
				_, err := state.Delete(t.Context(), &pluginsdk.DeleteStateRequest{Key: recordPrefix + id})
				if row.record != "" {
					_, err = state.Put(t.Context(), &pluginsdk.PutStateRequest{Key: recordPrefix + id, Value: []byte(row.record)})
				}
				if err != nil {
					t.Fatal(err)
				}
				close(b.on)
				w.begin()
				if why := w.waits(id); !strings.Contains(why, row.why) {
					t.Errorf("it waits: %s", why)
				}
				w.must("/workflow abandon " + id)
				w.until("its end", func() bool { return w.task(id).Status == pluginsdk.TaskCancelled })
			})
		}
	}
}

// A plugin that is deactivated leaves nothing at work, and goes on when it is activated again.
func TestDeactivated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBlocks()
	w.works = func(j job) pluginsdk.InvokeResult {
		if j.agent == "architect" {
			b.stand()
		}
		return w.builds(j)
	}
	id := w.starts("dir=" + w.dir + " stages=" + short7)
	<-b.there
	p := w.now().plugin
	if err := p.Deactivate(t.Context()); err != nil { // it waits for all that drives
		t.Fatal(err)
	}
	locked, err := brain.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	release, err := locked.Lock("another process")
	if err != nil {
		t.Errorf("it has the directory locked still: %v", err)
	} else {
		release()
	}
	close(b.on)
	for range 3 {
		if err := p.Activate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Deactivate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ends(id)
	if told := w.told(); !slices.Equal(told, []string{"architect #1", "builder Tasks 1-2 #1"}) {
		t.Errorf("%q", told)
	}
}
