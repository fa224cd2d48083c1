package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// studio is a model that plays everybody in workflows: who chooses the stages, draws up the checks,
// plans, builds and reviews. Which workflow a call is of is told by a word of its request.
type studio struct {
	t     *testing.T
	mu    sync.Mutex
	plays []*play
}

// play is how one workflow goes. What is nil is done honestly.
type play struct {
	word   string   // in the request, and in no other one
	routes []string // what who chooses the stages answers, one after the other; the last for ever
	plan   func(of part) []fakeapi.Reply
	build  func(of part) []fakeapi.Reply
	review func(of part) []fakeapi.Reply

	told  []part // what was asked of whom, in order
	turn  []fakeapi.Reply
	count map[string]int
	// stalled is when the last answer began that is broken off after its first words; zero: none has.
	stalled time.Time
}

// acceptance is what is drawn up from every request: nobody who builds may see it.
const acceptance = "the acceptance: the file result.txt says ok"

// part is a stage that somebody is asked to play.
type part struct {
	title, scope string // such as Building, Tasks 1-3
	n            int    // how often it was played, this time included
	dir          string
	words        string // all that the person of the part was told so far, the newest included
	newest       string
}

var stageTitle = regexp.MustCompile(`(?m)^# (Scouting|Planning|Building|Review|Last review of all the work)(?: of (Tasks? [0-9-]+))?$`)

const (
	planning, building, reviewing, lastReview = "Planning", "Building", "Review", "Last review of all the work"
	routing, drawing                          = "routing", "drawing"
)

// reply says what a part says next: a turn is what play answers to its prompt, one reply after each
// result of a tool.
func (s *studio) reply(r fakeapi.Request) fakeapi.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.Join(r.UserTexts(), "\n")
	var of *play
	for _, one := range s.plays {
		if strings.Contains(words, one.word) {
			of = one
		}
	}
	if of == nil || !fakeapi.Main(r) {
		return fakeapi.Reply{Text: "I see."}
	}
	step := 0
	for n := len(r.Messages) - 1; n >= 0; n-- {
		one := fakeapi.Request{Messages: r.Messages[n : n+1]}
		if r.Messages[n].Role == "user" && len(one.Newest()) > 0 { // a turn that was cut off has results in the same message
			break
		}
		if len(one.ToolResults()) > 0 {
			step++
		}
	}
	if step == 0 {
		of.begin(s.t, r, words)
	}
	if step < len(of.turn) {
		if of.turn[step].Stall != "" {
			of.stalled = time.Now()
		}
		return of.turn[step]
	}
	return fakeapi.Reply{Text: "That is all."}
}

func (of *play) begin(t *testing.T, r fakeapi.Request, words string) {
	now := part{words: words, newest: strings.Join(r.Newest(), "\n")}
	if title := stageTitle.FindStringSubmatch(words); title != nil {
		now.title, now.scope = title[1], title[2]
	} else if now.title = drawing; strings.Contains(words, "## How to choose") {
		now.title = routing
	}
	if dir := workingDirectory.FindStringSubmatch(r.System + words); dir != nil {
		now.dir = strings.TrimSpace(dir[1])
	} else {
		t.Errorf("the CLI does not say where it is: %.2000s", r.System)
	}
	if of.count == nil {
		of.count = make(map[string]int)
	}
	of.count[now.title+now.scope]++
	now.n = of.count[now.title+now.scope]
	of.told = append(of.told, now)
	act := map[string]func(part) []fakeapi.Reply{
		routing:  func(asked part) []fakeapi.Reply { return says(of.routes[min(asked.n, len(of.routes))-1]) },
		drawing:  func(part) []fakeapi.Reply { return says(`{"checks":["` + acceptance + `"]}`) },
		planning: of.plan, building: of.build, reviewing: of.review, lastReview: of.review,
	}[now.title]
	if act == nil {
		act = map[string]func(part) []fakeapi.Reply{building: builds("result.txt", "ok\n"), reviewing: judges, lastReview: judges}[now.title]
	}
	of.turn = act(now)
}

// speaks waits until an answer of a play is broken off after its first words, and returns when that was.
func (w *workshop) speaks(of *play) (at time.Time) {
	w.installation.t.Helper()
	w.until("the first words of an answer", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		at = of.stalled
		return !at.IsZero()
	})
	return at
}

// scenes are what was asked of whom, in order.
func (s *studio) scenes(of *play, but ...string) (scenes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range of.told {
		if !strings.Contains(strings.Join(but, " "), one.title) {
			scenes = append(scenes, strings.TrimSpace(one.title+" "+one.scope))
		}
	}
	return scenes
}

// all are the times that a part was played.
func (s *studio) all(of *play, title, scope string) (parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range of.told {
		if one.title == title && one.scope == scope {
			parts = append(parts, one)
		}
	}
	return parts
}

// uses is a reply that calls a tool.
func uses(tool string, input any) fakeapi.Reply {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: tool, Input: raw}}}
}

// says is the turn of who answers with this output.
func says(output string) []fakeapi.Reply {
	return []fakeapi.Reply{uses("StructuredOutput", json.RawMessage(output))}
}

func writes(of part, file, text string) fakeapi.Reply {
	return uses("Write", map[string]string{"file_path": filepath.Join(of.dir, file), "content": text})
}

func reads(of part, file string) fakeapi.Reply {
	return uses("Read", map[string]string{"file_path": filepath.Join(of.dir, file)})
}

func runs(command string) fakeapi.Reply {
	return uses("Bash", map[string]string{"command": command, "description": "do it"})
}

// builds is a builder that writes files, each name with its text, and says so.
func builds(files ...string) func(part) []fakeapi.Reply {
	return func(of part) (turn []fakeapi.Reply) {
		for n := 0; n+1 < len(files); n += 2 {
			turn = append(turn, writes(of, files[n], files[n+1]))
		}
		return append(turn, fakeapi.Reply{Text: "All of it is done, and the tests pass."})
	}
}

// plans is an architect that leaves this plan.
func plans(plan string, more ...string) func(part) []fakeapi.Reply {
	return builds(append([]string{".brain/PLAN.md", plan, ".brain/DECISIONS.md", "Plain text files.\n"}, more...)...)
}

// verdict is a reviewer's output.
func verdict(decision, batch string, issues ...string) string {
	output := map[string]any{"verdict": decision, "score": 7, "summary": "I looked.", "issues": append([]string{}, issues...), "patternsCompliance": "good"}
	if batch != "" {
		output["batch"] = batch
	}
	raw, err := json.Marshal(output)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// approves is a reviewer that opens a file first.
func approves(file string) func(part) []fakeapi.Reply {
	return func(of part) []fakeapi.Reply {
		return append([]fakeapi.Reply{reads(of, file)}, says(decides(of, "APPROVE"))...)
	}
}

// judges is a reviewer that opens result.txt, and approves what says ok on a line of its own.
func judges(of part) []fakeapi.Reply {
	if strings.Contains(of.words, "\n> +ok\n") {
		return approves("result.txt")(of)
	}
	return append([]fakeapi.Reply{reads(of, "result.txt")}, says(decides(of, "REVISE", "result.txt does not say ok"))...)
}

// decides is the output of a part; the last review has to name a batch.
func decides(of part, decision string, issues ...string) string {
	batch := ""
	if named := regexp.MustCompile("batch whose builder has to change something: one of ([^.]+)").FindStringSubmatch(of.words); named != nil {
		all := strings.Split(named[1], ", ")
		batch = all[len(all)-1]
	}
	return verdict(decision, batch, issues...)
}

// workshop is an installation in which workflows are built with the real agent.
type workshop struct {
	*installation
	rows *store.Store
	api  *fakeapi.Server
	*studio
}

// newWorkshop has the plugins that a workflow takes. The real agent is played by the studio.
func newWorkshop(t *testing.T, plays ...*play) *workshop {
	t.Helper()
	w := &workshop{installation: delegating(t, ""), studio: &studio{t: t, plays: plays}}
	w.link(filepath.Join(pluginDir, "workflow"), "workflow")
	w.api = w.claude()
	w.api.Handle(w.reply)
	return w
}

// open starts the daemon and waits until the plugins serve.
func (w *workshop) open(settings map[string]any) {
	t := w.installation.t
	t.Helper()
	w.start()
	w.rows = w.database()
	for _, name := range []string{"worktree", "validation", "workflow"} {
		w.until("the serving of "+name, func() bool { return plugin(t, w.rows, name).State == pluginsdk.PluginServing })
	}
	if settings != nil {
		var answer json.RawMessage
		if status := w.call(http.MethodPatch, "/api/plugins/workflow/settings", map[string]any{"values": settings}, &answer); status != http.StatusOK {
			t.Fatalf("the settings: %d %s", status, answer)
		}
	}
}

// begun is a workflow that was started.
type begun struct {
	w      *workshop
	dir    string
	thread string // in which it was started
	id     string
}

// begin starts a workflow by a person's command.
func (w *workshop) begin(thread, dir, options, request string) begun {
	t := w.installation.t
	t.Helper()
	watch := w.watch()
	defer watch.leave()
	accepted, _ := w.say(watch, thread, fmt.Sprintf("/workflow start dir=%q %s %s", dir, options, request))
	b := begun{w: w, dir: dir, thread: thread}
	w.until("the task of a workflow", func() bool {
		tasks, err := w.rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: thread, Plugin: "workflow"})
		for _, task := range tasks {
			if task.Labels["workflow.dir"] == dir {
				b.id = task.ID
			}
		}
		if err == nil && b.id == "" && w.run(accepted.RunID).State.Final() {
			rows := w.messages(thread)
			t.Fatalf("it did not begin: %s", rows[len(rows)-1].Content)
		}
		return b.id != ""
	})
	return b
}

// root is the task of the workflow as it is now.
func (b begun) root() pluginsdk.Task {
	t := b.w.installation.t
	t.Helper()
	task, err := b.w.rows.Task(t.Context(), b.id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// rests waits until the workflow is over or waits for a person.
func (b begun) rests() (root pluginsdk.Task) {
	b.w.installation.t.Helper()
	b.w.until("the end of a workflow", func() bool { root = b.root(); return overOrWaiting(root) })
	return root
}

// denies answers no to what the agents of all workflows ask people, until the workflow rests. It returns how
// often it was asked.
func (b begun) denies() (asked int) {
	t := b.w.installation.t
	t.Helper()
	b.w.until("the end of a workflow", func() bool {
		var page struct{ Approvals []pluginsdk.Approval }
		b.w.call(http.MethodGet, "/api/approvals?state=open", nil, &page)
		for _, approval := range page.Approvals {
			if status := b.w.decide(approval, map[string]any{"choice": "deny"}); status != http.StatusOK {
				t.Errorf("POST /api/approvals: %d", status)
			}
			asked++
		}
		return overOrWaiting(b.root())
	})
	return asked
}

// says types a command about the workflow, such as "stop", and returns the answer.
func (b begun) says(verb, options string) string {
	t := b.w.installation.t
	t.Helper()
	watch := b.w.watch()
	defer watch.leave()
	accepted, _ := b.w.say(watch, b.thread, strings.TrimSpace(fmt.Sprintf("/workflow %s %s %s", verb, b.id, options)))
	answer := ""
	for _, row := range b.w.messages(b.thread) {
		if row.RunID == accepted.RunID && row.Source == "workflow" {
			answer += row.Content
		}
	}
	return answer
}

// workflowReport is what the tool workflow_status says of a workflow, as far as tests look at it.
type workflowReport struct {
	ID, State, Waits, Branch string
	Git                      bool
	Acceptance               []string
	Redesigns                int
	Stages                   []struct {
		Agent, Role, Batch, Status, TaskID, ThreadID, RunID, SessionID string
		Attempt, Round                                                 int
		Validation                                                     *struct {
			Passed bool
			Tries  int
			Reason string
		}
		Verdicts []struct{ Verdict, RunID, Tree, Source string }
		Hold     string
		CostUSD  float64
	}
	Final []struct{ Verdict, RunID string }
	Cost  struct{ USD, BuildingUSD, VerifyingUSD, CapUSD float64 }
	Time  struct{ BuildingSeconds, VerifyingSeconds float64 }
}

func (b begun) report() (r workflowReport) {
	t := b.w.installation.t
	t.Helper()
	var answer struct {
		Text       string
		IsError    bool
		Structured json.RawMessage
	}
	if status := b.w.call(http.MethodPost, "/api/tools/workflow__workflow_status", map[string]any{"input": map[string]string{"workflow": b.id}}, &answer); status != http.StatusOK || answer.IsError {
		t.Fatalf("workflow_status: %d %s", status, answer.Text)
	}
	if err := json.Unmarshal([]byte(answer.Text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// tells logs what the workflow's thread has, for who reads a failure.
func (b begun) tells() {
	t := b.w.installation.t
	t.Helper()
	for _, row := range b.w.messages(b.root().ThreadID) {
		t.Logf("%s/%s %s: %s", row.Role, row.Kind, row.Source, row.Content)
	}
}
