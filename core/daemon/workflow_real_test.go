package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sevenTasks is a plan of seven tasks, each with a file of its own.
func sevenTasks() string {
	var b strings.Builder
	b.WriteString("# Plan\n\n")
	for n := 1; n <= 7; n++ {
		fmt.Fprintf(&b, "### Task %d: part %d\n\nWrite part%d.txt.\n\n", n, n, n)
	}
	return b.String()
}

// scopeOf reads a scope, such as Tasks 4-6.
func scopeOf(t *testing.T, scope string) (first, last int) {
	t.Helper()
	if n, _ := fmt.Sscanf(scope, "Tasks %d-%d", &first, &last); n == 2 {
		return first, last
	}
	if n, _ := fmt.Sscanf(scope, "Task %d", &first); n != 1 {
		t.Errorf("%q is no scope", scope)
	}
	return first, first
}

// sevenParts is a play in which the batches are built from a plan of seven tasks. The first review of
// the first batch asks for changes, that of the second one for another plan.
func sevenParts(t *testing.T) *play {
	return &play{
		word: "write seven parts", routes: []string{`{"stages":[{"agent":"architect"},{"agent":"builder"},{"agent":"reviewer"}],"why":"It has seven parts."}`},
		plan: plans(sevenTasks()),
		build: func(of part) []fakeapi.Reply {
			first, last := scopeOf(t, of.scope)
			var files []string
			for n := first; n <= last; n++ {
				files = append(files, fmt.Sprintf("part%d.txt", n), fmt.Sprintf("part %d, written %d times\n", n, of.n))
			}
			return builds(files...)(of)
		},
		review: func(of part) []fakeapi.Reply {
			first := 1
			if of.title == reviewing {
				first, _ = scopeOf(t, of.scope)
			}
			decision := "APPROVE"
			switch fmt.Sprint(of.scope, " ", of.n) {
			case "Tasks 1-3 1":
				decision = "REVISE"
			case "Tasks 4-6 1":
				decision = "REDESIGN"
			}
			return append([]fakeapi.Reply{reads(of, fmt.Sprintf("part%d.txt", first))}, says(decides(of, decision, "FINDING-"+decision))...)
		},
	}
}

// A request becomes software with nothing faked but the model: seven tasks in three batches, of which
// the first is revised, and in the second another plan is asked for.
func TestAWorkflowWithTheRealAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	of := sevenParts(t)
	w := newWorkshop(t, of)
	w.open(nil)
	dir := filepath.Join(t.TempDir(), "a new project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b := w.begin(w.primary(), dir, "git=yes", of.word)
	root := b.rests()
	b.tells()
	if root.Status != pluginsdk.TaskCompleted {
		t.Fatalf("it is %s: %s", root.Status, root.Error)
	}
	wantScenes := []string{
		"routing", "drawing", "Planning", "Building Tasks 1-3", "Review Tasks 1-3", "Building Tasks 1-3", "Review Tasks 1-3", "Building Tasks 4-6", "Review Tasks 4-6",
		"Planning", "Building Tasks 4-6", "Review Tasks 4-6", "Building Task 7", "Review Task 7", "Last review of all the work",
	}
	if got := w.scenes(of); !slices.Equal(got, wantScenes) {
		t.Errorf("asked were %q\nwant %q", got, wantScenes)
	}
	w.subtest("files", func(t *testing.T) { sevenFiles(t, repository{t, dir}) })
	w.subtest("state", func(t *testing.T) { sevenInState(t, b) })
	w.subtest("threads", func(t *testing.T) { sevenThreads(t, b, root) })
	w.subtest("cost", func(t *testing.T) { sevenCosts(t, b, root) })
	w.subtest("words", func(t *testing.T) { sevenWords(t, w, of) })
	told := 0
	for _, row := range w.messages(b.thread) {
		if row.Kind == pluginsdk.MessageNotification && strings.Contains(row.Content, "is completed") && strings.Contains(row.Content, of.word) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("who asked for it was told %d times that it is completed", told)
	}
}

// sevenFiles wants the parts and the plan on the project's branch, by one commit a batch, and nothing
// left over.
func sevenFiles(t *testing.T, r repository) {
	for n, times := range []int{2, 2, 2, 2, 2, 2, 1} {
		name, want := fmt.Sprintf("part%d.txt", n+1), fmt.Sprintf("part %d, written %d times", n+1, times)
		if got := r.git("show", "HEAD:"+name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if got := r.git("show", "HEAD:.brain/PLAN.md"); got != strings.TrimSpace(sevenTasks()) {
		t.Errorf("the plan is %q", got)
	}
	if got, want := r.git("ls-files", ".brain"), ".brain/DECISIONS.md\n.brain/PLAN.md"; got != want {
		t.Errorf("of .brain git has %q, want %q", got, want)
	}
	r.clean()
	if ignored := r.git("check-ignore", ".brain/pipeline-state.json", ".brain/.gitignore"); strings.Count(ignored, "\n") != 1 {
		t.Errorf("git ignores %q", ignored)
	}
	commits := strings.Split(r.git("log", "--no-merges", "--reverse", "--format=%s", "HEAD"), "\n")
	want := []string{"What was there before the workflow", "architect: write seven parts", "Tasks 1-3: part 1; part 2; part 3", "Tasks 4-6: part 4; part 5; part 6", "Task 7: part 7"}
	t.Logf("the repository:\n%s", r.git("log", "--graph", "--format=%h %an: %s"))
	if !slices.Equal(commits, want) {
		t.Errorf("the commits are %q\nwant %q", commits, want)
	}
}

// sevenInState wants the file in .brain to say what there was.
func sevenInState(t *testing.T, b begun) {
	type stage struct {
		Agent, Status, BatchScope, SessionID string
		StartedAt, CompletedAt               time.Time
		Validation                           *struct{ Passed bool }
	}
	var state struct {
		Version int
		ID      string
		EndedAt time.Time
		Stages  []stage
	}
	b.w.until("the end in the state file", func() bool {
		raw, err := os.ReadFile(filepath.Join(b.dir, ".brain", "pipeline-state.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &state); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		return !state.EndedAt.IsZero()
	})
	if state.Version != 1 || state.ID != b.id || len(state.Stages) != 7 {
		t.Fatalf("version %d of %s with %d stages", state.Version, state.ID, len(state.Stages))
	}
	for n, s := range state.Stages {
		agent, scope := "architect", ""
		if n > 0 {
			agent, scope = []string{"reviewer", "builder"}[n%2], []string{"Tasks 1-3", "Tasks 4-6", "Task 7"}[(n-1)/2]
		}
		if s.Agent != agent || s.BatchScope != scope || s.Status != "completed" || s.SessionID == "" || s.Validation == nil || !s.Validation.Passed ||
			s.StartedAt.IsZero() || s.CompletedAt.Before(s.StartedAt) {
			t.Errorf("stage %d is %+v; want %s %q", n, s, agent, scope)
		}
	}
}

// sevenThreads wants a thread for each stage and another for the reviews of each batch, and every
// review in a session of its own.
func sevenThreads(t *testing.T, b begun, root pluginsdk.Task) {
	seen, sessions := map[string]string{root.ThreadID: "the workflow"}, map[string]string{}
	report := b.report()
	for n, s := range report.Stages {
		what := fmt.Sprint(s.Agent, " ", s.Batch)
		if seen[s.ThreadID] != "" || s.ThreadID == "" {
			t.Errorf("%s has the thread of %s", what, seen[s.ThreadID])
		}
		seen[s.ThreadID] = what
		thread, err := b.w.rows.Thread(t.Context(), s.ThreadID)
		if err != nil || thread.ParentThreadID != root.ThreadID {
			t.Errorf("the thread of %s is below %q: %v", what, thread.ParentThreadID, err)
		}
		runs, err := b.w.rows.Runs(t.Context(), pluginsdk.RunQuery{ThreadID: s.ThreadID})
		if err != nil || len(runs) == 0 {
			t.Errorf("%s has no runs: %v", what, err)
		}
		own := map[string]bool{}
		for _, run := range runs {
			if by := sessions[run.SessionID]; by != "" && by != what || s.Role == "reviewer" && own[run.SessionID] || run.SessionID == "" {
				t.Errorf("%s worked in the session %q of %q", what, run.SessionID, by)
			}
			own[run.SessionID], sessions[run.SessionID] = true, what
		}
		if want := []int{2, 2, 2, 1, 1, 1, 1}[n]; len(runs) != want { // the second plan's batches have tasks and threads of their own
			t.Errorf("%s has %d runs, want %d", what, len(runs), want)
		}
		if s.Role == "builder" && len(own) != 1 {
			t.Errorf("%s worked in %d sessions", what, len(own))
		}
	}
}

// sevenCosts wants what was billed to be what the workflow has cost, of which a part is that of reviewing.
func sevenCosts(t *testing.T, b begun, root pluginsdk.Task) {
	var runs, reviews float64
	for _, thread := range append([]string{root.ThreadID}, threadsOf(b.report())...) {
		list, err := b.w.rows.Runs(t.Context(), pluginsdk.RunQuery{ThreadID: thread})
		if err != nil {
			t.Error(err)
		}
		for _, run := range list {
			runs += run.CostUSD
		}
	}
	report := b.report()
	for _, s := range report.Stages {
		if s.Role == "reviewer" {
			reviews += s.CostUSD
		}
	}
	billed := b.w.api.Billed(fakeapi.Main).USD
	last := report.Cost.VerifyingUSD - reviews
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	if !near(root.CostUSD, billed) || !near(report.Cost.BuildingUSD+report.Cost.VerifyingUSD, root.CostUSD) || last <= 0 || report.Cost.BuildingUSD <= 0 || runs > billed+1e-6 {
		t.Errorf("it cost $%f of $%f that were billed and $%f of its threads' runs: %+v, reviews of batches $%f", root.CostUSD, billed, runs, report.Cost, reviews)
	}
	if report.Time.BuildingSeconds <= 0 || report.Time.VerifyingSeconds <= 0 {
		t.Errorf("it took %+v", report.Time)
	}
	t.Logf("$%.4f, building $%.4f and verifying $%.4f; %.1f s and %.1f s", root.CostUSD, report.Cost.BuildingUSD, report.Cost.VerifyingUSD, report.Time.BuildingSeconds, report.Time.VerifyingSeconds)
}

func threadsOf(r workflowReport) (threads []string) {
	for _, s := range r.Stages {
		threads = append(threads, s.ThreadID)
	}
	return threads
}

// sevenWords looks at what builders and reviewers were told.
func sevenWords(t *testing.T, w *workshop, of *play) {
	for _, scope := range []string{"Tasks 1-3", "Tasks 4-6", "Task 7"} {
		first, last := scopeOf(t, scope)
		builder, reviewer := w.all(of, building, scope)[0], w.all(of, reviewing, scope)[0]
		for n := 1; n <= 7; n++ {
			in := n >= first && n <= last
			if got := strings.Contains(builder.words, fmt.Sprintf("> ### Task %d: part %d", n, n)); got != in {
				t.Errorf("the builder of %s is told of task %d: %t", scope, n, got)
			}
		}
		for _, words := range []string{"Build ONLY", of.word, ".brain/PLAN.md", ".brain/DECISIONS.md"} {
			if !strings.Contains(builder.words, words) {
				t.Errorf("the builder of %s is not told %q", scope, words)
			}
		}
		for _, words := range []string{"You review ONLY " + scope, of.word, acceptance, ".brain/PATTERNS.md", fmt.Sprintf("+part %d, written 1 times", first), "All of it is done, and the tests pass."} {
			if !strings.Contains(reviewer.words, words) {
				t.Errorf("the reviewer of %s is not told %q in\n%s", scope, words, reviewer.words)
			}
		}
		if strings.Contains(reviewer.words, "Build ONLY") {
			t.Errorf("the reviewer of %s has the builder's words", scope)
		}
	}
	for _, title := range []string{planning, building} {
		for _, scope := range []string{"", "Tasks 1-3", "Tasks 4-6", "Task 7"} {
			for _, one := range w.all(of, title, scope) {
				if strings.Contains(one.words, acceptance) {
					t.Errorf("%s %s knows the acceptance checks", title, scope)
				}
			}
		}
	}
	again, anew := w.all(of, building, "Tasks 1-3")[1], w.all(of, planning, "")[1]
	if !strings.Contains(again.newest, "FINDING-REVISE") || !strings.Contains(anew.newest, "FINDING-REDESIGN") || !strings.Contains(anew.newest, "Task 1, Task 2, Task 3") {
		t.Errorf("the second time the builder is told %q and the architect %q", again.newest, anew.newest)
	}
	if last := w.all(of, lastReview, "")[0]; !strings.Contains(last.words, acceptance) || !strings.Contains(last.words, "+part 7, written 1 times") || !strings.Contains(last.words, "+part 1, written 2 times") {
		t.Errorf("the last review is told %s", last.words)
	}
}
