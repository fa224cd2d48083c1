package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/installation"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The plugins that the program knocker plays.
const (
	tester  = "knocker" // has a single capability at a time, or all
	carrier = "carrier" // has what the shipped chat adapter is granted
	target  = "target"  // whose settings and rights others are after
)

// given is the capability that the target is given: the plugin web may give it.
const given = pluginsdk.CapThreadsRead

// memory is the context file that is written.
const memory = "context/doors.md"

// world is a daemon with what the ways in are after. It is looked at by a person beside it.
type world struct {
	t      *testing.T
	d      *installation.Installation
	bin    string // of the programs
	script string // of the demo agent
	tokens map[pluginsdk.TokenScope]string
	parent string // the thread whose tasks are decided on, and where people talk
	other  string // a thread elsewhere
	apart  string // a thread apart
	task   string // the one that waits for a person
	asked  string // what the agent asks
	fires  int    // how many times the scheduled job had been asked to fire before the attempt
	marks  int
}

// job is the scheduled job that is asked to fire. It is due by itself once a year.
const job = "doors"

// rules are what the demo agent does.
const rules = `[
	{"match":"try by your tool","toolName":"knocker__knock","text":"tried"},
	{"match":"hand it to a person","text":"BLOCKED: a person decides"},
	{"match":"change something","toolName":"knocker__knock","text":"DONE: it is changed"},
	{"match":"ask me","toolName":"Bash","toolInput":{"command":"make clean"},"toolResult":"done","ask":true,"text":"asked"}
]`

func newWorld(t *testing.T) *world {
	t.Helper()
	bin := t.TempDir()
	if err := programs.Installation(bin, "cron", "delegation", "validation", "web", "worktree"); err != nil {
		t.Fatal(err)
	}
	plugins := filepath.Join(bin, "plugins")
	if err := programs.Build(plugins, "core/coretest/doors/knocker"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{carrier, target} {
		if err := os.Link(filepath.Join(plugins, tester), filepath.Join(plugins, name)); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, bin: bin, script: filepath.Join(bin, "script.json"), tokens: map[pluginsdk.TokenScope]string{}}
	if err := os.WriteFile(w.script, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	w.d = installation.Start(t, bin, installation.Options{Env: []string{"HARNESS_DEMO_SCRIPT=" + w.script, "HARNESS_AGENTS=16"}})
	for _, scope := range scopes {
		w.tokens[scope] = w.d.Token(t, "Ann-"+string(scope), string(scope))
	}
	granted, _ := shipped.Plugins.After("discord", 0)
	for name, capabilities := range map[string][]pluginsdk.Capability{tester: {pluginsdk.CapState}, carrier: granted, target: {pluginsdk.CapState}} {
		w.d.MustRun(t, "plugin", "enable", name)
		w.grant(name, capabilities...)
	}
	w.parent, w.other, w.apart = w.thread(`{"name":"here"}`), w.thread(`{"name":"elsewhere"}`), w.thread(`{"name":"apart","ownDirectory":true}`)
	w.admin(http.MethodPut, "/api/crons/"+job, object{
		"enabled": true, "spec": object{"name": job, "schedule": "0 0 1 1 *", "timezone": "UTC", "prompt": "look", "missed": "skip"},
	}, nil)
	w.tokens[pluginsdk.ScopeOfCron(job)] = w.d.Token(t, "Ann-job", string(pluginsdk.ScopeOfCron(job)))
	w.eventually("the plugins' serving", func() bool { return w.serves("cron") && w.serves(tester) && w.serves(carrier) && w.serves(target) })
	return w
}

// scopes are all that there are, the least first.
var scopes = []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeWork, pluginsdk.ScopeAdmin}

// grant grants a plugin capabilities by the command line, as an operator does.
func (w *world) grant(name string, capabilities ...pluginsdk.Capability) {
	w.t.Helper()
	words := []string{"plugin", "grant", name}
	for _, capability := range capabilities {
		words = append(words, string(capability))
	}
	w.d.MustRun(w.t, words...)
}

type plugin struct {
	State   pluginsdk.PluginState
	Enabled bool
	Granted []pluginsdk.Capability
}

func (w *world) plugin(name string) (found plugin) {
	w.t.Helper()
	w.get("/api/plugins/"+name, &found)
	return found
}

func (w *world) serves(name string) bool { return w.plugin(name).State == pluginsdk.PluginServing }

// mark is a text that nothing else has.
func (w *world) mark() string {
	w.marks++
	return fmt.Sprintf("mark-%04d", w.marks)
}

// bearer is the header of a token.
func bearer(secret string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + secret}
}

// stranger shows no token but the request's; http.DefaultClient shows the owner's.
var stranger = new(http.Client)

// ask sends a request from this process, which is beside the daemon.
func (w *world) ask(header map[string]string, method, path string, body any) Answer {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.d.URL+path, bytes.NewReader(encoded(w.t, body)))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	return w.do(stranger, request)
}

func (w *world) do(client *http.Client, request *http.Request) Answer {
	w.t.Helper()
	response, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return Answer{OK: response.StatusCode < 300, Code: fmt.Sprint(response.StatusCode), Text: string(text)}
}

func encoded(t *testing.T, body any) json.RawMessage {
	t.Helper()
	if raw, ok := body.(string); ok {
		return json.RawMessage(raw)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// admin asks the API as the owner, and wants to be answered.
func (w *world) admin(method, path string, body, into any) {
	w.t.Helper()
	answer := w.ask(bearer(w.tokens[pluginsdk.ScopeAdmin]), method, path, body)
	if !answer.OK {
		w.t.Fatalf("%s %s: %s %s", method, path, answer.Code, answer.Text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer.Text), into); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, answer.Text)
		}
	}
}

func (w *world) get(path string, into any) {
	w.t.Helper()
	w.admin(http.MethodGet, path, "", into)
}

func (w *world) thread(body string) string {
	w.t.Helper()
	var made pluginsdk.Thread
	w.admin(http.MethodPost, "/api/threads", body, &made)
	return made.ID
}

// say says something as the owner, and returns the run.
func (w *world) say(thread, words string) string {
	w.t.Helper()
	var accepted pluginsdk.Accepted
	w.admin(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": words}, &accepted)
	return accepted.RunID
}

// finish waits until a run is over.
func (w *world) finish(id string) (run pluginsdk.Run) {
	w.t.Helper()
	w.eventually("the end of the run "+id, func() bool {
		w.get("/api/runs/"+id, &run)
		return run.State.Final()
	})
	return run
}

// settle waits for the run that an answer speaks of, if it does, and returns what came of it.
func (w *world) settle(answer Answer) (told string) {
	w.t.Helper()
	var accepted struct {
		RunID    string `json:"runId"`
		Accepted struct {
			RunID string `json:"runId"`
		}
	}
	if answer.OK && json.Unmarshal([]byte(answer.Text), &accepted) == nil {
		for _, id := range []string{accepted.RunID, accepted.Accepted.RunID} {
			if id != "" {
				told += w.newest(w.finish(id).ThreadID)
			}
		}
	}
	return told
}

// newest returns the newest row of a thread; a turn of a plugin's has none.
func (w *world) newest(thread string) string {
	w.t.Helper()
	if thread == "" {
		return ""
	}
	var page struct{ Messages []pluginsdk.Message }
	w.get("/api/threads/"+thread+"/messages?limit=1000", &page)
	if len(page.Messages) == 0 {
		return ""
	}
	return page.Messages[len(page.Messages)-1].Content
}

func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			w.t.Fatalf("waited for %s", what)
		}
	}
}

// knock has a process try something.
func (w *world) knock(socket string, knock Knock) (answer Answer) {
	w.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://knocker/", bytes.NewReader(encoded(w.t, knock)))
	if err != nil {
		w.t.Fatal(err)
	}
	told := w.do(client, request)
	if err := json.Unmarshal([]byte(told.Text), &answer); err != nil {
		w.t.Fatalf("the knocker says %q: %v", told.Text, err)
	}
	return answer
}

// socket is where a plugin of the program knocker is asked.
func (w *world) socket(plugin string) string { return filepath.Join(w.bin, plugin+".sock") }

// waitingTask returns a task that waits for a person, and makes one if there is none.
func (w *world) waitingTask() string {
	w.t.Helper()
	if w.task != "" && w.taskStatus(w.task) == pluginsdk.TaskWaiting {
		return w.task
	}
	var made pluginsdk.Task
	w.admin(http.MethodPost, "/api/tasks", map[string]string{"threadId": w.parent, "text": "hand it to a person"}, &made)
	w.task = made.ID
	w.eventually("the task's waiting", func() bool { return w.taskStatus(w.task) == pluginsdk.TaskWaiting })
	return w.task
}

func (w *world) taskStatus(id string) pluginsdk.TaskStatus {
	w.t.Helper()
	var history struct{ Task pluginsdk.Task }
	w.get("/api/tasks/"+id, &history)
	return history.Task.Status
}

// openApproval returns what the agent asks, and has it ask if it asks nothing.
func (w *world) openApproval() string {
	w.t.Helper()
	if w.asked != "" && w.approvalState(w.asked) == pluginsdk.ApprovalOpen {
		return w.asked
	}
	thread := w.thread(`{"askTools":"all"}`)
	w.say(thread, "ask me")
	w.eventually("a question", func() bool {
		var found struct{ Approvals []pluginsdk.Approval }
		w.get("/api/approvals?state=open&thread="+thread, &found)
		if len(found.Approvals) > 0 {
			w.asked = found.Approvals[0].ID
		}
		return len(found.Approvals) > 0
	})
	return w.asked
}

func (w *world) approvalState(id string) pluginsdk.ApprovalState {
	w.t.Helper()
	var found pluginsdk.Approval
	w.get("/api/approvals/"+id, &found)
	return found.State
}

// firesOf returns how many times the scheduled job was asked to fire.
func (w *world) firesOf() int {
	w.t.Helper()
	var page struct{ Fires []pluginsdk.CronFire }
	w.get("/api/crons/"+job+"/fires?limit=1000", &page)
	return len(page.Fires)
}

// toFire is the name of the scheduled job, whose fires are counted from now on.
func (w *world) toFire() string {
	w.t.Helper()
	w.fires = w.firesOf()
	return job
}

// said reports whether a thread has a row with the text.
func (w *world) said(thread, text string) bool {
	w.t.Helper()
	var page struct{ Messages []pluginsdk.Message }
	w.get("/api/threads/"+thread+"/messages?limit=1000", &page)
	return slices.ContainsFunc(page.Messages, func(m pluginsdk.Message) bool { return strings.Contains(m.Content, text) })
}

// setting returns what a setting of the target is.
func (w *world) setting(name string) string {
	w.t.Helper()
	var view struct{ Values map[string]json.RawMessage }
	w.get("/api/plugins/"+target+"/settings", &view)
	return textsOf(view.Values)[name]
}

// remembered returns the text and the version of the context file; empty: there is none.
func (w *world) remembered() (text, version string) {
	w.t.Helper()
	answer := w.ask(bearer(w.tokens[pluginsdk.ScopeAdmin]), http.MethodGet, "/api/context/file?path="+memory, "")
	var file struct{ Text, Version string }
	_ = json.Unmarshal([]byte(answer.Text), &file) // of a problem there is neither
	return file.Text, file.Version
}

// begun reports whether a task, or a run of a plugin's, has the text as its prompt.
func (w *world) begun(text string) bool {
	w.t.Helper()
	var list struct{ Tasks []pluginsdk.Task }
	w.get("/api/tasks?newest=true&limit=5", &list)
	for _, task := range list.Tasks {
		var whole struct{ Task pluginsdk.Task }
		w.get("/api/tasks/"+task.ID, &whole)
		if strings.Contains(whole.Task.Prompt, text) || strings.Contains(whole.Task.OriginalMessage, text) {
			return true
		}
	}
	return false
}
