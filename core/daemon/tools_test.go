package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// adoptWorkbench does what an operator does with a plugin of somebody else's.
func (in *installation) adoptWorkbench() {
	in.t.Helper()
	database := in.database()
	in.sql(`UPDATE plugins SET granted = '["messages.write", "tools.call","turns.read","turns.change","turns.decide","tasks.prepare","tasks.judge"]', enabled = TRUE WHERE name = 'workbench'`)
	in.until("the workbench's serving", func() bool {
		return plugin(in.t, database, workbenchName).State == pluginsdk.PluginServing
	})
}

// toolRows are the rows of a run that tell of tools, as KIND SOURCE CONTENT.
func (in *installation) toolRows(accepted pluginsdk.Accepted) []string {
	in.t.Helper()
	var rows []string
	for _, row := range in.messages(accepted.ThreadID) {
		if row.RunID == accepted.RunID && (row.Kind == pluginsdk.MessageToolCall || row.Kind == pluginsdk.MessageToolResult) {
			rows = append(rows, string(row.Kind)+" "+row.Source+" "+row.Content)
		}
	}
	return rows
}

// used checks that a run has succeeded and used one tool, whose result has the
// words.
func (in *installation) used(accepted pluginsdk.Accepted, source, tool, says string, isError bool) {
	in.t.Helper()
	run, rows := in.run(accepted.RunID), in.toolRows(accepted)
	if run.State != pluginsdk.RunSucceeded || len(rows) != 2 || rows[0] != "tool_call "+source+" mcp__harness__"+tool ||
		!strings.Contains(rows[1], says) {
		in.t.Errorf("run %s: %s; rows %q; want %s of %s, saying %q", run.State, run.Error, rows, tool, source, says)
	}
	failed := slices.ContainsFunc(run.Events, func(e pluginsdk.StreamEvent) bool {
		return e.Type == pluginsdk.StreamToolResult && e.IsError
	})
	if failed != isError {
		in.t.Errorf("%s: an error: %v", tool, failed)
	}
}

// offered are the plugins' tools that the model was offered last.
func offered(api *fakeapi.Server) string {
	requests := api.Requests(fakeapi.Main)
	tools := slices.DeleteFunc(slices.Clone(requests[len(requests)-1].Tools), func(tool string) bool {
		return !strings.HasPrefix(tool, "mcp__")
	})
	slices.Sort(tools)
	return strings.ReplaceAll(strings.Join(tools, " "), "mcp__harness__", "")
}

const allTools = "core__notify core__search time__current_time workbench__die workbench__dig workbench__echo workbench__fail workbench__hang workbench__nest workbench__stuck"

// The real agent uses the tools of real plugins without being asked for
// permission, and reads what goes wrong with them.
func TestTheRealAgentUsesTools(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), workbenchName)
		api := in.claude()
		in.start()
		in.adoptWorkbench()
		watch, thread := in.watch(), in.thread("tools")
		use := func(tool, input string) pluginsdk.Accepted {
			accepted, _ := in.say(watch, thread, "usetool:mcp__harness__"+tool+" "+input+"\nthen:I see.")
			return accepted
		}
		in.used(use("time__current_time", `{"timezone":"Asia/Tokyo"}`), "time", "time__current_time", "(Asia/Tokyo, UTC+09:00)", false)
		if got := offered(api); got != allTools {
			t.Errorf("the model was offered %s", got)
		}
		in.used(use("time__current_time", `{"timezone":"Mars/Olympus"}`), "time", "time__current_time", `"Mars/Olympus" is not known`, true)
		echoed := use("workbench__echo", `{"n":1}`)
		in.used(echoed, workbenchName, "workbench__echo", `echo {"n":1} in thread `+thread+", run "+echoed.RunID, false)
		in.used(use("workbench__dig", `{}`), workbenchName, "workbench__dig", "dug", false)
		in.used(use("workbench__fail", `{}`), workbenchName, "workbench__fail", "the door is locked", true)
		in.used(use("workbench__echo", `{"n":"many"}`), workbenchName, "workbench__echo", "invalid_argument: the input of workbench__echo does not fit its schema", true)
		in.used(use("workbench__nest", `{}`), workbenchName, "workbench__nest", strings.Repeat("in ", 7)+"resource_exhausted", false)
		in.used(use("workbench__die", `{}`), workbenchName, "workbench__die", "unavailable", true)
		in.used(use("time__current_time", `{"timezone":"America/Phoenix"}`), "time", "time__current_time", "America/Phoenix", false)
		if clis := in.clis(); len(clis) != 1 {
			t.Errorf("CLI processes %q", clis)
		}
		if !strings.Contains(in.log.String(), "a tool is left out") {
			t.Error("the operator is not warned of the tool whose schema cannot be used")
		}
	})
}

// clis are the CLI's processes.
func (in *installation) clis() []string {
	in.t.Helper()
	return slices.DeleteFunc(marked(in.t, in), func(p string) bool { return !strings.Contains(p, "stream-json") })
}

// A plugin that is turned off in the middle of a conversation: the turn under way is told
// when it calls, the next ones do not have its tools, and they are back with the plugin;
// in the same warm process, but that a CLI which keeps tools that are gone goes on in
// another one.
func TestToolsOfAPluginThatIsToggledInMidConversation(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "", workbenchName)
	api := in.claude()
	in.start()
	in.adoptWorkbench()
	watch, thread, database := in.watch(), in.thread("toggled"), in.database()
	in.say(watch, thread, "say:Hello.")
	process := in.clis()

	during := in.chat(thread, "block:gate usetool:mcp__harness__workbench__echo {}\nthen:I see.")
	api.WaitRequests(t, 2, fakeapi.Main)
	in.sql(`UPDATE plugins SET enabled = FALSE WHERE name = 'workbench'`)
	in.until("the plugin's end", func() bool { return plugin(t, database, workbenchName).State == pluginsdk.PluginDisabled })
	api.Release("gate")
	watch.end(during.RunID)
	in.used(during, workbenchName, "workbench__echo", "unavailable: the plugin workbench, whose tool workbench__echo is, is disabled", true)

	in.say(watch, thread, "say:Without.")
	if got := offered(api); got != "core__notify core__search time__current_time" {
		t.Errorf("with the plugin off the model is offered %s", got)
	}
	if features, err := cli.Probe(t.Context(), in.config.ClaudeBinary, os.Environ()); err != nil || features.KeepsTools {
		process = in.clis()
	}
	in.adoptWorkbench()
	back, _ := in.say(watch, thread, "usetool:mcp__harness__workbench__echo {}\nthen:I see.")
	in.used(back, workbenchName, "workbench__echo", "echo {}", false)
	if got := offered(api); got != allTools {
		t.Errorf("with the plugin back the model is offered %s", got)
	}
	if now := in.clis(); len(now) != 1 || !slices.Equal(now, process) {
		t.Errorf("the process %q became %q", process, now)
	}
}

// A call that outlives its turn: whichever way the turn ends, the tool is told
// to stop, nothing that it does afterwards arrives, and the next turn works.
func TestAToolThatOutlivesItsTurn(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "", workbenchName)
	in.claude()
	in.config.TurnTimeout, in.config.MaxAttempts = 20*time.Second, 1
	in.start()
	in.adoptWorkbench()
	watch, thread := in.watch(), in.thread("outlived")
	for name, row := range map[string]struct {
		end   func(running pluginsdk.Accepted)
		state pluginsdk.RunState
	}{
		"cancelled": {
			end: func(running pluginsdk.Accepted) {
				in.call(http.MethodPost, "/api/runs/"+running.RunID+"/cancel", nil, nil)
			},
			state: pluginsdk.RunCancelled,
		},
		"stopped": {
			end: func(running pluginsdk.Accepted) {
				in.call(http.MethodPost, "/api/threads/"+running.ThreadID+"/stop", nil, nil)
			},
			state: pluginsdk.RunCancelled,
		},
		"timed out": {
			end:   func(pluginsdk.Accepted) {},
			state: pluginsdk.RunFailed,
		},
		"its process killed": {
			end:   func(pluginsdk.Accepted) { in.killCLI() },
			state: pluginsdk.RunFailed,
		},
	} {
		in.subtest(name, func(t *testing.T) {
			_ = os.Remove(filepath.Join(in.config.Plugins, "late.txt")) // of the row before
			running := in.chat(thread, "usetool:mcp__harness__workbench__stuck {}\nthen:Never.")
			in.until("the tool's call", func() bool {
				run, err := os.ReadFile(filepath.Join(in.config.Plugins, "stuck.txt"))
				return err == nil && string(run) == running.RunID
			})
			row.end(running)
			watch.end(running.RunID)
			if run := in.run(running.RunID); run.State != row.state {
				t.Errorf("the run is %s: %s", run.State, run.Error)
			}
			in.until("the tool's end", func() bool {
				late, err := os.ReadFile(filepath.Join(in.config.Plugins, "late.txt"))
				return err == nil && string(late) == "failed_precondition failed_precondition"
			})
			next, _ := in.say(watch, thread, "usetool:mcp__harness__workbench__echo {}\nthen:I see.")
			in.used(next, workbenchName, "workbench__echo", "run "+next.RunID, false)
			for _, row := range in.messages(thread) {
				if strings.Contains(row.Content, "too late") {
					t.Errorf("in the thread: %s %q", row.Kind, row.Content)
				}
			}
		})
	}
}

// The token that lets a CLI process call tools is nowhere but in its private
// file, and that file goes with it.
func TestTheTokenOfASessionStaysPrivate(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "")
	in.claude()
	stop := in.start()
	thread := in.thread("private")
	in.say(in.watch(), thread, "usetool:mcp__harness__time__current_time {}\nthen:I see.")
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(in.config.Data, "run", "harness-mcp-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(files()) != 1 {
		t.Fatalf("files %q", files())
	}
	content, err := os.ReadFile(files()[0])
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`Bearer (\w{20,})`).FindSubmatch(content)
	if token == nil {
		t.Fatalf("no token in %s", content)
	}
	if info, err := os.Stat(files()[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info.Mode(), err)
	}
	processes := strings.Join(marked(t, in), "\n")
	stop()
	for place, text := range map[string]string{"the log": in.log.String(), "the process list": processes} {
		if strings.Contains(text, string(token[1])) {
			t.Errorf("the token is in %s", place)
		}
	}
	if left := files(); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A server that the operator configures is there beside the plugins' tools.
func TestTheOperatorsOwnToolsStay(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "")
	api := in.claude()
	in.config.MCPConfig = []byte(`{"mcpServers":{"mine":{"type":"http","url":"http://127.0.0.1:1/"}}}`)
	in.start()
	in.say(in.watch(), in.thread("mine"), "say:Hello.")
	if got := offered(api); got != "core__notify core__search time__current_time" {
		t.Errorf("the model is offered %s", got)
	}
	if !strings.Contains(in.log.String(), "an MCP server is not connected\" room=invoker") && !strings.Contains(in.log.String(), "server=mine") {
		t.Error("the operator's own server was not tried")
	}
}

// Without the CLI the tools are really called too.
func TestTheDemoAgentUsesTools(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), workbenchName)
		in.demo(`[{"match":"medlar","toolName":"workbench__echo","toolInput":{"n":7}},
			{"match":"damson","toolName":"mcp__harness__workbench__echo","toolInput":{"n":"x"}},
			{"match":"quince","toolName":"workbench__nest"},
			{"match":"plum","toolName":"time__current_time","toolInput":{"timezone":"UTC"},"text":"There."}]`)
		in.start()
		in.adoptWorkbench()
		watch, thread := in.watch(), in.thread("without a model")
		accepted, _ := in.say(watch, thread, "plum")
		in.used(accepted, "time", "time__current_time", "(UTC, UTC+00:00)", false)
		accepted, _ = in.say(watch, thread, "medlar")
		in.used(accepted, workbenchName, "workbench__echo", `echo {"n":7} in thread `+thread+", run "+accepted.RunID, false)
		accepted, _ = in.say(watch, thread, "damson")
		in.used(accepted, workbenchName, "workbench__echo", "invalid_argument", true)
		accepted, _ = in.say(watch, thread, "quince")
		in.used(accepted, workbenchName, "workbench__nest", strings.Repeat("in ", 7)+"resource_exhausted", false)
	})
}

// A tool that does not end costs its call and its plugin's process, which is
// back for the next one.
func TestAToolThatHangs(t *testing.T) {
	in := newInstallation(t, "", workbenchName)
	in.demo(`[{"match":"quagmire","toolName":"workbench__hang"},{"match":"medlar","toolName":"workbench__echo"}]`)
	in.config.HookDeadlines = map[pluginsdk.Hook]time.Duration{pluginsdk.HookCallTool: 300 * time.Millisecond}
	in.config.HookGrace, in.config.PluginBackoff = 100*time.Millisecond, 20*time.Millisecond
	in.start()
	in.adoptWorkbench()
	watch, thread, database := in.watch(), in.thread("late"), in.database()
	before := plugin(t, database, workbenchName)
	accepted, _ := in.say(watch, thread, "quagmire")
	in.used(accepted, workbenchName, "workbench__hang", "deadline_exceeded: workbench__hang did not come to an end within 300ms", true)
	in.until("the plugin's return", func() bool {
		now := plugin(t, database, workbenchName)
		return now.State == pluginsdk.PluginServing && now.Restarts > before.Restarts && now.Failures > before.Failures
	})
	accepted, _ = in.say(watch, thread, "medlar")
	in.used(accepted, workbenchName, "workbench__echo", "echo {}", false)
}

// Operators list and call tools through the API, with what is wrong in the
// answer.
func TestToolsOverTheAPI(t *testing.T) {
	in := newInstallation(t, "", workbenchName)
	in.start()
	in.adoptWorkbench()
	var listed struct {
		Tools []struct{ Name, Plugin, Description string }
	}
	if status := in.call(http.MethodGet, "/api/tools", nil, &listed); status != http.StatusOK || len(listed.Tools) != 10 ||
		listed.Tools[0].Name != "core__notify" || listed.Tools[0].Plugin != "core" ||
		listed.Tools[1].Name != "core__search" ||
		listed.Tools[2].Name != "time__current_time" || listed.Tools[2].Plugin != "time" || listed.Tools[2].Description == "" {
		t.Errorf("%d %+v", status, listed)
	}
	type answer struct {
		Text    string
		IsError bool
		Detail  string
	}
	call := func(tool string, input map[string]any) (int, answer) {
		var got answer
		status := in.call(http.MethodPost, "/api/tools/"+tool, map[string]any{"input": input}, &got)
		return status, got
	}
	for _, row := range []struct {
		tool   string
		input  map[string]any
		status int
		says   string
		failed bool
	}{
		{"time__current_time", map[string]any{"timezone": "UTC"}, http.StatusOK, "UTC", false},
		{"workbench__echo", map[string]any{}, http.StatusOK, "echo {} in thread , run ", false},
		{"workbench__fail", nil, http.StatusOK, "the door is locked", true},
		{"workbench__echo", map[string]any{"n": "x"}, http.StatusUnprocessableEntity, "does not fit its schema", false},
		{"workbench__odd", nil, http.StatusServiceUnavailable, "input schema", false},
		{"workbench__nest", nil, http.StatusOK, strings.Repeat("in ", 7) + "resource_exhausted", false},
		{"core__notify", map[string]any{"thread": "primary", "text": "x"}, http.StatusForbidden, "Messages.Append", false},
		{"nobody__tool", nil, http.StatusNotFound, "there is no tool", false},
	} {
		status, got := call(row.tool, row.input)
		if status != row.status || !strings.Contains(got.Text+got.Detail, row.says) || got.IsError != row.failed {
			t.Errorf("%s %v: %d %+v", row.tool, row.input, status, got)
		}
	}
}

// A dashboard shows which tools the agent lacks for want of room, beside what
// else is wrong with a plugin.
func TestToolsThatAreNotOfferedOverTheAPI(t *testing.T) {
	in := newInstallation(t, "", workbenchName)
	in.config.ToolBounds.Tools = 5
	in.start()
	in.adoptWorkbench()
	var listed struct{ Tools []struct{ Plugin string } }
	if status := in.call(http.MethodGet, "/api/tools", nil, &listed); status != http.StatusOK || len(listed.Tools) != 5 ||
		listed.Tools[1].Plugin != "core" || listed.Tools[2].Plugin != "time" || listed.Tools[4].Plugin != workbenchName {
		t.Errorf("%d %+v", status, listed)
	}
	for name, want := range map[string]string{
		"time":        "",
		workbenchName: "tools: the agent is offered 2 of the 7 tools of workbench, none from ",
	} {
		var row struct{ Problem string }
		if status := in.call(http.MethodGet, "/api/plugins/"+name, nil, &row); status != http.StatusOK ||
			!strings.HasPrefix(row.Problem, want) || (want == "") != (row.Problem == "") {
			t.Errorf("%s: %d, problem %q, want %q", name, status, row.Problem, want)
		}
	}
}
