package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func withTools(t *testing.T) *clienttest.Daemon {
	t.Helper()
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.AddTool(client.Tool{Name: "time__current_time", Plugin: "time", Description: "The time\nof day", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(input json.RawMessage) pluginsdk.ToolResult {
			if strings.Contains(string(input), "Moon") {
				return pluginsdk.ToolResult{Text: "there is no zone Moon", IsError: true}
			}
			return pluginsdk.ToolResult{Text: "noon " + string(input)}
		})
	daemon.AddTool(client.Tool{Name: "count__all", Plugin: "count"},
		func(json.RawMessage) pluginsdk.ToolResult {
			return pluginsdk.ToolResult{Structured: json.RawMessage(`{"n":3}`)}
		})
	return daemon
}

func TestToolsList(t *testing.T) {
	daemon := withTools(t)
	got := harness(t, "", "tools", "list", "--url", daemon.URL())
	want := "TOOL                PLUGIN  DESCRIPTION\n" +
		"time__current_time  time    The time of day\n" +
		"count__all          count   -\n"
	if got.code != 0 || got.out != want {
		t.Errorf("%+v", got)
	}
	var tools []client.Tool
	asJSON := harness(t, "", "tools", "list", "--url", daemon.URL(), "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &tools); err != nil || len(tools) != 2 || len(tools[0].InputSchema) == 0 {
		t.Errorf("--json: %v\n%s", err, asJSON.out)
	}
}

// A script must be able to tell a tool that did its work from one that did not.
func TestToolsCall(t *testing.T) {
	daemon := withTools(t)
	for name, row := range map[string]struct {
		args  []string
		stdin string
		code  int
		out   string
		err   string
	}{
		"no input":          {[]string{"time__current_time"}, "", 0, "noon {}\n", ""},
		"input":             {[]string{"time__current_time", `{"a": 1}`}, "", 0, `noon {"a":1}` + "\n", ""},
		"input from stdin":  {[]string{"time__current_time", "-"}, `{"b":2}`, 0, `noon {"b":2}` + "\n", ""},
		"structured":        {[]string{"count__all"}, "", 0, `{"n":3}` + "\n", ""},
		"an error result":   {[]string{"time__current_time", `{"zone":"Moon"}`}, "", 1, "", "there is no zone Moon\n"},
		"not JSON":          {[]string{"time__current_time", "now"}, "", 1, "", "has to be a JSON object"},
		"not an object":     {[]string{"time__current_time", "[1]"}, "", 1, "", "has to be a JSON object"},
		"unknown":           {[]string{"time__past"}, "", 1, "", "there is no tool time__past"},
		"as JSON":           {[]string{"--json", "count__all"}, "", 0, `"n": 3`, ""},
		"an error, as JSON": {[]string{"--json", "time__current_time", `{"zone":"Moon"}`}, "", 1, `"isError": true`, ""},
	} {
		got := harness(t, row.stdin, append([]string{"tools", "call", "--url", daemon.URL()}, row.args...)...)
		if got.code != row.code || !strings.Contains(got.out, row.out) || !strings.Contains(got.err, row.err) || (row.out == "") != (got.out == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a tool answers with may not play with the terminal of who called it, also
// when it is JSON, in which most of that needs no escape.
func TestWhatAToolAnswersIsCleanedForATerminal(t *testing.T) {
	for _, result := range []pluginsdk.ToolResult{{Text: "a\u009b31m\u202eb"}, {Structured: json.RawMessage("a\u009b31m\u202eb")}} {
		if got := shownResult(result, true); got != "a31mb" {
			t.Errorf("on a terminal: %q", got)
		}
		if got := shownResult(result, false); got != "a\u009b31m\u202eb" {
			t.Errorf("to a program: %q", got)
		}
	}
}
