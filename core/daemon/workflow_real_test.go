package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// studio is a model that plays everybody in a workflow: who chooses the stages, draws up the
// checks, plans, builds and reviews.
type studio struct {
	t       *testing.T
	mu      sync.Mutex
	plans   []string       // that the architect writes, one after the other
	planned int            // how often
	reviews map[string]int // by scope, how often it was reviewed
	verdict func(scope string, n int) string
	told    []string // the first line of each stage's prompt, with its scope
}

var (
	stageTitle = regexp.MustCompile(`(?m)^# (Scouting|Planning|Building|Review|Last review of all the work)(?: of (Tasks? [0-9-]+))?`)
	taskTitle  = regexp.MustCompile(`(?m)^### Task (\d+): (.+)$`)
)

func write(t *testing.T, r fakeapi.Request, files ...string) fakeapi.Reply {
	t.Helper()
	dir := workingDirectory.FindStringSubmatch(r.System + strings.Join(r.UserTexts(), "\n"))
	if dir == nil {
		t.Errorf("the CLI does not say where it is: %.2000s", r.System)
		return fakeapi.Reply{Text: "BLOCKED: where am I?"}
	}
	var reply fakeapi.Reply
	for n := 0; n+1 < len(files); n += 2 {
		input, err := json.Marshal(map[string]string{"file_path": filepath.Join(strings.TrimSpace(dir[1]), files[n]), "content": files[n+1]})
		if err != nil {
			t.Error(err)
		}
		reply.Tools = append(reply.Tools, fakeapi.ToolUse{Name: "Write", Input: input})
	}
	return reply
}

func output(value string) fakeapi.Reply {
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: json.RawMessage(value)}}}
}

func (s *studio) answer(r fakeapi.Request) fakeapi.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	prompt := strings.Join(r.UserTexts(), "\n")
	title := stageTitle.FindStringSubmatch(prompt)
	results := len(r.ToolResults()) > 0
	switch {
	case title == nil && strings.Contains(prompt, "## How to choose"):
		if results {
			return fakeapi.Reply{Text: "Chosen."}
		}
		return output(`{"stages":[{"agent":"architect"},{"agent":"builder"},{"agent":"reviewer"}],"why":"It has seven parts."}`)
	case title == nil && strings.Contains(strings.ToLower(prompt), "acceptance"):
		if results {
			return fakeapi.Reply{Text: "Drawn up."}
		}
		return output(`{"checks":["each of the seven files is there"]}`)
	case title == nil:
		return fakeapi.Reply{Text: "I see."}
	}
	scope := title[2]
	if !results {
		s.told = append(s.told, strings.TrimSpace(title[1]+" "+scope))
	}
	switch title[1] {
	case "Planning":
		if results {
			return fakeapi.Reply{Text: "The plan is written."}
		}
		plan := s.plans[min(s.planned, len(s.plans)-1)]
		s.planned++
		return write(s.t, r, ".brain/PLAN.md", plan, ".brain/DECISIONS.md", "Plain text files.\n")
	case "Building":
		if results {
			return fakeapi.Reply{Text: "Built."}
		}
		var first, last int
		if _, err := fmt.Sscanf(scope, "Tasks %d-%d", &first, &last); err != nil {
			fmt.Sscanf(scope, "Task %d", &first)
			last = first
		}
		var files []string
		for n := first; n <= last; n++ {
			files = append(files, fmt.Sprintf("part%d.txt", n), fmt.Sprintf("part %d, written %d times\n", n, s.reviews[scope]+1))
		}
		return write(s.t, r, files...)
	default:
		return s.review(r, title[1], scope, results)
	}
}

// review reads a changed file first, and then decides.
func (s *studio) review(r fakeapi.Request, title, scope string, results bool) fakeapi.Reply {
	if !results {
		dir := workingDirectory.FindStringSubmatch(r.System + strings.Join(r.UserTexts(), "\n"))
		n := strings.TrimLeft(scope, "Tasks ")
		if scope == "" {
			n = "1"
		}
		n, _, _ = strings.Cut(n, "-")
		input, _ := json.Marshal(map[string]string{"file_path": filepath.Join(strings.TrimSpace(dir[1]), "part"+n+".txt")})
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Read", Input: input}}}
	}
	for _, block := range r.ToolResults() {
		if strings.Contains(fmt.Sprint(block), "Structured output") {
			return fakeapi.Reply{Text: "That is my verdict."}
		}
	}
	key := strings.TrimSpace(scope)
	if title != "Review" {
		key = "all"
	}
	s.reviews[key]++
	return output(s.verdict(key, s.reviews[key]))
}

func said(verdict, issue string) string {
	raw, _ := json.Marshal(map[string]any{"verdict": verdict, "score": 7, "summary": "I looked.", "issues": strings.Fields(issue), "patternsCompliance": "good", "batch": "Task 7"})
	return string(raw)
}

func sevenTasks(words string) string {
	var b strings.Builder
	b.WriteString("# Plan\n\n")
	for n := 1; n <= 7; n++ {
		fmt.Fprintf(&b, "### Task %d: part %d\n\nWrite part%d.txt%s\n\n", n, n, n, words)
	}
	return b.String()
}

// A request becomes software with nothing faked but the model: seven tasks in three batches, of which
// one is revised, and after the second another plan is asked for.
func TestAWorkflowWithTheRealAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	in := delegating(t, "")
	in.link(filepath.Join(pluginDir, "workflow"), "workflow")
	api := in.claude()
	redesigned := false
	s := &studio{t: t, plans: []string{sevenTasks("."), sevenTasks(".")}, reviews: make(map[string]int)}
	s.verdict = func(scope string, n int) string {
		verdict, issue := "APPROVE", ""
		switch {
		case scope == "Tasks 1-3" && n == 1:
			verdict, issue = "REVISE", "again"
		case scope == "Tasks 4-6" && !redesigned:
			redesigned = true
			verdict, issue = "REDESIGN", "otherwise"
		}
		out := said(verdict, issue)
		if scope != "all" {
			out = strings.Replace(out, `"batch":"Task 7",`, "", 1)
		}
		return out
	}
	api.Handle(s.answer)
	in.start()
	rows := in.database()
	for _, name := range []string{"worktree", "validation", "workflow"} {
		in.until("the serving of "+name, func() bool { return plugin(t, rows, name).State == pluginsdk.PluginServing })
	}
	dir := t.TempDir()
	watch, primary := in.watch(), in.primary()
	accepted, _ := in.say(watch, primary, "/workflow start dir="+dir+" git=yes write seven parts")
	t.Logf("%s", in.replyTo(primary, accepted.RunID))
	for _, row := range in.messages(primary) {
		t.Logf("%s/%s %s: %s", row.Role, row.Kind, row.Source, row.Content)
	}
	var root pluginsdk.Task
	in.until("the end of the workflow", func() bool {
		tasks, err := rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: primary})
		if err == nil && len(tasks) == 1 {
			root = tasks[0]
		}
		return root.ID != "" && (!root.CompletedAt.IsZero() || root.Status == pluginsdk.TaskWaiting)
	})
	for _, row := range in.messages(root.ThreadID) {
		t.Logf("%s/%s %s: %s", row.Role, row.Kind, row.Source, row.Content)
	}
	t.Logf("told: %q", s.told)
	state, err := os.ReadFile(filepath.Join(dir, ".brain", "pipeline-state.json"))
	t.Logf("%v %s", err, state)
	if root.Status != pluginsdk.TaskCompleted {
		t.Fatalf("it is %s: %s", root.Status, root.Error)
	}
	_ = http.StatusOK
}
