package invoker

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// disallowedIn returns the tools that a process was started without.
func disallowedIn(args []string) []string {
	var tools []string
	for _, arg := range args {
		if tool, ok := strings.CutPrefix(arg, "--disallowedTools="); ok {
			tools = append(tools, tool)
		}
	}
	return tools
}

// What a person asks to be reminded of is kept by Harness, not by a process that
// ends when it is idle; what an operator decides otherwise holds.
func TestSessionsAreNotOfferedWhatHarnessDoesItself(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) {
		c.AllowedTools = []string{"Read", "Workflow", "CronL*"}
		c.DisallowedTools = []string{"WebSearch"}
	})
	r := request("thread", "", "say x")
	r.AllowedTools, r.DisallowedTools = []string{"SendMessage"}, []string{"WebFetch"}
	wantText(t, a.Invoke(t.Context(), r, nil), "x")
	without := disallowedIn(a.starts()[0])
	for _, tool := range []string{"CronCreate", "CronDelete", "ScheduleWakeup", "TaskCreate", "EnterWorktree", "WebSearch", "WebFetch"} {
		if !slices.Contains(without, tool) {
			t.Errorf("%s is offered", tool)
		}
	}
	for _, tool := range []string{"Read", "Agent", "Workflow", "CronList", "SendMessage"} {
		if slices.Contains(without, tool) {
			t.Errorf("%s is not offered", tool)
		}
	}
}

// A tool that came with an upgrade of the CLI may do what Harness does: it is
// said once, and remembered for whoever asks, over restarts.
func TestToolsThatAreNewAreSaidAndRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.json")
	run := func(version, tools string) (config Config, log string) {
		t.Helper()
		said := &lockedLog{}
		t.Run(tools, func(t *testing.T) {
			a := startAgent(t, "plain", func(c *Config) {
				c.NewTools, c.Log = file, slog.New(slog.NewTextHandler(said, nil))
				c.AllowedTools = []string{"Known"}
				c.Env = append(c.Env, "INVOKER_TEST_VERSION="+version, "INVOKER_TEST_TOOLS="+tools)
			})
			for _, thread := range []string{"one", "two"} {
				wantText(t, a.ask(thread, "", "say x"), "x")
			}
			config = a.config
		})
		return config, said.String()
	}
	want := func(config Config, version string, tools ...string) {
		t.Helper()
		seen, err := ReadNewTools(config)
		if err != nil || seen.Version != version || !slices.Equal(seen.Tools, tools) {
			t.Errorf("remembered %+v, %v; want %s %v", seen, err, version, tools)
		}
	}
	want(Config{NewTools: file}, "")
	config, log := run("3.0.0", "Bash CronCreate Known mcp__harness__time__now Alarm")
	want(config, "3.0.0", "Alarm")
	if strings.Count(log, "Alarm") != 1 {
		t.Errorf("said %d times: %s", strings.Count(log, "Alarm"), log)
	}
	if _, log = run("3.0.0", "Bash"); strings.Contains(log, "Alarm") { // hidden by its request
		t.Errorf("said again: %s", log)
	}
	want(config, "3.0.0", "Alarm")
	_, _ = run("3.0.0", "Bell Alarm")
	want(config, "3.0.0", "Alarm", "Bell")
	config.DisallowedTools = []string{"Alarm"}
	want(config, "3.0.0", "Bell")
	_, _ = run("3.0.1", "Bash")
	want(config, "3.0.1")

	if err := os.WriteFile(file, []byte("oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNewTools(config); err == nil {
		t.Error("a file that is no such thing is read")
	}
	_, _ = run("3.0.1", "Bell")
	want(config, "3.0.1", "Bell")
}

// It is a part of TestRealConversation, which has a rule for CronList: also what runs the
// schedules is off.
func (c *conversation) toolsThatHarnessHas(t *testing.T) {
	r := newRecorder()
	wantText(t, c.in(t.Context(), "usetool:CronCreate {\"cron\":\"* * * * *\",\"prompt\":\"x\"}\nthen:I see.", r.emit), "I see.")
	if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || !results[0].IsError {
		t.Errorf("a schedule of the CLI's: %+v", results)
	}
	requests := c.api.Requests(fakeapi.Main)
	for _, tool := range append([]string{"CronList"}, replaced...) {
		if slices.Contains(requests[0].Tools, tool) {
			t.Errorf("the model is offered %s", tool)
		}
	}
	for _, tool := range []string{"Agent", "Bash", "Read", "Write", "WebFetch"} {
		if !slices.Contains(requests[0].Tools, tool) {
			t.Errorf("the model is not offered %s", tool)
		}
	}
	// A failure here is a newer CLI in the tests: look at what it brings, and sort
	// it into one of the lists.
	if seen, err := ReadNewTools(c.config); err != nil || seen.Version == "" || len(seen.Tools) > 0 {
		t.Errorf("new tools of the CLI: %+v, %v", seen, err)
	}
}
