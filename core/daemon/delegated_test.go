package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// repository is a git repository of one commit whose own check is `make test`: where there is
// a result.txt, it has to say ok.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, filepath.Join(t.TempDir(), "a repository")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "user.name", "Ada")
	r.git("config", "user.email", "ada@example.org")
	r.write("Makefile", "test:\n\t@test ! -e result.txt || grep -q ok result.txt || { echo RESULT-IS-BROKEN; exit 1; }\n")
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message=begin")
	return r
}

func (r repository) write(file, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// git runs it in the main checkout and returns what it says.
func (r repository) git(arguments ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", arguments...)
	command.Dir = r.dir
	var said, complained bytes.Buffer
	command.Stdout, command.Stderr = &said, &complained
	if err := command.Run(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, complained.String())
	}
	return strings.TrimSpace(said.String())
}

// clean wants nothing of tasks to be left in the repository but what was merged.
func (r repository) clean() {
	r.t.Helper()
	if status := r.git("status", "--porcelain", "--ignored=no"); status != "" {
		r.t.Errorf("the main checkout is not clean: %s", status)
	}
	if branches := r.git("for-each-ref", "--format=%(refname)", "refs/heads/task"); branches != "" {
		r.t.Errorf("branches are left: %s", branches)
	}
	if trees := strings.Count(r.git("worktree", "list", "--porcelain"), "worktree "); trees != 1 {
		r.t.Errorf("%d worktrees are left:\n%s", trees, r.git("worktree", "list"))
	}
	if left, err := filepath.Glob(filepath.Join(r.dir, ".claude", "worktrees", "[0-9a-f]*")); err != nil || len(left) > 0 {
		r.t.Errorf("directories are left: %v, %v", left, err)
	}
	r.git("fsck", "--strict", "--no-dangling")
}

// delegating has the plugins by which work is handed on, and a thread in the repository.
func delegating(t *testing.T, databaseURL string) *installation {
	t.Helper()
	in := leanInstallation(t, databaseURL, scribeName)
	for _, name := range []string{"delegation", "worktree", "validation"} {
		in.link(filepath.Join(pluginDir, name), name)
	}
	return in
}

// atWork waits until the plugins serve, and gives the demo agent its hands.
func (in *installation) atWork(rows *store.Store) {
	in.t.Helper()
	in.sql(`UPDATE plugins SET granted = '["tasks.read","turns.read","turns.change","turns.decide","tasks.prepare","tasks.judge"]', enabled = TRUE WHERE name = 'scribe'`)
	for _, name := range []string{"delegation", "worktree", "validation", scribeName} {
		in.until("the serving of "+name, func() bool { return plugin(in.t, rows, name).State == pluginsdk.PluginServing })
	}
}

// threadIn makes a thread whose directory is the repository.
func (in *installation) threadIn(r repository, name string) string {
	in.t.Helper()
	id := in.thread(name)
	if status := in.call(http.MethodPatch, "/api/threads/"+id, map[string]string{"cwd": r.dir}, nil); status != http.StatusOK {
		in.t.Fatalf("PATCH /api/threads: %d", status)
	}
	return id
}

// workersLife is a script of the demo agent: a worker whose first result fails the checks,
// whose second one the reviewer rejects, and whose third one is accepted. What is said next
// follows from what is asked, so that a daemon that died makes no difference.
const workersLife = `[
	{"match":"+ok final","structuredOutput":ACCEPTED},
	{"match":"+ok draft","structuredOutput":REJECTED},
	{"match":"WANT-FINAL","toolName":"scribe__write","toolInput":{"file":"result.txt","text":"ok final"},"text":"Better now.\nDONE: the final result"},
	{"match":"RESULT-IS-BROKEN","toolName":"scribe__write","toolInput":{"file":"result.txt","text":"ok draft"},"text":"Mended.\nDONE: the draft"},
	{"match":"make a result","toolName":"scribe__write","toolInput":{"file":"result.txt","text":"wrong"},"text":"Here it is.\nDONE: a result"}
]`

// reviewSaying is a reviewer's answer about that repository: what it rests on is there.
func reviewSaying(t *testing.T, verdict, feedback string) string {
	t.Helper()
	type object = map[string]any
	answers := object{}
	for _, question := range []string{"tests_written", "coverage", "mocks", "imports", "types", "dependencies", "patterns"} {
		answers[question] = object{"answer": "yes", "why": "I have looked", "evidence": []object{{"kind": "file", "file": "Makefile", "line": 1, "quote": "test:"}}}
	}
	for _, question := range []string{"lint", "format", "build"} {
		answers[question] = object{"answer": "does_not_apply", "why": "it has none", "evidence": []object{{"kind": "absent", "file": "go.mod"}}}
	}
	answers["tests_pass"] = object{"answer": "yes", "why": "they do", "evidence": []object{{"kind": "command", "command": "make test", "exitCode": 0}}}
	said, err := json.Marshal(object{"verdict": verdict, "feedback": feedback, "answers": answers})
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// kill -9 at every step of a task's life, with the plugins by which work is handed on in
// processes of their own and a repository: the task ends as it would have, with as many
// iterations and verdicts, merged once, its parent told once, and nothing is left over. One task
// sees the daemon die at the first occurrence of each step, another one after each later move. (On
// SQLite. TestATaskIsKilledAtEveryFaultPoint has every occurrence of every step on both databases,
// without processes, and `make chaos` kills at any instant on both.)
func TestKillAtEveryStepOfADelegatedTask(t *testing.T) {
	t.Parallel()
	in := delegating(t, "")
	in.demo(strings.NewReplacer("ACCEPTED", reviewSaying(t, "accept", ""), "REJECTED", reviewSaying(t, "reject", "WANT-FINAL")).Replace(workersLife))
	rows := in.database()
	in.spawn()
	in.atWork(rows)
	repository := newRepository(t)
	for _, one := range []life{
		{"the first of each", 1, []string{"create", "created", "ask", "answered", "begin", "iterate", "iterated", "evaluate", "moved", "accept", "decide", "finish"}},
		{"the other times of moved", 2, []string{"moved"}},
	} {
		if !in.subtest(one.name, func(t *testing.T) { dieIn(t, in, rows, repository, one) }) {
			in.kill()
			in.living()
		}
	}
	in.quit()
}

// life is a task during which the daemon dies: once at each of the steps, or, at those that it comes to
// for the second time, again and again. (Who starts again repeats the step that was died at.)
type life struct {
	name  string
	nth   int
	steps []string
}

// dieIn delegates a task and has the daemon die as the life says.
func dieIn(t *testing.T, in *installation, rows *store.Store, r repository, of life) {
	r.t = t
	r.git("rm", "--quiet", "--ignore-unmatch", "result.txt")
	r.git("commit", "--quiet", "--allow-empty", "--message=as it was")
	merges := r.merges()
	parent := in.threadIn(r, of.name)
	log := filepath.Join(in.config.Data, "died-at.log")
	_ = os.Remove(log)
	left := slices.Clone(of.steps)
	in.deadly(of.nth, left...)
	in.sayDespiteDeaths(parent, "/delegate make a result")
	var task pluginsdk.Task
	in.until("the end of the task", func() bool {
		if in.died() {
			if died := lines(t, log); of.nth == 1 {
				left = slices.DeleteFunc(left, func(step string) bool { return step == died[len(died)-1] })
			}
			in.deadly(of.nth, left...)
			in.launch()
		}
		tasks, err := rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent})
		if err != nil || len(tasks) == 0 {
			return false
		}
		if len(tasks) > 1 {
			t.Fatalf("there are %d tasks", len(tasks))
		}
		if task = tasks[0]; task.Status == pluginsdk.TaskWaiting {
			in.tryToDecide(task, pluginsdk.VerdictAccept) // the demo agent's verdict merges nothing
		}
		return !task.CompletedAt.IsZero()
	})
	in.deadly(0)
	died := lines(t, log)
	for _, step := range of.steps {
		if !slices.Contains(died, step) {
			t.Errorf("the daemon never came to the step %s for time %d", step, of.nth)
		}
	}
	in.until("a daemon that serves", func() bool {
		if in.died() { // at a step after the end
			in.launch()
		}
		response, err := http.Get(in.base + "/api/threads") // ready.log may be of one that is dying
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 3 || task.ValidationIterations != 2 {
		t.Errorf("after the deaths at %q it ended as %s in iteration %d, rejected %d times: %s", died, task.Status, task.CurrentIteration, task.ValidationIterations, task.Error)
	}
	if runs, err := rows.Runs(t.Context(), pluginsdk.RunQuery{ThreadID: task.ThreadID}); err != nil || countOfKind(runs, pluginsdk.RunMessage) != 3 {
		t.Errorf("%d messages to the worker, %v", countOfKind(runs, pluginsdk.RunMessage), err)
	}
	if got := r.merges(); got != merges+1 {
		t.Errorf("merged %d times", got-merges)
	}
	if result := r.git("show", "main:result.txt"); result != "ok final" {
		t.Errorf("the main branch has %q", result)
	}
	r.clean()
	told := map[string]int{}
	for _, row := range in.messages(parent) {
		if row.Kind == pluginsdk.MessageNotification {
			var said struct{ Status string }
			_ = json.Unmarshal(row.Metadata, &said)
			told[said.Status]++
		}
	}
	if told["completed"] != 1 || told["waiting"] != 1 || len(told) != 2 {
		t.Errorf("the parent was told %v", told)
	}
}

func countOfKind(runs []pluginsdk.Run, kind pluginsdk.RunKind) (n int) {
	for _, run := range runs {
		if run.Kind == kind {
			n++
		}
	}
	return n
}

func (r repository) merges() int {
	r.t.Helper()
	return len(slices.DeleteFunc(strings.Split(r.git("log", "--merges", "--format=%H", "main"), "\n"), func(line string) bool { return line == "" }))
}

// sayDespiteDeaths hands a message in, under one key, until it is accepted.
func (in *installation) sayDespiteDeaths(thread, content string) {
	in.t.Helper()
	body, err := json.Marshal(map[string]string{"threadId": thread, "content": content, "idempotencyKey": thread})
	if err != nil {
		in.t.Fatal(err)
	}
	in.until("the acceptance of "+content, func() bool {
		response, err := http.Post(in.base+"/api/chat", "application/json", bytes.NewReader(body))
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusAccepted
	})
}

// tryToDecide is a person's word, which may find nobody.
func (in *installation) tryToDecide(task pluginsdk.Task, verdict pluginsdk.Verdict) {
	in.t.Helper()
	body, err := json.Marshal(map[string]any{"verdict": verdict, "iteration": task.CurrentIteration})
	if err != nil {
		in.t.Fatal(err)
	}
	if response, err := http.Post(in.base+"/api/tasks/"+task.ID+"/decide", "application/json", bytes.NewReader(body)); err == nil {
		_ = response.Body.Close()
	}
}

// Six tasks that are approved at the same instant in one repository are merged one after the
// other, each on top of what came before; and nobody is asked again about a patch that has only
// been put on another base.
func TestManyTasksAreMergedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	const tasks, reviews = 6, 8
	in := delegating(t, "")
	rules := []string{`{"match":"# Review of task","structuredOutput":` + reviewSaying(t, "accept", "") + `}`}
	for n := range tasks {
		rules = append(rules, fmt.Sprintf(`{"match":"write file-%d.","toolName":"scribe__write","toolInput":{"file":"file-%d.txt","text":"written"},"text":"DONE: it"}`, n, n))
	}
	in.demo("[" + strings.Join(rules, ",") + "]")
	rows := in.database()
	in.start()
	in.atWork(rows)
	repository := newRepository(t)
	parent := in.threadIn(repository, "parent")
	for n := range tasks {
		in.chat(parent, fmt.Sprintf("/delegate write file-%d.", n))
	}
	var waiting []pluginsdk.Task
	in.until("all results", func() bool {
		var err error
		waiting, err = rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskWaiting}})
		return err == nil && len(waiting) == tasks
	})
	var deciding sync.WaitGroup
	for _, task := range waiting { // the demo agent's verdicts merge nothing
		deciding.Go(func() { in.tryToDecide(task, pluginsdk.VerdictAccept) })
	}
	deciding.Wait()
	in.until("all merges", func() bool {
		over, err := rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskCompleted}})
		return err == nil && len(over) == tasks
	})
	if got := repository.merges(); got != tasks {
		t.Errorf("%d merges", got)
	}
	if files := strings.Count(repository.git("ls-tree", "--name-only", "main"), "file-"); files != tasks {
		t.Errorf("the main branch has %d of the files", files)
	}
	repository.clean()
	if asked := in.count("SELECT COUNT(*) FROM runs WHERE purpose = 'validation'"); asked < tasks || asked > reviews {
		t.Errorf("the reviewer was asked %d times", asked)
	}
}

// A gate of somebody else works beside those that come with Harness: it sees the tree that was
// written down, its no sends the work back although the reviewer has said yes, and with its
// wish fulfilled the work goes on.
func TestAGateOfAThirdPartyWorksBesideValidation(t *testing.T) {
	t.Parallel()
	const gate = "licence-gate"
	in := delegating(t, "")
	in.link(filepath.Join(pluginDir, gate), gate)
	in.demo(`[
		{"match":"# Review of task"},
		{"match":"LICENSE","toolName":"scribe__write","toolInput":{"file":"LICENSE","text":"MIT"},"text":"DONE: it is as it was"},
		{"match":"make it ours","toolName":"scribe__write","toolInput":{"file":"LICENSE","text":"mine"},"text":"DONE: it is ours"}
	]`)
	rows := in.database()
	in.start()
	in.atWork(rows)
	in.sql(`UPDATE plugins SET granted = '["tasks.judge"]', enabled = TRUE WHERE name = 'licence-gate'`)
	in.serving(rows, gate)
	repository := newRepository(t)
	repository.write("LICENSE", "MIT\n")
	repository.git("add", "--all")
	repository.git("commit", "--quiet", "--message=licence")
	parent := in.threadIn(repository, "parent")
	in.chat(parent, "/delegate make it ours")
	var task pluginsdk.Task
	in.until("where the task is left", func() bool {
		tasks, err := rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent})
		if err == nil && len(tasks) == 1 {
			task = tasks[0]
		}
		return overOrWaiting(task) && task.ID != ""
	})
	said := map[string]string{}
	_, answers, err := rows.TaskHistory(t.Context(), task.ID, 0, 100)
	for _, a := range answers {
		if a.Phase == ledger.PhaseReviewing {
			said[fmt.Sprint(a.Iteration, " ", a.Plugin)] = a.Answer
		}
	}
	want := map[string]string{
		"1 worktree": "", "1 validation": "accept", "1 licence-gate": "reject", "2 worktree": "", "2 validation": "accept", "2 licence-gate": "",
	}
	if err != nil || !maps.Equal(said, want) || task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{"demo"}) {
		t.Errorf("it is %s %q: %s; said was %v, %v", task.Status, task.Marks, task.Error, said, err)
	}
}
