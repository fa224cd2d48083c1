package walk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lived is an installation in which people have been at work: of all that pages show there
// is something, much of some.
type lived struct {
	daemon
	talk, diffs, asking, foreign        string // threads
	answered, failedRun, step           string // runs, and a tool call of the first
	message                             int64  // of talk
	waiting, completed, failed, running string // tasks
	flowing                             string // the task of a workflow's stage
	change                              pluginsdk.WorkspaceChange
}

// livedRules are what the agent does there.
var livedRules = []rule{
	{"match": "rename the greeting", "think": "The greeting stands in one place only, and its test beside it.", "toolName": "Edit", "toolInput": object{
		"file_path": "/srv/shop/greeting.go", "old_string": "func Hello() string {\n\treturn \"Hello\"\n}", "new_string": "// Welcome greets whoever comes in.\nfunc Welcome() string {\n\treturn \"Welcome\"\n}",
	}, "toolResult": "The file /srv/shop/greeting.go has been updated.", "text": "`Hello` is `Welcome` now.", "costUsd": 0.0231},
	{"match": "run the tests", "toolName": "Bash", "toolInput": object{"command": "go test ./... -count=1 | tail -n 40", "description": "Run all tests"},
		"toolResult": "--- FAIL: TestGreeting (0.00s)\n    greeting_test.go:12: got \"Hello\", want \"Welcome\"\nFAIL", "toolError": true, "text": longMarkdown, "costUsd": 0.0417},
	{"match": "deploy it", "toolName": "Bash", "toolInput": object{"command": "make deploy ENV=production", "description": "Put the shop on its machines"}, "ask": true, "toolResult": "deployed", "text": "It is deployed."},
	{"match": "refuse this", "failure": object{"kind": "api", "apiStatus": 400, "message": "prompt is too long: 214312 tokens > 200000 maximum"}},
	{"match": "blue, please", "text": "The sign is painted.\nDONE: the sign in SIGN.md is blue now"},
	{"match": "Paint the sign", "times": 1, "text": "I have looked at it.\nBLOCKED: Which colour?"},
	{"match": "Choose a name", "text": "There are three that fit.\nBLOCKED: Somebody has to choose: *Bazaar*, *سوق* or 市场?"},
	{"match": "Lift the stone", "failure": object{"kind": "api", "apiStatus": 400, "message": "the model does not exist"}},
	{"match": "Dig the well", "toolName": "Bash", "toolInput": object{"command": "dig --deep"}, "ask": true, "toolResult": "water", "text": "DONE: there is water"},
}

// longMarkdown has of all that an answer has.
var longMarkdown = "# What failed\n\nOne test of *forty* fails, and it is **the test** that is [old](https://example.org/a-very-long-address/" + strings.Repeat("segment/", 20) + ").\n\n" +
	"| test | took | why it failed, in words that are long enough to make the table wider than a phone |\n|---|--:|---|\n" + strings.Repeat("| `TestGreeting/in_a_language_with_long_words` | 0.03 s | the greeting is of yesterday, 昨天的问候, تحية الأمس |\n", 8) +
	"\n```go\nfunc TestGreeting(t *testing.T) {\n\tif got, want := Welcome(), \"Welcome\"; got != want {\n\t\tt.Errorf(\"got %q, want %q, which is what the sign at the door has said since the shop was opened\", got, want)\n\t}\n}\n```\n\n" +
	"1. Mend the test.\n2. Run it:\n   - alone\n   - with `-race`\n\n> Whoever greets has to be heard.\n\n- [x] found\n- [ ] mended 🛠️\n\n---\n\nمرحبا بكم في المتجر. " + strings.Repeat("一个很长的没有空格的句子", 20) + "\n"

// threadNames are what conversations are called.
var threadNames = []string{
	"Plan the move of the billing database to the new cluster before the end of the quarter, with everything that hangs on it",
	"تخطيط الرحلة إلى مراكش في الربيع القادم", "数据库迁移计划与回滚步骤", "🚀 Launch 🎉", "Why is CI slow?",
	"a_name_without_any_space_that_is_longer_than_the_column_in_which_it_is_shown_to_people", "Ünïcödé and ﷺ and שלום",
}

// live starts such an installation.
func live(t *testing.T) *lived {
	t.Helper()
	l := &lived{daemon: start(t, livedRules...)}
	l.plugins(t)
	l.talks(t)
	l.tasks(t)
	l.flows(t)
	l.rest(t)
	return l
}

// shopSettings have a setting of each kind.
var shopSettings = json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {
	"greeting": {"type": "string", "title": "Greeting", "description": "What is said at the door", "default": "Welcome", "maxLength": 20},
	"mood": {"type": "string", "description": "How it is said", "enum": ["warm", "dry"], "default": "warm"},
	"seats": {"type": "integer", "description": "How many may sit", "minimum": 1, "maximum": 12, "default": 4},
	"open": {"type": "boolean", "description": "Whether anybody may come in", "default": true},
	"goods": {"type": "array", "description": "What is sold", "items": {"type": "string"}},
	"key": {"type": "string", "description": "The key of the till", "secret": true}}}`)

// shop is the manifest of a plugin.
func shop(name, version string) object {
	return object{
		"name": name, "version": version, "description": "Keeps the shop, greets who comes in and says what there is",
		"settingsSchema": shopSettings,
		"commands":       []object{{"name": "goods-of-" + name, "description": "Says what there is", "usage": "[WORDS]"}},
		"capabilities":   []object{{"capability": "state", "reason": "remembers what was sold"}, {"capability": "messages.read", "reason": "finds out what people ask for"}},
	}
}

func (l *lived) plugins(t *testing.T) {
	l.MustRun(t, "plugin", "install", pack(t, shop("shop", "1.0.0"), map[string]string{"log.txt": "the shop is open\nthere is bread\n"}), "--yes", "--grant", "state", "--enable")
	l.MustRun(t, "plugin", "upgrade", "shop", pack(t, shop("shop", "2.0.0"), map[string]string{}), "--yes")
	l.MustRun(t, "plugin", "install", pack(t, shop("moody", "0.9.0-rc.1"), map[string]string{"fault.txt": "I do not feel like it, and this is why: " + strings.Repeat("the weather ", 30)}), "--yes")
	l.call(t, http.MethodPatch, "/api/plugins/moody", object{"enabled": true}, nil)
}

func (l *lived) talks(t *testing.T) {
	var threads, runs []string
	for n := range 40 {
		name := fmt.Sprintf("%s %d", threadNames[n%len(threadNames)], n)
		threads = append(threads, l.thread(t, object{"name": name}))
		runs = append(runs, l.say(t, threads[n], "Ann", "Hello, this is about: "+name))
	}
	l.foreign, l.talk, l.diffs, l.asking = threads[1], threads[0], threads[2], threads[3]
	for n := range 30 {
		runs = append(runs, l.say(t, l.talk, []string{"Ann", "Ben", "فاطمة"}[n%3], fmt.Sprintf("Message %d about the billing migration.\n\n- one\n- two", n)))
	}
	runs = append(runs, l.say(t, l.talk, "Ann", "Now run the tests"))
	var file pluginsdk.File
	l.call(t, http.MethodPost, "/api/files?name="+url.QueryEscape("صورة من المتجر, taken on a day in spring.png"), bytes.NewReader(picture(t)), &file)
	l.call(t, http.MethodPost, "/api/chat", object{"threadId": l.diffs, "content": "This is the door. Please rename the greeting.", "author": "Ann", "attachments": []object{{"fileId": file.ID}}}, nil)
	failed := l.say(t, l.foreign, "Ann", "Please refuse this")
	l.say(t, l.asking, "Ann", "Now deploy it")
	for _, run := range runs {
		l.finish(t, run)
	}
	l.answered, l.failedRun = runs[len(runs)-1], l.finish(t, failed).ID
	var found struct{ Messages []pluginsdk.Message }
	l.call(t, http.MethodGet, "/api/threads/"+l.talk+"/messages?role=user&limit=1", nil, &found)
	l.message = found.Messages[0].ID
	var called struct {
		Messages []struct{ Metadata struct{ ToolUseID string } }
	}
	l.call(t, http.MethodGet, "/api/threads/"+l.talk+"/messages?kind=tool_call&last=true&limit=1", nil, &called)
	l.step = called.Messages[0].Metadata.ToolUseID
	l.open(t, l.asking)
}

// picture is a PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	drawn := image.NewRGBA(image.Rect(0, 0, 64, 48))
	for x := range 64 {
		for y := range 48 {
			drawn.Set(x, y, color.RGBA{uint8(4 * x), uint8(5 * y), 120, 255}) //nolint:gosec // it fits
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, drawn); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// repository makes a git repository with a file in it, in which tasks may work.
func (d daemon) repository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SIGN.md"), []byte("# The shop\n\nThe sign is red.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "Ann"}, {"config", "user.email", "ann@example.org"},
		{"add", "."}, {"commit", "--quiet", "--message=The sign"},
	} {
		if output, err := exec.Command("git", append([]string{"-C", dir}, command...)...).CombinedOutput(); err != nil { //nolint:gosec // our own
			t.Fatalf("git %v: %v\n%s", command, err, output)
		}
	}
	roots, err := json.Marshal([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	d.MustRun(t, "plugin", "settings", "set", "delegation", "roots="+string(roots))
	return dir
}

// handOn hands work on and returns the task's id.
func (d daemon) handOn(t *testing.T, fields object) string {
	t.Helper()
	var made pluginsdk.Task
	d.call(t, http.MethodPost, "/api/tasks", fields, &made)
	return made.ID
}

// decide is a person's word on a task that waits.
func (d daemon) decide(t *testing.T, id string, verdict pluginsdk.Verdict, feedback string) {
	t.Helper()
	task := d.task(t, id, pluginsdk.TaskWaiting)
	d.call(t, http.MethodPost, "/api/tasks/"+id+"/decide", object{"verdict": verdict, "feedback": feedback, "author": "Ann", "iteration": task.CurrentIteration}, nil)
}

// paint changes the sign where a task works.
func paint(t *testing.T, task pluginsdk.Task) {
	t.Helper()
	sign := filepath.Join(task.Cwd, "SIGN.md")
	if err := os.WriteFile(sign, []byte("# The shop\n\nThe sign is blue.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *lived) tasks(t *testing.T) {
	dir := l.repository(t)
	l.completed = l.handOn(t, object{"text": "Paint the sign in SIGN.md, in a colour that goes with the door.", "threadId": l.talk, "dir": dir})
	l.waiting = l.handOn(t, object{"text": "Choose a name for the new market, and say why: " + strings.Repeat("it has to be short. ", 10), "threadId": l.talk})
	l.failed = l.handOn(t, object{"text": "Lift the stone", "threadId": l.foreign})
	l.running = l.handOn(t, object{"text": "Dig the well", "threadId": l.asking})
	paint(t, l.task(t, l.completed, pluginsdk.TaskWaiting))
	l.decide(t, l.completed, "", "blue, please")
	eventually(t, "the work to be looked at", func() bool { return l.task(t, l.completed, pluginsdk.TaskWaiting).CurrentIteration > 1 })
	l.decide(t, l.completed, pluginsdk.VerdictAccept, "as the door")
	l.task(t, l.completed, pluginsdk.TaskCompleted)
	l.task(t, l.waiting, pluginsdk.TaskWaiting)
	l.task(t, l.failed, pluginsdk.TaskFailed)
	l.open(t, l.task(t, l.running, pluginsdk.TaskRunning).ThreadID)
}

// remember writes a context file, which was of this version, and returns its new one.
func (d daemon) remember(t *testing.T, path, text, version, author string) string {
	t.Helper()
	var file pluginsdk.WorkspaceFile
	d.call(t, http.MethodPut, "/api/context/file?path="+url.QueryEscape(path), object{"text": text, "version": version, "author": author}, &file)
	return file.Version
}

func (l *lived) rest(t *testing.T) {
	version := ""
	for n, text := range []string{"# The shop\n\nIt opens at nine.\n", "# The shop\n\nIt opens at ten.\n\n" + longMarkdown, "# The shop\n\nIt opens at eleven.\n\n" + longMarkdown} {
		version = l.remember(t, "context/shop.md", text, version, []string{"Ann", "Ben", "فاطمة"}[n])
	}
	var found struct{ Changes []pluginsdk.WorkspaceChange }
	l.call(t, http.MethodPost, "/api/memory/consolidate", nil, nil)
	l.call(t, http.MethodGet, "/api/context/history?path=context/shop.md", nil, &found)
	l.change = found.Changes[0]
	for _, name := range []string{"Ann", "Ben's phone, the one with the broken glass", "فاطمة"} {
		l.Token(t, name, "chat")
	}
	l.call(t, http.MethodPost, "/api/backups", nil, nil)
	eventually(t, "the quarantine of moody", func() bool {
		var plugin struct{ State string }
		l.call(t, http.MethodGet, "/api/plugins/moody", nil, &plugin)
		return plugin.State == "quarantined"
	})
}
