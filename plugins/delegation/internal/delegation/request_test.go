package delegation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// house is a plugin with a host that has a primary thread, whose directory is a git
// checkout, and a general one.
type house struct {
	*testing.T
	host   *plugintest.Host
	plugin *plugintest.Plugin
	dir    string // of the primary thread
}

func newHouse(t *testing.T, settings string) house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, below := range []string{".git", "sub dir"} {
		if err := os.Mkdir(filepath.Join(dir, below), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	host := plugintest.NewHost()
	host.SetSettings(json.RawMessage(settings))
	for _, thread := range []pluginsdk.Thread{
		{ID: "primary", Kind: pluginsdk.ThreadPrimary, Cwd: dir}, {ID: "chat", Kind: pluginsdk.ThreadGeneral},
		{ID: "old", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadArchived},
	} {
		host.AddThread(thread)
	}
	return house{t, host, host.Serve(t, new(Plugin)), dir}
}

// call has a tool called from a thread.
func (h house) call(threadID, id, name, input string) pluginsdk.ToolResult {
	h.Helper()
	answer, err := h.plugin.CallTool(h.Context(), &pluginsdk.CallToolRequest{
		Call: pluginsdk.Call{ID: id}, Name: name, Input: json.RawMessage(input), ThreadID: threadID,
	})
	if err != nil {
		h.Fatal(err)
	}
	return answer.Result
}

// typed has a command typed in a thread.
func (h house) typed(thread pluginsdk.Thread, id, name, body string) (string, error) {
	answer, err := h.plugin.OnCommand(h.Context(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: id}, Thread: thread, Origin: pluginsdk.FromPerson, Name: name, Body: body,
	})
	if err != nil {
		return "", err
	}
	return answer.Reply, nil
}

func (h house) primary() pluginsdk.Thread {
	return pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Cwd: h.dir}
}

// tasks returns all tasks, the oldest first.
func (h house) tasks() []pluginsdk.Task {
	h.Helper()
	answer, err := h.host.SDK().Tasks.List(h.Context(), &pluginsdk.ListTasksRequest{})
	if err != nil {
		h.Fatal(err)
	}
	return answer.Tasks
}

// made calls a tool that makes a task and returns that.
func (h house) made(threadID, id, name, input string) pluginsdk.Task {
	h.Helper()
	said := h.call(threadID, id, name, input)
	var answer made
	if err := json.Unmarshal([]byte(said.Text), &answer); err != nil || said.IsError {
		h.Fatalf("%s: %s", name, said.Text)
	}
	for _, task := range h.tasks() {
		if task.ID == answer.Task {
			return task
		}
	}
	h.Fatalf("%s is not there", said.Text)
	return pluginsdk.Task{}
}

// What is typed, what an agent writes, and what is called must do the same.
func TestOnePathForAllWhoDelegate(t *testing.T) {
	h := newHouse(t, `{"costCap": 3}`)
	attributes := map[string]string{"model": "sonnet", "dir": "sub dir", "cost": "2.5", "wake": "yes"}
	for n, command := range []pluginsdk.OnCommandRequest{
		{Origin: pluginsdk.FromPerson, Body: `model=sonnet dir="sub dir" cost=$2.5 wake=yes  build it`},
		{Origin: pluginsdk.FromPerson, Body: "model='sonnet' dir='sub dir'\ncost=2.5 wake=yes\n-- build it"},
		{Origin: pluginsdk.FromAgent, Body: "build it\n", Attributes: attributes},
	} {
		command.Call, command.Thread, command.Name = pluginsdk.Call{ID: string(rune('a' + n))}, h.primary(), verbDelegate
		if _, err := h.plugin.OnCommand(t.Context(), &command); err != nil {
			t.Fatal(err)
		}
	}
	h.made("primary", "tool", verbDelegate, `{"task": "build it", "model": "sonnet", "dir": "sub dir", "cost": 2.5, "wake": "yes"}`)
	h.made("", "api", verbDelegate, `{"task": "build it", "model": "sonnet", "dir": "sub dir", "cost": 2.5, "wake": "yes", "thread": "primary"}`)
	h.made("", "api without a thread", verbDelegate, `{"task": "build it", "model": "sonnet", "dir": "sub dir", "cost": 2.5, "wake": "yes"}`)
	tasks := h.tasks()
	if len(tasks) != 6 {
		t.Fatalf("%d tasks", len(tasks))
	}
	same := func(task pluginsdk.Task) pluginsdk.Task {
		return pluginsdk.Task{
			ParentThreadID: task.ParentThreadID, Prompt: task.Prompt, Model: task.Model, Cwd: task.Cwd, CostCapUSD: task.CostCapUSD,
			Wake: task.Wake, MaxIterations: task.MaxIterations, OriginalMessage: task.OriginalMessage,
		}
	}
	want := pluginsdk.Task{
		ParentThreadID: "primary", Prompt: "build it", OriginalMessage: "build it", Model: "sonnet",
		Cwd: filepath.Join(h.dir, "sub dir"), CostCapUSD: 2.5, Wake: true, MaxIterations: 5,
	}
	for n, task := range tasks {
		if got := same(task); !reflect.DeepEqual(got, want) {
			t.Errorf("task %d is\n%+v, want\n%+v", n, got, want)
		}
	}
}

// A call that is repeated, because nobody knows how far it came, makes no second task, and
// is not refused for what has changed since.
func TestARepeatedCallIsTheFirstOne(t *testing.T) {
	h := newHouse(t, `{"atOnce": 1}`)
	var replies []string
	for range 2 {
		reply, err := h.typed(h.primary(), "call", verbDelegate, "dir=sub build it")
		if err == nil {
			t.Fatalf("a directory that is not there: %s", reply)
		}
		if reply, err = h.typed(h.primary(), "call-1", verbDelegate, `dir="sub dir" build it`); err != nil {
			t.Fatal(err)
		}
		replies = append(replies, reply)
		if err := os.RemoveAll(filepath.Join(h.dir, "sub dir")); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.tasks()) != 1 || replies[0] != replies[1] {
		t.Errorf("%d tasks, %q", len(h.tasks()), replies)
	}
}

// Whoever makes a mistake is told which, and what helps; no task comes of it.
func TestBadInputIsSaid(t *testing.T) {
	h := newHouse(t, `{"maxCost": 8, "depth": 2, "atOnce": 3}`)
	deep := h.made("primary", "1", verbDelegate, `{"task": "build it"}`)
	deeper := h.made(deep.ThreadID, "2", verbDelegate, `{"task": "build it"}`)
	worker := func(task pluginsdk.Task) pluginsdk.Thread {
		return pluginsdk.Thread{ID: task.ThreadID, Kind: pluginsdk.ThreadTask}
	}
	old := pluginsdk.Thread{ID: "old", Status: pluginsdk.ThreadArchived}
	for _, row := range []struct {
		thread     pluginsdk.Thread
		name, body string
		code       pluginsdk.Code
		says       string
	}{
		{h.primary(), verbDelegate, "", pluginsdk.CodeInvalid, "what is to be done"},
		{h.primary(), verbDelegate, "model=sonnet", pluginsdk.CodeInvalid, "what is to be done"},
		{h.primary(), verbDelegate, "modell=sonnet build", pluginsdk.CodeInvalid, "modell: delegate has no attribute of this name; it has model, dir"},
		{h.primary(), verbDelegate, "cost=much build", pluginsdk.CodeInvalid, `cost: "much"`},
		{h.primary(), verbDelegate, "cost=-1 build", pluginsdk.CodeInvalid, `cost: "-1"`},
		{h.primary(), verbDelegate, "cost=NaN build", pluginsdk.CodeInvalid, `cost: "NaN"`},
		{h.primary(), verbDelegate, "cost=9 build", pluginsdk.CodeInvalid, "more than the 8.00"},
		{h.primary(), verbDelegate, "wake=soon build", pluginsdk.CodeInvalid, `wake: "soon"`},
		{h.primary(), verbDelegate, "join=x wake=yes build", pluginsdk.CodeInvalid, "leave wake out"},
		{h.primary(), verbDelegate, "dir=nowhere build", pluginsdk.CodeInvalid, "does not exist"},
		{h.primary(), verbDelegate, "dir=file build", pluginsdk.CodeInvalid, "no directory"},
		{h.primary(), verbDelegate, "dir=/ build", pluginsdk.CodeDenied, "roots"},
		{h.primary(), verbDelegate, "dir=.. build", pluginsdk.CodeDenied, "roots"},
		{pluginsdk.Thread{ID: "chat"}, verbDelegate, "dir=x build", pluginsdk.CodeInvalid, "absolute"},
		{old, verbDelegate, "build", pluginsdk.CodeStale, "archived"},
		{worker(deeper), verbDelegate, "build", pluginsdk.CodeExhausted, "2 deep"},
		{h.primary(), verbCancel, "", pluginsdk.CodeInvalid, "/checkin lists them"},
		{h.primary(), verbCancel, "abc", pluginsdk.CodeInvalid, "6 characters"},
		{h.primary(), verbCancel, "no-such-task", pluginsdk.CodeNotFound, "no-such-task"},
		{h.primary(), verbCheckin, "no-such-task", pluginsdk.CodeNotFound, "no-such-task"},
		{h.primary(), verbRedelegate, "no-such-task again", pluginsdk.CodeNotFound, "no-such-task"},
		{h.primary(), verbRedelegate, deep.ID, pluginsdk.CodeInvalid, "what the worker is to do now"},
		{h.primary(), verbRedelegate, deep.ID + " again", pluginsdk.CodeStale, "not over yet: /cancel"},
		{pluginsdk.Thread{ID: "chat"}, verbCancel, deep.ID, pluginsdk.CodeNotFound, "no task"},
		{worker(deeper), verbCancel, deep.ID, pluginsdk.CodeNotFound, "no task"},
	} {
		reply, err := h.typed(row.thread, "call "+row.body, row.name, row.body)
		if pluginsdk.CodeOf(err) != row.code || err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("/%s %s: %q, %v (%s); want %s and %q", row.name, row.body, reply, err, pluginsdk.CodeOf(err), row.code, row.says)
		}
	}
	if said := h.call("primary", "x", verbDelegate, `{"task": "build", "thread": "chat"}`); !said.IsError || !strings.Contains(said.Text, "leave it out") {
		t.Errorf("a tool with another thread: %+v", said)
	}
	if said := h.call("", "x", verbDelegate, `{"task": "build", "thread": "none"}`); !said.IsError || !strings.Contains(said.Text, "thread") {
		t.Errorf("a tool with a thread that is not there: %+v", said)
	}
	if n := len(h.tasks()); n != 2 {
		t.Errorf("there are %d tasks", n)
	}
	h.made("chat", "3", verbDelegate, `{"task": "build it"}`)
	if _, err := h.typed(h.primary(), "4", verbDelegate, "build"); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || !strings.Contains(err.Error(), "3 tasks are open") {
		t.Errorf("one too many: %v", err)
	}
}

// A task must not work where the operator did not allow it, whatever a link says; and one
// that has no repository must not write among its parent's files.
func TestWhereATaskWorks(t *testing.T) {
	h := newHouse(t, `{}`)
	outside, plain := t.TempDir(), t.TempDir()
	for link, to := range map[string]string{"out": outside, "in": filepath.Join(h.dir, "sub dir")} {
		if err := os.Symlink(to, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	real := func(dir string) string {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	sub := filepath.Join(h.dir, "sub dir")
	for name, row := range map[string]struct {
		asked, threads string
		workspace      string
		roots          []string
		want           place
		code           pluginsdk.Code
	}{
		"nothing is known":                {want: place{own: true}},
		"the thread's checkout":           {threads: h.dir, want: place{cwd: h.dir}},
		"below the thread's checkout":     {threads: sub, want: place{cwd: sub}},
		"a workspace in a checkout":       {threads: sub, workspace: sub, want: place{own: true}},
		"a checkout in the workspace":     {threads: sub, workspace: h.dir, want: place{cwd: sub}},
		"the thread has no repository":    {threads: plain, want: place{own: true}},
		"the thread's is gone":            {threads: filepath.Join(plain, "gone"), want: place{own: true}},
		"asked for, relative":             {asked: "sub dir", threads: h.dir, want: place{cwd: sub}},
		"asked for, without a repository": {asked: plain, threads: plain, want: place{cwd: real(plain)}},
		"asked for, by a link":            {asked: "in", threads: h.dir, want: place{cwd: sub}},
		"a root":                          {asked: outside, threads: h.dir, roots: []string{outside}, want: place{cwd: real(outside)}},
		"a root that is not there":        {asked: outside, threads: h.dir, roots: []string{"/no/such"}, code: pluginsdk.CodeDenied},
		"a link out of the thread's":      {asked: "out", threads: h.dir, code: pluginsdk.CodeDenied},
		"above the thread's":              {asked: "..", threads: sub, code: pluginsdk.CodeDenied},
		"what only begins like the root":  {asked: real(outside), threads: real(outside)[:len(real(outside))-1], code: pluginsdk.CodeDenied},
		"not there":                       {asked: "none", threads: h.dir, code: pluginsdk.CodeInvalid},
		"a file":                          {asked: "file", threads: h.dir, code: pluginsdk.CodeInvalid},
		"relative to nothing":             {asked: "sub", code: pluginsdk.CodeInvalid},
	} {
		got, err := placeOf(row.asked, row.threads, row.workspace, row.roots)
		if got != row.want || pluginsdk.CodeOf(err) != row.code {
			t.Errorf("%s: %+v, %v; want %+v %s", name, got, err, row.want, row.code)
		}
	}
}

// Ids of tasks that were made together begin alike: their ends must do, and what is
// ambiguous must hit neither.
func TestAPartOfAnIDIsEnough(t *testing.T) {
	h := newHouse(t, `{}`)
	for _, id := range []string{"0192aaaa-0000-7000-8000-00000000aaa1", "0192aaaa-0000-7000-8000-00000000bbb2"} {
		h.host.AddTask(pluginsdk.Task{ID: id, ThreadID: "thread of " + id, ParentThreadID: "chat", Plugin: name, Status: pluginsdk.TaskWaiting})
	}
	h.host.AddTask(pluginsdk.Task{ID: "0193cccc-0000-7000-8000-00000000ccc3", ParentThreadID: "chat", Plugin: "another", Status: pluginsdk.TaskWaiting})
	for part, code := range map[string]pluginsdk.Code{
		"0192aaaa": pluginsdk.CodeInvalid, "00bbb2": "", "0bbb2": pluginsdk.CodeInvalid, "0193cccc-0000-7000-8000-00000000ccc3": pluginsdk.CodeNotFound, "0000-7000": pluginsdk.CodeNotFound,
	} {
		if reply, err := h.typed(h.primary(), "c", verbCheckin, part); pluginsdk.CodeOf(err) != code || err == nil && !strings.Contains(reply, "00000000bbb2") {
			t.Errorf("%s: %q, %v", part, reply, err)
		}
	}
	if _, err := h.typed(h.primary(), "c", verbCancel, "0192aaaa"); err == nil || !strings.Contains(err.Error(), "several") {
		t.Errorf("what is ambiguous: %v", err)
	}
	for _, task := range h.tasks() {
		if task.Status != pluginsdk.TaskWaiting {
			t.Errorf("%s is %s", task.ID, task.Status)
		}
	}
}

// How a task stands must be known where it was given, and nowhere else.
func TestCheckinSaysHowItStands(t *testing.T) {
	h := newHouse(t, `{}`)
	first := h.made("chat", "1", verbDelegate, `{"task": "build it\nall of it", "cost": 2}`)
	below := h.made(first.ThreadID, "2", verbDelegate, `{"task": "half"}`)
	h.made("primary", "3", verbDelegate, `{"task": "another"}`)
	listed := func(threadID string) (ids []string) {
		var all states
		if err := json.Unmarshal([]byte(h.call(threadID, "x", verbCheckin, `{}`).Text), &all); err != nil {
			t.Fatal(err)
		}
		for _, one := range all.Tasks {
			ids = append(ids, one.Task)
		}
		return ids
	}
	if got := listed("chat"); !reflect.DeepEqual(got, []string{first.ID, below.ID}) {
		t.Errorf("where it was given: %q", got)
	}
	for threadID, want := range map[string]int{"primary": 3, "": 3, "old": 0, below.ThreadID: 1} {
		if got := listed(threadID); len(got) != want {
			t.Errorf("in %q: %q", threadID, got)
		}
	}
	h.host.AddTaskAnswer(first.ID, pluginsdk.TaskAnswer{Iteration: 1, Hook: pluginsdk.HookTaskComplete, Plugin: "validation", Answer: "reject", Feedback: "no tests"})
	h.host.FinishRun(first.RunID, pluginsdk.InvokeResult{Text: "DONE: all of it", CostUSD: 0.5})
	reply, err := h.typed(pluginsdk.Thread{ID: "chat"}, "c", verbCheckin, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{first.ID, "running", "iteration 1 of 5", "0.50 of 2.00 USD", "build it", "validation (reject): no tests", "DONE: all of it"} {
		if !strings.Contains(reply, part) {
			t.Errorf("%q is not in\n%s", part, reply)
		}
	}
	if reply, err := h.typed(pluginsdk.Thread{ID: "old"}, "c", verbCheckin, ""); err != nil || reply != "No task is open here." {
		t.Errorf("where none was given: %q, %v", reply, err)
	}
}

// Who has a task ended must stand in it.
func TestCancelSaysWho(t *testing.T) {
	h := newHouse(t, `{}`)
	task := h.made("primary", "1", verbDelegate, `{"task": "build it"}`)
	if _, err := h.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "2"}, Thread: h.primary(), Message: pluginsdk.Message{Author: "Ada"}, Origin: pluginsdk.FromPerson,
		Name: verbCancel, Body: task.ID + " it is too dear",
	}); err != nil {
		t.Fatal(err)
	}
	if got := h.tasks()[0]; got.Status != pluginsdk.TaskCancelled || got.Error != "cancelled by Ada: it is too dear" {
		t.Errorf("the task is %s: %s", got.Status, got.Error)
	}
	if said := h.call("primary", "3", verbCancel, `{"task": "`+task.ID+`"}`); !said.IsError || !strings.Contains(said.Text, "cancelled already") {
		t.Errorf("again: %+v", said)
	}
}

// What is wrong with an ended task is said to the worker who knows it.
func TestRedelegateGoesOnWithTheSameWorker(t *testing.T) {
	h := newHouse(t, `{}`)
	first := h.made("primary", "1", verbDelegate, `{"task": "build it", "wake": "yes"}`)
	if said := h.call("primary", "2", verbCancel, `{"task": "`+first.ID+`"}`); said.IsError {
		t.Fatal(said.Text)
	}
	var made []pluginsdk.Task
	for range 2 {
		made = append(made, h.made("primary", "3", verbRedelegate, `{"task": "`+first.ID+`", "words": "with tests", "cost": 1}`))
	}
	next := made[0]
	if made[1].ID != next.ID || next.FromTaskID != first.ID || next.ThreadID != first.ThreadID || !next.Wake || next.CostCapUSD != 1 || next.Prompt != "with tests" {
		t.Errorf("the task is %+v", next)
	}
	if said := h.call("primary", "4", verbRedelegate, `{"task": "`+first.ID+`", "words": "with docs"}`); !said.IsError || !strings.Contains(said.Text, next.ID) {
		t.Errorf("while that is open: %+v", said)
	}
}

// The same words mean the same, typed or in a block.
func TestRedelegateIsTypedInEitherOrder(t *testing.T) {
	for n, command := range []pluginsdk.OnCommandRequest{
		{Body: "TASK model=opus cost=1 with tests"},
		{Body: "model=opus TASK cost=1 with tests"},
		{Body: "model=opus cost=1 task=TASK -- with tests"},
		{Body: "with tests", Attributes: map[string]string{"task": "TASK", "model": "opus", "cost": "1"}, Origin: pluginsdk.FromAgent},
		{Body: "TASK with tests", Attributes: map[string]string{"model": "opus", "cost": "1"}, Origin: pluginsdk.FromAgent},
	} {
		h := newHouse(t, `{}`)
		h.host.AddTask(pluginsdk.Task{ID: "task-of-before", ThreadID: "worker", ParentThreadID: "primary", Plugin: name, Status: pluginsdk.TaskFailed, CompletedAt: time.Now()})
		command.Call, command.Thread, command.Name = pluginsdk.Call{ID: "c"}, h.primary(), verbRedelegate
		command.Body = strings.Replace(command.Body, "TASK", "task-of-before", 1)
		if attributes := command.Attributes; attributes["task"] != "" {
			attributes["task"] = "task-of-before"
		}
		if _, err := h.plugin.OnCommand(t.Context(), &command); err != nil {
			t.Fatalf("command %d: %v", n, err)
		}
		if task := h.tasks()[1]; task.FromTaskID != "task-of-before" || task.Prompt != "with tests" || task.Model != "opus" || task.CostCapUSD != 1 {
			t.Errorf("command %d makes %+v", n, task)
		}
	}
}

func TestWrongSettingsAreRefusedAndTheLastGoodOnesStay(t *testing.T) {
	h := newHouse(t, `{"depth": 1}`)
	for settings, says := range map[string]string{
		`{"maxIterations": 0}`: "maxIterations", `{"maxValidationRounds": 101}`: "maxValidationRounds", `{"depth": 9}`: "depth", `{"atOnce": 0}`: "atOnce",
		`{"costCap": 0}`: "costCap", `{"maxCost": -1}`: "maxCost", `{"retrySeconds": -1}`: "retrySeconds", `{"roots": ["src"]}`: `"src"`, `{"max": 1}`: "max",
	} {
		_, err := h.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", settings, err)
		}
	}
	task := h.made("primary", "1", verbDelegate, `{"task": "build it"}`)
	if said := h.call(task.ThreadID, "2", verbDelegate, `{"task": "half"}`); !said.IsError {
		t.Error("the last good settings are not in force")
	}
}

// A program whose call is in no thread repeats it when the answer was lost: there must not
// be another task.
func TestAProgramsCallIsRepeatable(t *testing.T) {
	h := newHouse(t, `{}`)
	first, again := h.made("", "1", verbDelegate, `{"task": "build it", "key": "k"}`), h.made("", "2", verbDelegate, `{"task": "build it", "key": "k"}`)
	other := h.made("", "3", verbDelegate, `{"task": "build it", "key": "l"}`)
	if first.ID != again.ID || other.ID == first.ID {
		t.Errorf("tasks %s, %s and %s", first.ID, again.ID, other.ID)
	}
	if said := h.call("primary", "4", verbDelegate, `{"task": "build it", "key": "k"}`); !said.IsError || !strings.Contains(said.Text, "leave it out") {
		t.Errorf("in a thread: %+v", said)
	}
}

// Every tool has a command of its name, and what one can be told the other can be told.
func TestToolsAreTheCommands(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if len(manifest.Tools) != len(manifest.Commands) || len(verbs) != len(manifest.Tools) {
		t.Fatalf("%d tools, %d commands, %d verbs", len(manifest.Tools), len(manifest.Commands), len(verbs))
	}
	text := map[string]string{verbDelegate: "task", verbRedelegate: "words", verbCancel: "reason"}
	for n, tool := range manifest.Tools {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		want := make(map[string]any)
		for _, field := range verbs[tool.Name].fields {
			want[field] = schema.Properties[field]
		}
		delete(schema.Properties, "thread") // these are for programs, whose calls are in no thread
		delete(schema.Properties, "key")
		if words := text[tool.Name]; words != "" {
			want[words] = schema.Properties[words]
		}
		if tool.Name != manifest.Commands[n].Name || !maps.EqualFunc(schema.Properties, want, func(a, b any) bool { return a != nil && b != nil }) {
			t.Errorf("%s has the fields %v, the command %s %v", tool.Name, schema.Properties, manifest.Commands[n].Name, want)
		}
	}
}

// Whose money is spent is for people to say. The plugin may give a task any account, so that it is
// the one who has to refuse an agent that chooses one.
func TestPeopleChooseTheAccountOfATask(t *testing.T) {
	h := newHouse(t, `{}`)
	h.host.SetAccount(pluginsdk.Account{Name: "work", Kind: pluginsdk.AccountLogin, Usable: true})
	typed := pluginsdk.OnCommandRequest{Call: pluginsdk.Call{ID: "a"}, Thread: h.primary(), Name: verbDelegate, Origin: pluginsdk.FromPerson, Body: "account=work build it"}
	if _, err := h.plugin.OnCommand(t.Context(), &typed); err != nil {
		t.Fatal(err)
	}
	h.made("", "api", verbDelegate, `{"task": "build it", "account": "work"}`)
	for _, task := range h.tasks() {
		if task.Account != "work" {
			t.Errorf("task %s has the account %q", task.ID, task.Account)
		}
	}
	written := pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "b"}, Thread: h.primary(), Name: verbDelegate, Origin: pluginsdk.FromAgent, Body: "build it", Attributes: map[string]string{"account": "work"},
	}
	if _, err := h.plugin.OnCommand(t.Context(), &written); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(fmt.Sprint(err), "only a person") {
		t.Errorf("an agent that writes it: %v", err)
	}
	called, err := h.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{
		Call: pluginsdk.Call{ID: "c"}, Name: verbDelegate, ThreadID: h.primary().ID, Input: json.RawMessage(`{"task": "build it", "account": "work"}`),
	})
	if err != nil || !called.Result.IsError || !strings.Contains(called.Result.Text, "only a person") {
		t.Errorf("an agent that calls it: %+v, %v", called, err)
	}
	if tasks := h.tasks(); len(tasks) != 2 {
		t.Errorf("%d tasks", len(tasks))
	}
}
