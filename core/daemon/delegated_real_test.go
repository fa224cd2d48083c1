package daemon_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// office is a model that plays everybody in a piece of work: who hands it on, the worker,
// and the reviewer.
type office struct {
	t  *testing.T
	mu sync.Mutex
	// results are what the worker has written so far, and reviews how often somebody was asked
	// to look at it.
	results, reviews int
	told             []string // prompts of who hands the work on
}

// reviewHead is in what a reviewer is asked, and workerHead in what a worker is.
const (
	reviewHead = "# Review of task"
	workerHead = "BLOCKED:"
)

// workingDirectory is how the CLI tells its model where it is.
var workingDirectory = regexp.MustCompile(`(?i)working directory: (.+)`)

func (o *office) answer(r fakeapi.Request) fakeapi.Reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	prompt := r.Prompt()
	switch {
	case strings.Contains(prompt, reviewHead):
		return o.review(r)
	case strings.Contains(r.System+strings.Join(r.UserTexts(), "\n"), workerHead):
		return o.work(r)
	}
	o.told = append(o.told, prompt)
	if strings.Contains(prompt, "please have it done") {
		return fakeapi.Reply{Text: "I hand that on.\n\n[COMMAND type=\"delegate\"]\nmake a result\n[/COMMAND]"}
	}
	return fakeapi.Reply{Text: "I see."}
}

// work writes the note, one line after the other.
func (o *office) work(r fakeapi.Request) fakeapi.Reply {
	if len(r.ToolResults()) > 0 {
		return fakeapi.Reply{Text: "I have written it.\n\nDONE: a result"}
	}
	dir := workingDirectory.FindStringSubmatch(r.System + strings.Join(r.UserTexts(), "\n"))
	if dir == nil {
		o.t.Errorf("the CLI does not say where it is: %.2000s", r.System)
		return fakeapi.Reply{Text: "BLOCKED: where am I?"}
	}
	text := []string{"wrong", "ok draft", "ok final"}[min(o.results, 2)]
	o.results++
	input, err := json.Marshal(map[string]string{"file_path": filepath.Join(strings.TrimSpace(dir[1]), "result.txt"), "content": text + "\n"})
	if err != nil {
		o.t.Error(err)
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Write", Input: input}}}
}

// review rejects the draft and accepts what is final.
func (o *office) review(r fakeapi.Request) fakeapi.Reply {
	if len(r.ToolResults()) > 0 {
		return fakeapi.Reply{Text: "That is my verdict."}
	}
	o.reviews++
	verdict, words := "reject", "WANT-FINAL"
	if strings.Contains(r.Prompt(), "+ok final") {
		verdict, words = "accept", ""
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: json.RawMessage(reviewSaying(o.t, verdict, words))}}}
}

// Work is handed on with nothing faked but the model: the agent's command, a worktree, a
// worker that edits, checks that fail, a reviewer that rejects once and then accepts, the
// merge, and the notification, which is in the next prompt of who handed it on.
func TestWorkIsHandedOnWithTheRealAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	in := delegating(t, "")
	api := in.claude()
	o := &office{t: t}
	api.Handle(o.answer)
	in.start()
	rows := in.database()
	for _, name := range []string{"delegation", "worktree", "validation"} {
		in.until("the serving of "+name, func() bool { return plugin(t, rows, name).State == pluginsdk.PluginServing })
	}
	repository := newRepository(t)
	watch, primary := in.watch(), in.primary()
	if status := in.call(http.MethodPatch, "/api/threads/"+primary, map[string]string{"cwd": repository.dir}, nil); status != http.StatusOK {
		t.Fatalf("PATCH /api/threads: %d", status)
	}
	in.say(watch, primary, "please have it done")
	var task pluginsdk.Task
	in.until("the end of the task", func() bool {
		tasks, err := rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: primary})
		if err == nil && len(tasks) == 1 {
			task = tasks[0]
		}
		return !task.CompletedAt.IsZero() || task.Status == pluginsdk.TaskWaiting
	})
	if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 3 || task.ValidationIterations != 2 || len(task.Marks) > 0 || o.reviews != 2 {
		t.Fatalf("it is %s %q in iteration %d, rejected %d times, reviewed %d times: %s", task.Status, task.Marks, task.CurrentIteration, task.ValidationIterations, o.reviews, task.Error)
	}
	if result := repository.git("show", "main:result.txt"); result != "ok final" || repository.merges() != 1 {
		t.Errorf("the main branch has %q, after %d merges", result, repository.merges())
	}
	repository.clean()
	t.Logf("the repository:\n%s", repository.git("log", "--graph", "--format=%h %an: %s%n%b"))
	in.say(watch, primary, "and?")
	if prompt := o.told[len(o.told)-1]; !strings.Contains(prompt, "is completed") || !strings.Contains(prompt, "DONE: a result") {
		t.Errorf("the next prompt is %q", prompt)
	}
	for _, row := range in.messages(primary) {
		t.Logf("%s/%s %s: %s", row.Role, row.Kind, row.Source, row.Content)
	}
}

// primary is the thread that is there from the beginning.
func (in *installation) primary() string {
	in.t.Helper()
	var page struct{ Threads []pluginsdk.Thread }
	in.call(http.MethodGet, "/api/threads?kind=primary", nil, &page)
	if len(page.Threads) != 1 {
		in.t.Fatalf("%d primary threads", len(page.Threads))
	}
	return page.Threads[0].ID
}
