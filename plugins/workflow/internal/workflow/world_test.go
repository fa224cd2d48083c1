package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func TestMain(m *testing.M) {
	run.Reap()
	os.Exit(m.Run())
}

// world is an installation in memory: the core, which begins runs and asks the gate; the plugins
// worktree and validation, as far as a workflow sees of them; and agents that do what a test says.
type world struct {
	*testing.T
	dir  string // of the project
	git  bool   // it is a repository, and tasks get directories of their own
	host *plugintest.Host
	sdk  pluginsdk.Host // as the test sees it

	// What the test says. It is set before the first workflow is started.
	plan      func(n int) string                                       // what an architect writes the nth time; nil: plans[n-1]
	works     func(job) pluginsdk.InvokeResult                         // what a worker does; nil: (*world).builds
	says      func(scope string, round int) string                     // the verdict of a review; nil: APPROVE
	turns     func(pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult // what a turn answers; nil, or nil of it: as says says
	checks    func(pluginsdk.Task) string                              // why the project's checks fail; nil, or empty: they pass
	off       bool                                                     // nobody runs the project's checks
	none      bool                                                     // the project has no checks
	twice     bool                                                     // each call of the gate is made twice
	prices    struct{ work, review float64 }                           // US dollars of a turn
	faults    func(step, id string)                                    // called at each step of the plugin
	dies      func(step string, nth int) bool                          // kills the plugin at a step, the nth of this world
	meanwhile func(death int)                                          // happens after a death, before the plugin is started again

	moved signal
	steps atomic.Int64 // of the plugin
	typed atomic.Int64 // commands
	group sync.WaitGroup
	over  context.CancelFunc

	mu      sync.Mutex
	life    *life
	lives   []*life
	judging map[string]context.CancelFunc // of tasks
	working map[string]bool               // runs
	content map[string]string             // what iterations were told
	costs   map[string]float64            // of tasks, without those below
	dirs    map[string]string             // of tasks in git
	caps    map[string]float64            // as people have raised them
	jobs    []job
	asked   []pluginsdk.StartTurnRequest
	rounds  map[string]int // reviews, by scope
	plans   int
	merged  []string // headlines of tasks whose work was merged
}

// job is one iteration of a stage's task.
type job struct {
	task    pluginsdk.Task
	agent   string
	batch   string
	content string
	attempt int // the iteration
}

// life is the plugin in one process.
type life struct {
	plugin *Plugin
	dead   atomic.Bool
	died   chan struct{} // closed when it is killed
	gone   chan struct{} // closed when the test is over
}

func newWorld(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	w := &world{
		T: t, dir: t.TempDir(), host: plugintest.NewHost(),
		judging: make(map[string]context.CancelFunc), working: make(map[string]bool), content: make(map[string]string), costs: make(map[string]float64),
		dirs: make(map[string]string), rounds: make(map[string]int), caps: make(map[string]float64),
	}
	w.prices.work, w.prices.review = 0.1, 0.01
	w.sdk = w.host.SDK()
	w.host.AddThread(pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Status: pluginsdk.ThreadActive})
	w.host.Agent = w.turnOf
	for _, change := range change {
		change(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.over = cancel
	t.Cleanup(func() {
		cancel()
		w.mu.Lock()
		lives := w.lives
		w.mu.Unlock()
		for _, l := range lives {
			close(l.gone)
		}
		for _, l := range lives {
			_ = l.plugin.Deactivate(context.Background())
		}
		w.group.Wait()
	})
	w.begin()
	w.group.Go(func() {
		for ctx.Err() == nil {
			moved := w.moved.wait()
			w.step(ctx)
			select {
			case <-moved:
			case <-ctx.Done():
			}
		}
	})
	return w
}

func inGit(w *world) {
	w.git = true
	w.call(w.dir, "init", "-q")
	w.write(w.dir, "README.md", "A project.\n")
	w.call(w.dir, "add", "-A")
	w.call(w.dir, "commit", "-q", "-m", "first")
}

func (w *world) call(dir string, args ...string) string {
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	output, err := command.CombinedOutput()
	if err != nil {
		w.Errorf("git %q in %s: %v\n%s", args, dir, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (w *world) write(dir, name, content string) {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Error(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Error(err)
	}
}

func (w *world) read(dir, name string) string {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return string(content)
}

// begin starts the plugin, as the daemon does after its process has died.
func (w *world) begin() *life {
	w.Helper()
	l := &life{plugin: &Plugin{Rest: time.Millisecond, Again: 10 * time.Millisecond}, died: make(chan struct{}), gone: make(chan struct{})}
	l.plugin.Fault = func(step, id string) {
		if l.dead.Load() {
			<-l.gone
		}
		if w.faults != nil {
			w.faults(step, id)
		}
		if w.dies != nil && w.dies(step, int(w.steps.Add(1))) {
			w.kill(l)
			<-l.gone
		}
	}
	host := w.host.As(l.plugin.Manifest())
	host.State = lifeState{host.State, l, w}
	host.Tasks = lifeTasks{host.Tasks, l, w}
	host.Runs = lifeRuns{host.Runs, l}
	host.Agent = lifeAgent{host.Agent, l}
	host.Messages = lifeMessages{host.Messages, l}
	host.Threads = lifeThreads{host.Threads, l}
	if err := l.plugin.Start(context.Background(), host); err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	w.life = l
	w.lives = append(w.lives, l)
	w.mu.Unlock()
	if err := l.plugin.Activate(context.Background()); err != nil {
		w.Fatal(err)
	}
	w.moved.raise()
	return l
}

// kill has a life do nothing any more: neither does it ask for anything, nor does it learn of anything.
// Its locks are the kernel's, which drops them.
func (w *world) kill(l *life) {
	if l.dead.CompareAndSwap(false, true) {
		_ = os.Remove(filepath.Join(w.dir, ".brain", "workflow.lock"))
		close(l.died)
	}
}

func (w *world) now() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

// through is a call of the host in a life.
func through[Q, A any](ctx context.Context, l *life, request *Q, call func(context.Context, *Q) (*A, error)) (*A, error) {
	if l.dead.Load() {
		<-l.gone
		return nil, context.Canceled
	}
	answer, err := call(ctx, request)
	if l.dead.Load() {
		<-l.gone
		return nil, context.Canceled
	}
	return answer, err
}

type lifeState struct {
	pluginsdk.State
	*life
	w *world
}

func (s lifeState) Get(ctx context.Context, r *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	return through(ctx, s.life, r, s.State.Get)
}

func (s lifeState) Put(ctx context.Context, r *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.State.Put)
}

func (s lifeState) List(ctx context.Context, r *pluginsdk.ListStateRequest) (*pluginsdk.ListStateResponse, error) {
	return through(ctx, s.life, r, s.State.List)
}

func (s lifeState) Delete(ctx context.Context, r *pluginsdk.DeleteStateRequest) (*pluginsdk.DeleteStateResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.State.Delete)
}

type lifeRuns struct {
	pluginsdk.Runs
	*life
}

func (s lifeRuns) Get(ctx context.Context, r *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	return through(ctx, s.life, r, s.Runs.Get)
}

func (s lifeRuns) Wait(ctx context.Context, r *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	return through(ctx, s.life, r, s.Runs.Wait)
}

type lifeAgent struct {
	pluginsdk.Agent
	*life
}

func (s lifeAgent) Start(ctx context.Context, r *pluginsdk.StartTurnRequest) (*pluginsdk.StartTurnResponse, error) {
	return through(ctx, s.life, r, s.Agent.Start)
}

func (s lifeAgent) Wait(ctx context.Context, r *pluginsdk.WaitTurnRequest) (*pluginsdk.WaitTurnResponse, error) {
	return through(ctx, s.life, r, s.Agent.Wait)
}

func (s lifeAgent) Cancel(ctx context.Context, r *pluginsdk.CancelTurnRequest) (*pluginsdk.CancelTurnResponse, error) {
	return through(ctx, s.life, r, s.Agent.Cancel)
}

type lifeMessages struct {
	pluginsdk.Messages
	*life
}

func (s lifeMessages) Append(ctx context.Context, r *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return through(ctx, s.life, r, s.Messages.Append)
}

type lifeThreads struct {
	pluginsdk.Threads
	*life
}

func (s lifeThreads) Create(ctx context.Context, r *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	return through(ctx, s.life, r, s.Threads.Create)
}

// lifeTasks has tasks as the core has them: with what they cost with those below them, and with the
// directories that the plugin worktree gives them.
type lifeTasks struct {
	pluginsdk.Tasks
	*life
	w *world
}

func (s lifeTasks) Create(ctx context.Context, r *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, func(ctx context.Context, r *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
		answer, err := s.Tasks.Create(ctx, r)
		if err == nil {
			answer.Task = s.w.dressed(answer.Task)
		}
		return answer, err
	})
}

func (s lifeTasks) Get(ctx context.Context, r *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
	return through(ctx, s.life, r, func(ctx context.Context, r *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
		answer, err := s.Tasks.Get(ctx, r)
		if err == nil {
			answer.Task = s.w.dressed(answer.Task)
		}
		return answer, err
	})
}

func (s lifeTasks) List(ctx context.Context, r *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	return through(ctx, s.life, r, func(ctx context.Context, r *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
		answer, err := s.Tasks.List(ctx, r)
		if err == nil {
			for i := range answer.Tasks {
				answer.Tasks[i] = s.w.dressed(answer.Tasks[i])
			}
		}
		return answer, err
	})
}

func (s lifeTasks) History(ctx context.Context, r *pluginsdk.TaskHistoryRequest) (*pluginsdk.TaskHistoryResponse, error) {
	return through(ctx, s.life, r, s.Tasks.History)
}

func (s lifeTasks) Iterate(ctx context.Context, r *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, func(ctx context.Context, r *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
		if err := s.w.affords(r.ID, r.Iteration); err != nil && !r.Own {
			return nil, err
		}
		s.w.mu.Lock()
		if key := fmt.Sprintf("%s/%d", r.ID, r.Iteration); s.w.content[key] == "" {
			s.w.content[key] = r.Content
		}
		s.w.mu.Unlock()
		answer, err := s.Tasks.Iterate(ctx, r)
		if err == nil {
			answer.Task = s.w.dressed(answer.Task)
		}
		return answer, err
	})
}

func (s lifeTasks) Evaluate(ctx context.Context, r *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, func(ctx context.Context, r *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
		answer, err := s.Tasks.Evaluate(ctx, r)
		if err == nil {
			answer.Task = s.w.dressed(answer.Task)
		}
		return answer, err
	})
}

func (s lifeTasks) Suspend(ctx context.Context, r *pluginsdk.SuspendTaskRequest) (*pluginsdk.SuspendTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.Tasks.Suspend)
}

func (s lifeTasks) Fail(ctx context.Context, r *pluginsdk.FailTaskRequest) (*pluginsdk.FailTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.Tasks.Fail)
}

func (s lifeTasks) Cancel(ctx context.Context, r *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.Tasks.Cancel)
}

func (s lifeTasks) Decide(ctx context.Context, r *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	defer s.w.moved.raise()
	return through(ctx, s.life, r, s.Tasks.Decide)
}

// affords refuses an iteration of a task that has cost, or whose workflow has cost, what it may.
func (w *world) affords(id string, iteration int) error {
	if iteration <= w.task(id).CurrentIteration {
		return nil
	}
	for id != "" {
		task := w.task(id)
		if task.CostUSD >= task.CostCapUSD {
			return pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s has cost %.2f USD of %.2f", id, task.CostUSD, task.CostCapUSD)
		}
		id = task.ParentTaskID
	}
	return nil
}

// tasks are all tasks, the oldest first.
func (w *world) tasks() []pluginsdk.Task {
	answer, err := w.sdk.Tasks.List(context.Background(), &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Limit: 1000}})
	if err != nil {
		w.Error(err)
		return nil
	}
	for i := range answer.Tasks {
		answer.Tasks[i] = w.dressed(answer.Tasks[i])
	}
	return answer.Tasks
}

func (w *world) task(id string) pluginsdk.Task {
	answer, err := w.sdk.Tasks.Get(context.Background(), &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		w.Error(err)
		return pluginsdk.Task{}
	}
	return w.dressed(answer.Task)
}

// dressed is a task as the core has it.
func (w *world) dressed(task pluginsdk.Task) pluginsdk.Task {
	below := []string{task.ID}
	answer, err := w.sdk.Tasks.List(context.Background(), &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{ParentTaskID: task.ID, Limit: 1000}})
	if err == nil {
		for _, child := range answer.Tasks {
			below = append(below, child.ID)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	task.CostUSD = 0
	for _, id := range below {
		task.CostUSD += w.costs[id]
	}
	if raised := w.caps[task.ID]; raised > 0 {
		task.CostCapUSD = raised
	}
	if !w.git || task.Plugin != name {
		return task
	}
	dir := w.dirs[task.ID]
	if dir == "" {
		from := cmp.Or(w.dirs[task.ParentTaskID], w.dir)
		dir = filepath.Join(w.TempDir(), "worktree")
		w.call(from, "clone", "-q", "--shared", from, dir)
		w.dirs[task.ID] = dir
	}
	task.Cwd, task.CwdPlugin = dir, worktreePlugin
	task.Labels = maps.Clone(task.Labels)
	task.Labels["worktree.branch"], task.Labels["worktree.path"] = "task/"+task.ID, dir
	return task
}

// step does what the core has to do now.
func (w *world) step(ctx context.Context) {
	tasks := w.tasks()
	ended := make(map[string]bool)
	for _, task := range tasks {
		switch {
		case task.Status == pluginsdk.TaskRunning && task.RunID != "":
			w.once(w.working, task.RunID, func() { w.work(task) })
		case task.Status == pluginsdk.TaskEvaluating:
			w.judge(ctx, task)
		case task.Status.Final():
			w.mu.Lock()
			if stop := w.judging[task.ID]; stop != nil {
				stop()
			}
			w.mu.Unlock()
			ended[task.ID] = task.Status != pluginsdk.TaskCompleted
			if ended[task.ID] && task.RunID != "" {
				_, _ = w.sdk.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: task.RunID})
			}
		}
		if ended[task.ParentTaskID] && !task.Status.Final() {
			if _, err := w.sdk.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: task.ID, Reason: "the task above it is over"}); err != nil {
				w.Error(err)
			}
			w.moved.raise()
		}
	}
	if l := w.now(); l != nil && !l.dead.Load() {
		l.plugin.moved.raise()
	}
}

func (w *world) once(known map[string]bool, key string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !known[key] {
		known[key] = true
		w.group.Go(do)
	}
}

// work has an iteration's worker do its work.
func (w *world) work(task pluginsdk.Task) {
	answer, err := w.sdk.Runs.Get(context.Background(), &pluginsdk.GetRunRequest{ID: task.RunID})
	if err != nil || answer.Run.State != pluginsdk.RunQueued {
		return
	}
	w.host.BeginRun(task.RunID)
	w.mu.Lock()
	j := job{task: task, agent: task.Labels[labelAgent], batch: task.Labels[labelBatch], content: w.content[fmt.Sprintf("%s/%d", task.ID, task.CurrentIteration)], attempt: task.CurrentIteration}
	w.jobs = append(w.jobs, j)
	works := w.works
	w.mu.Unlock()
	if works == nil {
		works = w.builds
	}
	result := works(j)
	result.SessionID = cmp.Or(result.SessionID, "session of "+task.ThreadID)
	if result.CostUSD == 0 {
		result.CostUSD = w.prices.work
	}
	w.mu.Lock()
	w.costs[task.ID] += result.CostUSD
	w.mu.Unlock()
	func() {
		defer func() { _ = recover() }() // it was cancelled meanwhile
		w.host.FinishRun(task.RunID, result)
	}()
	w.moved.raise()
}

// builds is what an honest worker does.
func (w *world) builds(j job) pluginsdk.InvokeResult {
	dir := j.task.Cwd
	switch stages.RoleOf(j.agent) {
	case stages.Scout:
		w.write(dir, ".brain/research/found.md", fmt.Sprintf("found out in try %d\n", j.attempt))
	case stages.Architect:
		w.mu.Lock()
		w.plans++
		n := w.plans
		w.mu.Unlock()
		text := tasksOf(2)
		if w.plan != nil {
			text = w.plan(n)
		}
		w.write(dir, ".brain/PLAN.md", text)
	case stages.Builder:
		var scope plan.Scope
		_ = scope.UnmarshalText([]byte(j.batch))
		for n := scope.First; n <= scope.Last; n++ {
			w.write(dir, fmt.Sprintf("part%d.txt", n), fmt.Sprintf("part %d by %s in try %d\n", n, j.task.ID, j.attempt))
		}
	case stages.Other:
		w.write(dir, j.agent+".md", fmt.Sprintf("by %s in try %d\n", j.task.ID, j.attempt))
	case stages.Reviewer:
	}
	return pluginsdk.InvokeResult{Text: "Done by " + j.agent + "."}
}

// tasksOf is a plan of n tasks.
func tasksOf(n int, lines ...string) string {
	var b strings.Builder
	b.WriteString("# Plan\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "\n### Task %d: part %d\n\nWrite part%d.txt.\n%s\n", i, i, i, strings.Join(lines, "\n"))
	}
	return b.String()
}

func structured(value any) *pluginsdk.InvokeResult {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return &pluginsdk.InvokeResult{Text: "Said.", StructuredOutput: raw, Demo: true}
}

func verdictOf(decision string, more map[string]any) *pluginsdk.InvokeResult {
	value := map[string]any{"verdict": decision, "score": 7, "summary": "Looked at.", "issues": []string{}, "patternsCompliance": "good"}
	if decision != "APPROVE" {
		value["issues"] = []string{"part1.txt:1: say more"}
	}
	maps.Copy(value, more)
	return structured(value)
}

// turnOf answers a turn that the plugin asks for.
func (w *world) turnOf(ctx context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
	w.mu.Lock()
	w.asked = append(w.asked, r)
	turns := w.turns
	w.mu.Unlock()
	var said *pluginsdk.InvokeResult
	if turns != nil {
		said = turns(r)
	}
	if said == nil {
		said = w.answers(r)
	}
	if said.CostUSD == 0 {
		said.CostUSD = w.prices.review
	}
	w.mu.Lock()
	w.costs[r.TaskID] += said.CostUSD
	w.mu.Unlock()
	w.group.Go(w.moved.raise)
	return *said
}

// scopeOf is what a review is about: a batch, "all" of the work in the last review, or nothing.
func (w *world) scopeOf(r pluginsdk.StartTurnRequest) string {
	task := w.task(r.TaskID)
	if task.Labels[labelRoot] != "" {
		return "all"
	}
	return cmp.Or(task.Labels[labelBatch], task.Labels[labelAgent])
}

func (w *world) answers(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
	switch r.Purpose {
	case "workflow-router":
		return structured(map[string]any{"stages": []map[string]string{{"agent": "architect"}, {"agent": "builder"}, {"agent": "reviewer"}}, "why": "It has parts."})
	case "workflow-acceptance":
		return structured(map[string]any{"checks": []string{"each part is there"}})
	}
	scope := w.scopeOf(r)
	w.mu.Lock()
	w.rounds[scope]++
	round := w.rounds[scope]
	w.mu.Unlock()
	decision := "APPROVE"
	if w.says != nil {
		decision = w.says(scope, round)
	}
	more := map[string]any{}
	if scope == "all" && strings.Contains(string(r.JSONSchema), `"batch"`) {
		decision, batch, _ := strings.Cut(decision, " of ")
		return verdictOf(decision, map[string]any{"batch": cmp.Or(batch, "Task 1")})
	}
	decision, _, _ = strings.Cut(decision, " of ")
	return verdictOf(decision, more)
}

// evidence is what the plugins before show of a task's work.
func (w *world) evidence(task pluginsdk.Task) (evidence []pluginsdk.Evidence) {
	tree := ""
	if task.CwdPlugin != "" {
		w.call(task.Cwd, "add", "-A")
		tree = w.call(task.Cwd, "write-tree")
		base := w.call(task.Cwd, "rev-parse", "HEAD^{tree}")
		if task.Labels[labelRoot] != "" {
			base = w.call(w.dir, "rev-parse", "HEAD^{tree}")
		}
		evidence = append(evidence, pluginsdk.Evidence{Plugin: worktreePlugin, Kind: "tree", Tree: tree, File: task.Cwd}, pluginsdk.Evidence{Plugin: worktreePlugin, Kind: "base", Tree: base, File: task.Cwd},
			pluginsdk.Evidence{Plugin: worktreePlugin, Kind: "patch-id", Output: w.call(task.Cwd, "diff", "--shortstat", base, tree) + " " + tree})
	}
	switch {
	case w.off || task.Labels[labelScope] == "none":
	case w.none:
		evidence = append(evidence, pluginsdk.Evidence{Plugin: validationPlugin, Kind: "no-checks", Tree: tree})
	default:
		evidence = append(evidence, pluginsdk.Evidence{Plugin: validationPlugin, Kind: "command", Command: "make test", Tree: tree})
	}
	return evidence
}

// judge asks the gates of a task that is evaluated, as the core does: the same call until it is answered.
func (w *world) judge(ctx context.Context, task pluginsdk.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.judging[task.ID] != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	w.judging[task.ID] = stop
	w.group.Go(func() {
		defer w.moved.raise()
		defer func() {
			w.mu.Lock()
			delete(w.judging, task.ID)
			w.mu.Unlock()
			stop()
		}()
		answer := w.gate(ctx, task)
		if answer == nil {
			return
		}
		if answer.Verdict == pluginsdk.VerdictAccept && task.CwdPlugin != "" {
			w.merge(task)
		}
		func() {
			defer func() { _ = recover() }() // somebody has moved it meanwhile
			w.host.Judge(task.ID, *answer)
		}()
	})
}

// merge puts the work of a task into what is above it, as the plugin worktree does.
func (w *world) merge(task pluginsdk.Task) {
	w.mu.Lock()
	into := cmp.Or(w.dirs[task.ParentTaskID], w.dir)
	w.merged = append(w.merged, firstLine(task.OriginalMessage))
	w.mu.Unlock()
	w.call(task.Cwd, "commit", "-q", "--allow-empty", "-m", firstLine(task.OriginalMessage))
	w.call(into, "fetch", "-q", task.Cwd, "HEAD")
	w.call(into, "cherry-pick", "--allow-empty", "--keep-redundant-commits", "HEAD..FETCH_HEAD")
}

func (w *world) gate(ctx context.Context, task pluginsdk.Task) *pluginsdk.OnTaskCompleteResponse {
	if w.checks != nil && task.Labels[labelScope] != "none" {
		if why := w.checks(task); why != "" {
			w.host.AddTaskAnswer(task.ID, pluginsdk.TaskAnswer{Iteration: task.CurrentIteration, Hook: pluginsdk.HookTaskComplete, Plugin: validationPlugin, Answer: string(pluginsdk.VerdictReject), Feedback: why})
			return reject(why)
		}
	}
	request := &pluginsdk.OnTaskCompleteRequest{
		Call: pluginsdk.Call{ID: fmt.Sprintf("%s:%d", task.ID, task.CurrentIteration)}, Task: task, Result: pluginsdk.InvokeResult{Text: task.Result}, Evidence: w.evidence(task),
	}
	again := w.twice
	for failures := 0; ; {
		moved := w.moved.wait()
		answer, err := w.complete(ctx, request)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && again:
			again = false
			continue
		case err == nil:
			w.host.AddTaskAnswer(task.ID, pluginsdk.TaskAnswer{Iteration: task.CurrentIteration, Hook: pluginsdk.HookTaskComplete, Plugin: name, Answer: string(answer.Verdict), Feedback: answer.Feedback})
			return answer
		case pluginsdk.CodeOf(err) == pluginsdk.CodeUnimplemented: // its process has died
		default:
			if failures++; failures == 3 {
				return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: "the plugin workflow has failed in OnTaskComplete: " + err.Error()}
			}
			continue
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
}

// complete asks the plugin that lives; CodeUnimplemented: it does not, or dies meanwhile.
func (w *world) complete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return living(w.now(), func(p *Plugin) (*pluginsdk.OnTaskCompleteResponse, error) { return p.OnTaskComplete(ctx, request) })
}

// living calls the plugin in a life; CodeUnimplemented: it dies over it.
func living[A any](l *life, call func(*Plugin) (*A, error)) (*A, error) {
	type outcome struct {
		answer *A
		err    error
	}
	over := make(chan outcome, 1)
	go func() {
		answer, err := call(l.plugin)
		over <- outcome{answer, err}
	}()
	select {
	case of := <-over:
		if !l.dead.Load() {
			return of.answer, of.err
		}
	case <-l.died:
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the plugin has died")
}

// until waits until something is so.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	late, look := time.NewTimer(time.Minute), time.NewTicker(20*time.Millisecond)
	defer late.Stop()
	defer look.Stop()
	for {
		moved := w.moved.wait()
		if is() {
			return
		}
		select {
		case <-moved:
		case <-look.C: // not all that happens is told
		case <-late.C:
			w.Fatalf("waited for %s in vain: %s", what, w.standing())
		}
	}
}

// standing is how all is, for a test that has failed.
func (w *world) standing() string {
	var b strings.Builder
	for _, task := range w.tasks() {
		fmt.Fprintf(&b, "\n%s %s %s %s at %d, $%.2f of %.2f: %s %.300s", task.ID, task.Labels[labelAgent], task.Labels[labelBatch], task.Status, task.CurrentIteration, task.CostUSD, task.CostCapUSD, task.Error, task.Feedback)
	}
	for _, entry := range w.host.State(name) {
		fmt.Fprintf(&b, "\n%s %.4000s", entry.Key, entry.Value)
	}
	return b.String()
}

// type is what a person types; the answer is the reply, or the error.
func (w *world) types(line string) (string, error) {
	word, body, _ := strings.Cut(line, " ")
	if word != "/workflow" {
		w.Fatalf("%q is no command of the plugin", line)
	}
	return w.commands(pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: fmt.Sprintf("command-%d", w.typed.Add(1))}, Thread: pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Cwd: w.dir},
		Message: pluginsdk.Message{Author: "ann"}, Body: body,
	})
}

// commands has the plugin that lives carry a command out; CodeUnimplemented: it dies over it.
func (w *world) commands(request pluginsdk.OnCommandRequest) (string, error) {
	answer, err := living(w.now(), func(p *Plugin) (*pluginsdk.OnCommandResponse, error) {
		return p.OnCommand(context.Background(), &request)
	})
	if err != nil {
		return "", err
	}
	return answer.Reply, nil
}

func (w *world) must(line string) string {
	w.Helper()
	said, err := w.types(line)
	if err != nil {
		w.Fatalf("%s: %v", line, err)
	}
	return said
}

// starts starts a workflow, and returns its id.
func (w *world) starts(options string) string {
	w.Helper()
	before := len(w.roots())
	if _, err := w.types("/workflow start " + options + " write the parts"); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		w.Fatal(err)
	}
	roots := w.roots()
	if len(roots) != before+1 {
		w.Fatalf("there are %d workflows", len(roots))
	}
	return roots[before].ID
}

func (w *world) roots() []pluginsdk.Task {
	return slices.DeleteFunc(w.tasks(), func(task pluginsdk.Task) bool { return task.Labels[labelRoot] == "" })
}

// waits returns why a workflow waits, once it does.
func (w *world) waits(id string) string {
	w.Helper()
	w.until("the workflow to wait", func() bool {
		if task := w.task(id); task.Status.Final() {
			w.Fatalf("it is %s: %s%s", task.Status, task.Error, w.standing())
		}
		return w.task(id).Status == pluginsdk.TaskWaiting
	})
	return w.task(id).Error
}

// ends waits for a workflow's end.
func (w *world) ends(id string) pluginsdk.Task {
	w.Helper()
	w.until("the end of the workflow", func() bool {
		task := w.task(id)
		if task.Status == pluginsdk.TaskWaiting {
			w.Fatalf("it waits: %s%s", task.Error, w.standing())
		}
		return over(task) && !slices.ContainsFunc(w.host.State(name), func(e pluginsdk.StateEntry) bool { return e.Key == openPrefix+id })
	})
	return w.task(id)
}

func (w *world) record(id string) (rec record) {
	for _, entry := range w.host.State(name) {
		if entry.Key == recordPrefix+id {
			if err := json.Unmarshal(entry.Value, &rec); err != nil {
				w.Error(err)
			}
		}
	}
	return rec
}

// told is what iterations of an agent were told, as "agent batch #iteration", in their order.
func (w *world) told() (told []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		told = append(told, strings.Join(strings.Fields(fmt.Sprintf("%s %s #%d", j.agent, j.batch, j.attempt)), " "))
	}
	return told
}

// reviewed is how often each batch was reviewed, and all of it.
func (w *world) reviewed() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.rounds)
}

// said are the lines in a thread.
func (w *world) said(threadID string) string {
	answer, err := w.sdk.Messages.List(context.Background(), &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: threadID, Limit: 1000}})
	if err != nil {
		w.Error(err)
		return ""
	}
	var lines []string
	for _, message := range answer.Messages {
		lines = append(lines, message.Content)
	}
	return strings.Join(lines, "\n")
}
