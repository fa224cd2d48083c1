package daemon_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// twoParts is a script of the demo agent: an architect who plans two parts, builders, and reviewers of which the
// first asks for changes once. What is said follows from what is asked, so that a daemon that died makes no difference.
const twoParts = `[
	{"match":"+part 1 final","structuredOutput":APPROVE},
	{"match":"+part 1 draft","structuredOutput":{"verdict":"REVISE","score":4,"summary":"It is a draft.","issues":["SAY-FINAL"],"patternsCompliance":"good"}},
	{"match":"+part 2 final","structuredOutput":APPROVE},
	{"match":"SAY-FINAL","toolName":"scribe__write","toolInput":{"file":"part1.txt","text":"part 1 final"},"text":"Better now."},
	{"match":"# Building of Task 1","toolName":"scribe__write","toolInput":{"file":"part1.txt","text":"part 1 draft"},"text":"Built."},
	{"match":"# Building of Task 2","toolName":"scribe__write","toolInput":{"file":"part2.txt","text":"part 2 final"},"text":"Built."},
	{"match":"# Planning","toolName":"scribe__write","toolInput":{"file":".brain/PLAN.md","text":"### Task 1: the first part\n\nWrite part1.txt.\n\n### Task 2: the second part\n\nWrite part2.txt."},"text":"Planned."},
	{"match":"# Acceptance checks","structuredOutput":{"checks":["both parts are there"]}},
	{"match":"","text":"I see."}
]`

// deadlyWorkflow is a workflow whose plugin, and whose daemon, are killed while it is at work.
type deadlyWorkflow struct {
	*installation
	rows *store.Store
	raw  *sql.DB
	r    repository
	root string // its task
}

// revision is how often the record of the workflow was stored; 0: never.
func (w *deadlyWorkflow) revision() (revision int) {
	w.t.Helper()
	err := w.raw.QueryRowContext(w.t.Context(), "SELECT revision FROM plugin_states WHERE key = 'workflow/"+w.root+"'").Scan(&revision)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		w.t.Fatal(err)
	}
	return revision
}

func (w *deadlyWorkflow) task() pluginsdk.Task {
	w.t.Helper()
	task, err := w.rows.TaskState(w.t.Context(), w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return task.Task
}

// killPlugin kills the process of the plugin, if there is one.
func (w *deadlyWorkflow) killPlugin() {
	w.t.Helper()
	for _, process := range marked(w.t, w.installation) {
		id, command, _ := strings.Cut(process, " ")
		if pid, err := strconv.Atoi(id); err == nil && strings.HasSuffix(strings.TrimSpace(command), "/workflow") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// die kills the daemon, cuts the state file in the middle, and starts it again.
func (w *deadlyWorkflow) die() {
	w.t.Helper()
	w.kill()
	path := filepath.Join(w.r.dir, ".brain", "pipeline-state.json")
	if content, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.spawn()
}

// What a workflow has come to survives kill -9 of its plugin and of the daemon, at any of its changes, with a state
// file that is cut in the middle: each stage is worked on as often as without them, no batch that was approved is
// built again, and each is one commit.
func TestAWorkflowSurvivesKills(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		in := delegating(t, database(t))
		in.link(filepath.Join(pluginDir, "workflow"), "workflow")
		in.demo(strings.ReplaceAll(twoParts, "APPROVE", `{"verdict":"APPROVE","score":9,"summary":"Good.","issues":[],"patternsCompliance":"good"}`))
		rows := in.database()
		in.spawn()
		in.atWork(rows)
		in.until("the serving of workflow", func() bool { return plugin(t, rows, "workflow").State == pluginsdk.PluginServing })
		raw := in.rawDatabase()
		t.Cleanup(func() { _ = raw.Close() })
		const stride = 7
		for first := 1; first <= stride; first += 2 {
			w := &deadlyWorkflow{installation: in, rows: rows, raw: raw, r: newRepository(t)}
			in.subtest(fmt.Sprintf("each %dth change from the %dth", stride, first), func(t *testing.T) { w.t = t; w.lives(first, stride) })
		}
		in.quit()
	})
}

func (w *deadlyWorkflow) lives(first, stride int) {
	t := w.t
	thread := w.threadIn(w.r, fmt.Sprintf("from %d", first))
	accepted := w.chat(thread, "/workflow start batch=1 stages=architect,builder,reviewer write two parts")
	w.until("the workflow to begin", func() bool {
		tasks, err := w.rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: thread})
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) == 0 {
			if run, err := w.rows.Run(t.Context(), accepted.RunID); err == nil && run.State.Final() {
				t.Fatalf("%+v", w.messages(thread))
			}
			return false
		}
		w.root = tasks[0].ID
		return true
	})
	kills := 0
	for next := first; ; {
		w.until("the next change", func() bool {
			return w.revision() >= next || w.task().Status == pluginsdk.TaskWaiting || w.task().Status.Final()
		})
		if w.task().Status == pluginsdk.TaskWaiting || w.task().Status.Final() {
			break
		}
		if kills++; kills%3 == 0 {
			w.killPlugin()
		} else {
			w.die()
		}
		next = w.revision() + stride
	}
	task := w.task()
	if task.Status != pluginsdk.TaskWaiting || !slices.Contains(task.Marks, "demo") || kills < 3 {
		t.Fatalf("it was killed %d times, and is %s %q: %s", kills, task.Status, task.Marks, task.Error)
	}
	accepted = w.chat(thread, "/workflow continue "+w.root+" accept=yes")
	w.until("its end", func() bool {
		if run, err := w.rows.Run(t.Context(), accepted.RunID); err == nil && run.State.Final() && w.task().Status == pluginsdk.TaskWaiting {
			rows := w.messages(thread)
			t.Fatalf("%s", rows[len(rows)-1].Content)
		}
		return !w.task().CompletedAt.IsZero()
	})
	w.sound()
}

// sound checks what the workflow has come to.
func (w *deadlyWorkflow) sound() {
	t := w.t
	if task := w.task(); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	tasks, err := w.rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentTaskID: w.root})
	if err != nil {
		t.Fatal(err)
	}
	var worked []string
	for _, task := range tasks {
		worked = append(worked, strings.TrimSpace(fmt.Sprintf("%s %s %s %d", task.Labels["workflow.agent"], task.Labels["workflow.batch"], task.Status, task.CurrentIteration)))
	}
	if want := []string{"architect  completed 1", "builder Task 1 completed 2", "builder Task 2 completed 1"}; !slices.Equal(worked, want) {
		t.Errorf("its tasks are %q", worked)
	}
	var state, record struct {
		EndedAt string
		Stages  []struct {
			Agent, BatchScope, Status string
			Verdicts                  []struct{ Verdict string }
		}
		Final []struct{ Verdict string }
	}
	var stored []byte
	if err := w.raw.QueryRowContext(t.Context(), "SELECT value FROM plugin_states WHERE key = 'workflow/"+w.root+"'").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	w.until("the state file to be the record", func() bool {
		content, err := os.ReadFile(filepath.Join(w.r.dir, ".brain", "pipeline-state.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.raw.QueryRowContext(t.Context(), "SELECT value FROM plugin_states WHERE key = 'workflow/"+w.root+"'").Scan(&stored); err != nil {
			t.Fatal(err)
		}
		return json.Unmarshal(content, &state) == nil && json.Unmarshal(stored, &record) == nil && fmt.Sprint(state) == fmt.Sprint(record) && state.EndedAt != ""
	})
	var said []string
	for _, s := range state.Stages {
		said = append(said, fmt.Sprint(s.Agent, " ", s.BatchScope, " ", s.Status, " ", s.Verdicts))
	}
	if want := []string{"architect  completed []", "builder Task 1 completed []", "reviewer Task 1 completed [{REVISE} {APPROVE}]", "builder Task 2 completed []", "reviewer Task 2 completed [{APPROVE}]"}; !slices.Equal(said, want) || fmt.Sprint(state.Final) != "[{APPROVE}]" {
		t.Errorf("its stages are %q, the last review %v", said, state.Final)
	}
	commits := strings.Split(w.r.git("log", "--format=%s", "--no-merges", "--topo-order", "--reverse"), "\n")
	if want := []string{"begin", "architect: write two parts", "Task 1: the first part", "Task 2: the second part"}; !slices.Equal(commits, want) {
		t.Errorf("the commits are %q", commits)
	}
	for part, want := range map[string]string{"part1.txt": "part 1 final\n", "part2.txt": "part 2 final\n"} {
		if content, err := os.ReadFile(filepath.Join(w.r.dir, part)); err != nil || string(content) != want {
			t.Errorf("%s says %q, %v", part, content, err)
		}
	}
}
