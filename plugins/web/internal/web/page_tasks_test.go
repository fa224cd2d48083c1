package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// taskSite is an instance with a task in each of the states that a person tells apart.
func taskSite(t *testing.T) *instance {
	s := demanding(t)
	s.host.AddPlugin(pluginsdk.PluginInfo{Name: "delegation", Enabled: true, State: pluginsdk.PluginServing})
	s.host.AddThread(pluginsdk.Thread{ID: "shop", Source: "web", SourceID: "2", Kind: pluginsdk.ThreadGeneral, Name: `The <b>shop</b> & its "prices"`})
	s.host.AddThread(pluginsdk.Thread{ID: "its-thread", Source: "task", SourceID: "waits", Kind: pluginsdk.ThreadTask})
	made := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s.host.AddTask(pluginsdk.Task{
		ID: "waits", ThreadID: "its-thread", ParentThreadID: "shop", Plugin: "delegation", Status: pluginsdk.TaskWaiting, Marks: []string{"conflict"},
		OriginalMessage: "Mend the <script>alert(1)</script> parser\nand test it", Prompt: "Mend it", Result: "It is **mended**.\n\n<img src=x onerror=alert(1)>\n\nDONE:", Error: "a.go was changed on both sides",
		RequestedBy: "ann", CurrentIteration: 2, MaxIterations: 5, MaxValidationIterations: 3, CostUSD: 0.5, CostCapUSD: 5, CreatedAt: made,
		Labels: map[string]string{"worktree.repository": "/my repo", "worktree.branch": "task/waits", "team": "core"},
	})
	s.host.AddTask(pluginsdk.Task{
		ID: "blocked", ThreadID: "other", Plugin: "delegation", Status: pluginsdk.TaskWaiting, Marks: []string{"blocked"}, OriginalMessage: "Move the shop",
		Error: "which machine?", Result: "BLOCKED: which machine?",
		CurrentIteration: 1, MaxIterations: 5, CostCapUSD: 5, CreatedAt: made,
	})
	s.host.AddTask(pluginsdk.Task{ID: "runs", ThreadID: "t3", ParentTaskID: "waits", ParentThreadID: "its-thread", Plugin: "delegation", Status: pluginsdk.TaskRunning, OriginalMessage: "Write the tests", CurrentIteration: 1, MaxIterations: 5, CreatedAt: made})
	s.host.AddTask(pluginsdk.Task{ID: "failed", ThreadID: "t4", Plugin: "delegation", Status: pluginsdk.TaskFailed, OriginalMessage: "Rename the pages", Error: "no such model", CurrentIteration: 1, MaxIterations: 5, CreatedAt: made, CompletedAt: made.Add(time.Minute)})
	s.host.AddTask(pluginsdk.Task{ID: "deep", ThreadID: "t5", ParentTaskID: "runs", Plugin: "delegation", Status: pluginsdk.TaskCompleted, OriginalMessage: "Write one test", CreatedAt: made, CompletedAt: made})
	for _, answer := range []pluginsdk.TaskAnswer{
		{Iteration: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "worktree", Evidence: []pluginsdk.Evidence{{Kind: "diff", Diff: "+an older one"}, {Kind: "paths", Output: "old.go\n"}}},
		{Iteration: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "validation", Answer: "reject", Feedback: "a test fails: TestParse", Evidence: []pluginsdk.Evidence{
			{Kind: "command", Command: "go test ./...", ExitCode: 1, Output: "--- FAIL: TestParse"},
		}},
		{Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskComplete, Plugin: "worktree", Evidence: []pluginsdk.Evidence{
			{Kind: "tree", Tree: "7aee"}, {Kind: "base", Tree: "ba5e"}, {Kind: "paths", Output: "a.go\nb.go\n"}, {Kind: "patch-id", Output: "1d1d"},
			{Kind: "diff", Diff: "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n package a\n-var old = 1\n+var fresh = \"<i>\"\n"},
		}},
		{Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskComplete, Plugin: "validation", Answer: "accept", Evidence: []pluginsdk.Evidence{
			{Kind: "command", Command: "go test ./...", Output: "ok"},
			{Kind: "answer", Command: "tests_written", Output: "yes: TestParse covers <both> branches"},
			{Kind: "file", File: "a.go", Line: 12, Output: "new()"},
		}},
		{Iteration: 2, Round: 2, Hook: pluginsdk.HookTaskValidated, Plugin: "worktree", Answer: "wait", Feedback: "a.go was changed on both sides"},
	} {
		s.host.AddTaskAnswer("waits", answer)
	}
	return s
}

// lacks fails when an answer has one of the words.
func (s *instance) lacks(what string, answer got, words ...string) {
	s.Helper()
	for _, word := range words {
		if strings.Contains(answer.body, word) {
			s.Errorf("%s has %q", what, word)
		}
	}
}

func (s *instance) task(id string) pluginsdk.Task {
	s.Helper()
	answer, err := s.host.SDK().Tasks.Get(s.Context(), &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		s.Fatal(err)
	}
	return answer.Task
}

// What waits for a person comes first, and who looks sees what for; all words of others are
// text.
func TestTheBoardHasTheTasksByWhatTheyNeed(t *testing.T) {
	s := taskSite(t)
	page := s.expect("the board", s.logIn("ann", pluginsdk.ScopeWork).visit("/tasks"), 200,
		"Waiting for a person", "Mend the &lt;script&gt;alert(1)&lt;/script&gt; parser", "a.go was changed on both sides", "conflict", "team: core",
		"iteration 2 of 5", "$0.50 of $5", `href="/tasks/waits"`, `href="/chat/shop"`, "The &lt;b&gt;shop&lt;/b&gt;", "At work", "Write the tests", "Ended", "No such model", `href="/tasks/new"`, `data-live="task: approval:"`)
	s.lacks("the board", page, "<script>alert", "<b>shop", "and test it", "worktree.repository")
	waiting, working, over := strings.Index(page.body, "Move the shop"), strings.Index(page.body, "Write the tests"), strings.Index(page.body, "Rename the pages")
	if waiting > working || working > over {
		t.Errorf("what waits is at %d, what is at work at %d, what has ended at %d", waiting, working, over)
	}
	s.lacks("the board of a reader", s.logIn("eve", pluginsdk.ScopeRead).visit("/tasks"), "/tasks/new")
}

func TestTheListHasWhatIsChosen(t *testing.T) {
	s := taskSite(t)
	b := s.logIn("ann", pluginsdk.ScopeRead)
	for query, want := range map[string]string{
		"":                         "waits blocked runs failed deep",
		"&status=waiting":          "waits blocked",
		"&status=work":             "runs",
		"&status=ended":            "failed deep",
		"&status=nonsense":         "waits blocked runs failed deep",
		"&thread=shop":             "waits",
		"&plugin=other":            "",
		"&status=work&thread=shop": "",
	} {
		page := s.expect(query, b.visit("/tasks?view=list"+query), 200)
		for _, id := range []string{"waits", "blocked", "runs", "failed", "deep"} {
			if has := strings.Contains(page.body, `class="title" href="/tasks/`+id+`"`); has != strings.Contains(want, id) {
				t.Errorf("%s: has %s: %v; want %q", query, id, has, want)
			}
		}
		if want == "" {
			s.expect(query, page, 200, "No such tasks")
		}
	}
	for n := range 40 {
		s.host.AddTask(pluginsdk.Task{ID: "more-" + string(rune('A'+n)), Status: pluginsdk.TaskCompleted, OriginalMessage: "More"})
	}
	page := s.expect("the first page", b.visit("/tasks?view=list&status=ended"), 200, "Older")
	s.lacks("the first page", page, "Rename the pages", "Newer")
	_, rest, _ := strings.Cut(page.body, `href="/tasks?after=`)
	older, _, _ := strings.Cut(rest, `"`)
	if !strings.Contains(older, "status=ended") {
		t.Errorf("the next page is of others: %s", older)
	}
	page = s.expect("the second page", b.visit("/tasks?after="+strings.ReplaceAll(older, "&amp;", "&")), 200, "Rename the pages", "Newer")
	s.lacks("the last page", page, "Older")
}

// Who has to decide finds why a task waits, what came of it, and what that rests on.
func TestATaskIsShown(t *testing.T) {
	s := taskSite(t)
	b := s.logIn("ann", pluginsdk.ScopeWork)
	s.expect("the overview", b.visit("/tasks/waits"), 200, "Its work is there, and waits for a person", "a.go was changed on both sides",
		"It is <strong>mended</strong>.", "&lt;img src=x", "and test it", "Mend it", "Accept the work", "Send it back", "Cancel the task", `href="/chat/its-thread"`, "task/waits", `href="/tasks/runs"`, "ann")
	s.lacks("the overview", b.visit("/tasks/waits"), "<script>alert", "worktree.branch")
	s.expect("a blocked one", b.visit("/tasks/blocked"), 200, "Which machine?", "Have it go on")
	s.lacks("a blocked one, whose work nobody has judged", b.visit("/tasks/blocked"), "Send it back")
	s.expect("one that is over", b.visit("/tasks/failed"), 200, "Have another task go on from it", `href="/tasks/new?from=failed"`)
	s.lacks("one that is over", b.visit("/tasks/failed"), "Cancel the task", "Accept the work")

	said := s.expect("what was said", b.visit("/tasks/waits?tab=verdicts"), 200, "validation", "rejected", "A test fails: TestParse", "accepted",
		"waits for a person", "Tests written", "TestParse covers &lt;both&gt; branches", "a.go", ":12", "new()", "passed", "ba5e", "1d1d")
	s.lacks("what was said: evidence of an earlier round", said, "FAIL: TestParse")
	s.expect("an earlier round", b.visit("/tasks/waits?tab=verdicts&round=1"), 200, "exit code 1", "--- FAIL: TestParse")

	changed := s.expect("the changes", b.visit("/tasks/waits?tab=changes"), 200, "2 files", "round 2", "git -C &#39;/my repo&#39; diff ba5e 7aee",
		`<tr class="removed"><td class="at">2</td>`, "var fresh = &#34;&lt;i&gt;&#34;", "Changed too, and not shown here", "b.go", "+1", "−1")
	s.lacks("the changes", changed, "an older one")
	s.expect("the tasks below", b.visit("/tasks/waits?tab=below"), 200, "Write the tests", `class="depth-1"`, "Write one test")
	s.expect("none below", b.visit("/tasks/deep?tab=below"), 200, "No tasks below")
	s.expect("no iterations", b.visit("/tasks/blocked?tab=iterations"), 200, "Iterations")
	s.expect("no such task", b.visit("/tasks/nowhere", "Accept", "text/html"), 404, "There is nothing here", "nowhere")
}

// A person's word holds for the iteration that they have seen, and no other.
func TestAPersonDecidesOnATask(t *testing.T) {
	s := taskSite(t)
	b := s.logIn("ann", pluginsdk.ScopeWork)
	late := s.expect("accepting what has moved on", b.submit("/tasks/waits", "", url.Values{"do": {"accept"}, "iteration": {"1"}, "words": {"fine <3"}}), 422,
		"Nothing was done", "at its iteration 2, not at 1", "fine &lt;3")
	s.expect("the page after it", late, 422, `name="iteration" value="2"`)
	if got := s.task("waits"); got.Status != pluginsdk.TaskWaiting {
		t.Fatalf("it is %s", got.Status)
	}
	s.expect("rejecting without words", b.submit("/tasks/waits", "", url.Values{"do": {"reject"}, "iteration": {"2"}}), 422, "Say what is wrong with it")
	s.expect("doing what there is not", b.submit("/tasks/waits", "", url.Values{"do": {"dance"}}), 422, "what is to be done")

	if got := b.submit("/tasks/waits?tab=verdicts", "", url.Values{"do": {"reject"}, "iteration": {"2"}, "words": {"the port is 8080"}}); got.status != 303 || got.header.Get("Location") != "/tasks/waits?tab=verdicts" {
		t.Fatalf("%d %s %s", got.status, got.header.Get("Location"), got.body)
	}
	if got := s.task("waits"); got.Status != pluginsdk.TaskRunning || got.Feedback != "the port is 8080" {
		t.Errorf("it is %s, told %q", got.Status, got.Feedback)
	}
	s.expect("what the next page says", b.visit("/tasks/waits"), 200, "goes on with your words")
	s.expect("going on", b.submit("/tasks/blocked", "", url.Values{"do": {"go-on"}, "iteration": {"1"}, "words": {"alder"}}), 303)
	if got := s.task("blocked"); got.Status != pluginsdk.TaskRunning || got.Feedback != "alder" {
		t.Errorf("it is %s, told %q", got.Status, got.Feedback)
	}
}

func TestATaskIsCancelledAndSpokenTo(t *testing.T) {
	s := taskSite(t)
	b := s.logIn("bob", pluginsdk.ScopeChat)
	s.lacks("the page of who may not decide", s.expect("it", b.visit("/tasks/waits"), 200, "scope approve"), "Accept the work")
	s.expect("accepting", b.submit("/tasks/waits", "", url.Values{"do": {"accept"}, "iteration": {"2"}}), 403, "approve")
	s.expect("saying nothing", b.submit("/tasks/waits", "", url.Values{"do": {"say"}, "say-words": {"  "}}), 422, "Say something")
	for range 2 { // a form that is sent twice says it once
		s.expect("saying something", b.submit("/tasks/waits", "", url.Values{"do": {"say"}, "say-words": {"mind the port"}, "key": {"k1"}}), 303)
	}
	if said := s.host.Submissions(); len(said) != 1 || said[0].ThreadID != "its-thread" || said[0].Content != "mind the port" {
		t.Errorf("said: %+v", said)
	}
	s.expect("cancelling", b.submit("/tasks/waits", "", url.Values{"do": {"cancel"}}), 403, "approve")
	b = s.logIn("bo", pluginsdk.ScopeApprove)
	s.expect("cancelling", b.submit("/tasks/waits", "", url.Values{"do": {"cancel"}, "cancel-words": {"done by hand"}}), 303)
	if got := s.task("waits"); got.Status != pluginsdk.TaskCancelled || got.Error != "cancelled by bo: done by hand" {
		t.Errorf("it is %s: %s", got.Status, got.Error)
	}
	reader := s.logIn("eve", pluginsdk.ScopeRead)
	s.lacks("the page of a reader", reader.visit("/tasks/runs"), "<textarea")
	s.expect("a reader who cancels", reader.submit("/tasks/runs", "", url.Values{"do": {"cancel"}}), 403, "chat")
}

func TestWorkIsHandedOn(t *testing.T) {
	s := taskSite(t)
	var asked []map[string]any
	s.host.Tool = func(name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
		var call map[string]any
		if err := json.Unmarshal(input, &call); err != nil {
			return pluginsdk.ToolResult{}, err
		}
		call["tool"] = name
		asked = append(asked, call)
		if call["model"] == "nobody" {
			return pluginsdk.ToolResult{Text: "there is no model nobody", IsError: true}, nil
		}
		return pluginsdk.ToolResult{Text: `{"task":"runs"}`}, nil
	}
	b := s.logIn("ann", pluginsdk.ScopeWork)
	s.lacks("the form of who may not name directories", s.expect("the form", b.visit("/tasks/new"), 200, "What is to be done", "The &lt;b&gt;shop"), `name="dir"`, `name="account"`)
	s.expect("the form for a task that is to be done once more", b.visit("/tasks/new?from=waits"), 200, "Mend the &lt;script&gt;", `value="shop" selected`)
	s.expect("the form of an admin", s.logIn("root", pluginsdk.ScopeAdmin).visit("/tasks/new"), 200, `name="dir"`, `name="account"`)

	s.expect("an empty one", b.submit("/tasks/new", "", url.Values{"text": {" "}, "cost": {"much"}}), 422, "Say what is to be done", "an amount in US dollars", `value="much"`)
	s.expect("one that may cost nothing", b.submit("/tasks/new", "", url.Values{"text": {"x"}, "cost": {"-1"}}), 422, "an amount in US dollars")
	s.expect("what the plugin refuses", b.submit("/tasks/new", "", url.Values{"text": {"Count <them>"}, "model": {"nobody"}}), 422, "there is no model nobody", "Count &lt;them&gt;")
	asked = nil
	if got := b.submit("/tasks/new", "", url.Values{"text": {"Count them"}, "thread": {"shop"}, "cost": {"2.5"}, "wake": {"yes"}, "key": {"k"}}); got.status != 303 || got.header.Get("Location") != "/tasks/runs" {
		t.Fatalf("%d %s %s", got.status, got.header.Get("Location"), got.body)
	}
	want := map[string]any{"tool": "delegation__delegate", "task": "Count them", "thread": "shop", "cost": 2.5, "wake": "yes", "key": "k"}
	if got, _ := json.Marshal(asked); string(got) != marshal(t, []any{want}) {
		t.Errorf("asked %s; want %s", got, marshal(t, want))
	}
	asked = nil
	if got := b.submit("/tasks/failed", "", url.Values{"do": {"retry"}, "retry-words": {"with another model"}, "key": {"k2"}}); got.status != 303 || got.header.Get("Location") != "/tasks/runs" {
		t.Fatalf("%d %s %s", got.status, got.header.Get("Location"), got.body)
	}
	want = map[string]any{"tool": "delegation__re-delegate", "task": "failed", "words": "with another model", "key": "k2"}
	if got, _ := json.Marshal(asked); string(got) != marshal(t, []any{want}) {
		t.Errorf("asked %s; want %s", got, marshal(t, want))
	}
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where nothing makes tasks the pages say what would.
func TestWithoutDelegationThePagesSayHowToGetIt(t *testing.T) {
	s := demanding(t)
	b := s.logIn("ann", pluginsdk.ScopeAdmin)
	for _, path := range []string{"/tasks", "/tasks/new"} {
		s.expect(path, b.visit(path), 200, "harness plugin enable delegation")
	}
	s.host.AddPlugin(pluginsdk.PluginInfo{Name: "delegation", Enabled: true})
	s.lacks("the board", s.expect("the board", b.visit("/tasks"), 200, "No tasks yet", `href="/tasks/new"`), "plugin enable")
}

// A page is small enough for a slow line, however large the work is.
func TestTheChangesOfLargeWorkAreBounded(t *testing.T) {
	s := taskSite(t)
	var large strings.Builder
	for n := range 12 {
		fmt.Fprintf(&large, "diff --git a/f%d.go b/f%d.go\n--- a/f%d.go\n+++ b/f%d.go\n@@ -1,1 +1,200 @@\n", n, n, n, n)
		for l := range 200 {
			fmt.Fprintf(&large, "+\tvalue%d := %d // %x\n", l, l*n, l*7919)
		}
	}
	s.host.AddTaskAnswer("runs", pluginsdk.TaskAnswer{Iteration: 1, Round: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "worktree", Evidence: []pluginsdk.Evidence{
		{Kind: "diff", Diff: large.String()[:60<<10] + "\n[cut: git diff a b has the whole]\n"}, {Kind: "paths", Output: "f0.go\nf99.go\n"},
	}})
	b := s.logIn("ann", pluginsdk.ScopeRead)
	page := s.expect("the changes", b.visit("/tasks/runs?tab=changes"), 200, "[cut: git diff a b has the whole]", "f99.go")
	if open, all := strings.Count(page.body, "diff-file\" open"), strings.Count(page.body, "diff-file"); open != 2 || all < 8 {
		t.Errorf("%d of %d files are open", open, all)
	}
	packed := b.visit("/tasks/runs?tab=changes", "Accept-Encoding", "gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > 80<<10 {
		t.Errorf("the page has %d bytes as %q", len(packed.body), packed.header.Get("Content-Encoding"))
	}
}

// A task at work whose agent asks people waits for them, whatever its state is called.
func TestATaskWhoseAgentAsksWaitsForAPerson(t *testing.T) {
	s := taskSite(t)
	b := s.logIn("ann", pluginsdk.ScopeWork)
	asked := s.host.Ask(pluginsdk.Approval{ThreadID: "t3", Title: "Run <rm> in /repo"})
	s.host.Ask(pluginsdk.Approval{ThreadID: "t3", State: pluginsdk.ApprovalDenied, Title: "an earlier one"})
	page := s.expect("the board", b.visit("/tasks"), 200, "Its agent asks: Run &lt;rm&gt; in /repo", "No agent is at work")
	s.lacks("the board", page, "an earlier one")
	if strings.Index(page.body, "Write the tests") > strings.Index(page.body, "At work") {
		t.Error("it is not among those that wait")
	}
	s.expect("the task", b.visit("/tasks/runs"), 200, "Run &lt;rm&gt; in /repo", "Answer in its conversation", `href="/chat/t3"`)
	s.lacks("another task", b.visit("/tasks/waits"), "Answer in its conversation")
	s.host.EndApproval(asked.ID, pluginsdk.ApprovalExpired)
	s.lacks("the task afterwards", b.visit("/tasks/runs"), "Answer in its conversation")
	s.host.Fail("Approvals.List", pluginsdk.Errorf(pluginsdk.CodeDenied, "lacks approvals.read"))
	s.expect("the board of who may not read what is asked", b.visit("/tasks"), 200, "Write the tests")
}
