package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func demoReply(t *testing.T, demo *Demo, r ledger.AgentRequest) (pluginsdk.InvokeResult, *recorder) {
	t.Helper()
	rec := newRecorder()
	result := demo.Invoke(t.Context(), r, rec.emit)
	if result.Failure == nil && result.Text != "" && !strings.HasPrefix(result.Text, DemoMark) {
		t.Errorf("a reply without the mark: %q", result.Text)
	}
	return result, rec
}

func TestTheDemoAgentRepeatsTheMessageOnly(t *testing.T) {
	prompt := "# Context\n\n## memory.md\nprivate things\n\n---\n\nThread: primary\n\n---\n\nWhat is   the weather?"
	result, rec := demoReply(t, NewDemo(DemoConfig{}), request("thread", "", prompt))
	if !strings.Contains(result.Text, "You said: What is the weather?") || strings.Contains(result.Text, "private things") {
		t.Errorf("reply %q", result.Text)
	}
	if result.SessionID == "" || result.Model == "" || result.Usage.OutputTokens == 0 || result.Turns != 1 {
		t.Errorf("result %+v", result)
	}
	var joined strings.Builder
	for _, delta := range rec.of(pluginsdk.StreamTextDelta) {
		if delta.Offset != joined.Len() {
			t.Errorf("delta %q at %d", delta.Text, delta.Offset)
		}
		joined.WriteString(delta.Text)
	}
	if whole := rec.of(pluginsdk.StreamText); joined.String() != result.Text || len(whole) != 1 || whole[0].Text != result.Text {
		t.Errorf("deltas %q, whole %+v", joined.String(), whole)
	}
}

func TestTheDemoAgentShortensWhatItRepeats(t *testing.T) {
	result, _ := demoReply(t, NewDemo(DemoConfig{}), request("thread", "", strings.Repeat("ä ", 5000)))
	if n := strings.Count(result.Text, "ä"); n != demoEcho/2 {
		t.Errorf("repeated %d letters", n)
	}
}

func TestTheDemoAgentsSessions(t *testing.T) {
	demo := NewDemo(DemoConfig{})
	result, _ := demoReply(t, demo, request("thread", "", "hello"))
	if !demo.Holds("thread", result.SessionID) || demo.Holds("other", result.SessionID) {
		t.Error("Holds does not tell what is held")
	}
	if err := demo.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if demo.Holds("thread", result.SessionID) {
		t.Error("a session is held after a restart")
	}
	resumed, _ := demoReply(t, demo, request("thread", result.SessionID, "hello again"))
	if resumed.Failure != nil || resumed.SessionID != result.SessionID {
		t.Errorf("resumed: %+v", resumed)
	}
}

func TestTheDemoAgentFollowsItsScript(t *testing.T) {
	seen := 0
	demo := NewDemo(DemoConfig{
		OnInvoke: func(ledger.AgentRequest) { seen++ },
		Script: NewScript(
			Rule{Match: "report", Times: 1, Think: "let me see", ToolName: "mcp__harness__time__now",
				ToolInput: []byte(`{"tz":"UTC"}`), ToolResult: "noon", Text: "[COMMAND type=\"delegate\"]\nx\n[/COMMAND]"},
			Rule{Match: "report", Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, APIStatus: 529, Retryable: true, Message: "busy"}},
			Rule{Match: "nothing", Empty: true},
			Rule{Match: "slash", Text: "/delegate now"},
		),
	})
	first, rec := demoReply(t, demo, request("thread", "", "a report please"))
	if !strings.Contains(first.Text, "\n[COMMAND type=\"delegate\"]\n") {
		t.Errorf("the command does not stand at the start of a line: %q", first.Text)
	}
	if len(rec.of(pluginsdk.StreamThinking)) != 1 || len(rec.of(pluginsdk.StreamToolCall)) != 1 || rec.of(pluginsdk.StreamToolResult)[0].Text != "noon" {
		t.Errorf("events %+v", rec.events)
	}
	second, _ := demoReply(t, demo, request("thread", first.SessionID, "a report please"))
	failure := wantFailure(t, second, pluginsdk.FailureAPI, true)
	if failure.APIStatus != 529 || failure.Message != "busy" {
		t.Errorf("failure %+v", failure)
	}
	if empty, _ := demoReply(t, demo, request("thread", "", "nothing")); empty.Text != "" || empty.Failure != nil {
		t.Errorf("result %+v", empty)
	}
	if slash, _ := demoReply(t, demo, request("thread", "", "slash")); !strings.HasSuffix(slash.Text, "\n/delegate now") {
		t.Errorf("text %q", slash.Text)
	}
	if other, _ := demoReply(t, demo, request("thread", "", "something else")); !strings.Contains(other.Text, "something else") {
		t.Errorf("text %q", other.Text)
	}
	if seen != 5 {
		t.Errorf("OnInvoke was called %d times", seen)
	}
}

func TestTheDemoAgentCanBeInterrupted(t *testing.T) {
	begun := make(chan struct{})
	demo := NewDemo(DemoConfig{
		OnInvoke: func(ledger.AgentRequest) { close(begun) },
		Script:   NewScript(Rule{Delay: 3_600_000, Text: "late"}),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-begun
		cancel(errors.New("stopped by Ada"))
	}()
	failure := wantFailure(t, demo.Invoke(ctx, request("thread", "", "x"), nil), pluginsdk.FailureInterrupted, false)
	if failure.Message != "stopped by Ada" {
		t.Errorf("message %q", failure.Message)
	}
}

func TestLoadScript(t *testing.T) {
	load := func(text string) (*Script, error) {
		path := filepath.Join(t.TempDir(), "script.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadScript(path)
	}
	script, err := load(`[{"match":"hi","times":2,"delay":0,"think":"t","toolName":"n","toolInput":{"a":1},"toolResult":"r",
		"text":"hello"},{"match":"bad","failure":{"kind":"crashed","message":"m","retryable":true}}]`)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := demoReply(t, NewDemo(DemoConfig{Script: script}), request("thread", "", "hi"))
	if result.Text != DemoMark+" hello" {
		t.Errorf("text %q", result.Text)
	}
	for text, names := range map[string]string{
		`{}`:                         "array",
		`[{"mach":"x"}]`:             "mach",
		`[{"times":-1}]`:             "times",
		`[{"delay":-1}]`:             "delay",
		`[{"failure":{}}]`:           "kind",
		`[{"match":"x"}`:             "script.json",
		`[{"match":"x","times":""}]`: "times",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: error %v does not name %q", text, err, names)
		}
	}
	if _, err := LoadScript(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("a script that is not there is loaded")
	}
}

func BenchmarkDemo(b *testing.B) {
	demo := NewDemo(DemoConfig{})
	for b.Loop() {
		demo.Invoke(b.Context(), request("thread", "", "hello"), func(pluginsdk.StreamEvent) {})
	}
}

// demoTools answers every call with what it was called with.
type demoTools struct {
	mu    sync.Mutex
	asked []string
}

func (d *demoTools) Answer(_ context.Context, runID, name string, input json.RawMessage) pluginsdk.ToolResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, runID+" "+name+" "+string(input))
	return pluginsdk.ToolResult{Text: "really called", Structured: json.RawMessage(`{"a":1}`), IsError: name == "time__never"}
}

// A plugin's tool in a script is really called, whichever way it is written;
// whatever else is in one is played.
func TestTheDemoAgentCallsPluginsTools(t *testing.T) {
	for name, row := range map[string]struct {
		rule   Rule
		shown  string // name of the tool
		asked  string // nothing: it is played
		result string
		failed bool
	}{
		"a plugin's":          {Rule{ToolName: "time__now"}, "mcp__harness__time__now", "run-thread time__now {}", "really called\n{\"a\":1}", false},
		"as the agent has it": {Rule{ToolName: "mcp__harness__time__never", ToolInput: []byte(`{"x":1}`)}, "mcp__harness__time__never", `run-thread time__never {"x":1}`, "really called\n{\"a\":1}", true},
		"with a result":       {Rule{ToolName: "time__now", ToolResult: "noon"}, "time__now", "", "noon", false},
		"with an error":       {Rule{ToolName: "time__now", ToolError: true}, "time__now", "", "", true},
		"the agent's own":     {Rule{ToolName: "Read", ToolResult: "text"}, "Read", "", "text", false},
		"another server's":    {Rule{ToolName: "mcp__other__tool"}, "mcp__other__tool", "", "", false},
	} {
		tools := &demoTools{}
		demo := NewDemo(DemoConfig{Tools: tools, Script: NewScript(row.rule)})
		_, rec := demoReply(t, demo, talk("thread", "", "go"))
		calls, results := rec.of(pluginsdk.StreamToolCall), rec.of(pluginsdk.StreamToolResult)
		if len(calls) != 1 || len(results) != 1 || calls[0].ToolName != row.shown || results[0].Text != row.result || results[0].IsError != row.failed ||
			strings.Join(tools.asked, ", ") != row.asked {
			t.Errorf("%s: events %+v, asked %q", name, rec.events, tools.asked)
		}
	}
}

// The demo agent holds a turn's cap and its time, as the real one does, and runs many
// turns of a thread at a time.
func TestTheDemoAgentHoldsWhatATurnMayCost(t *testing.T) {
	demo := NewDemo(DemoConfig{Script: NewScript(
		Rule{Match: "dear", CostUSD: 2, Text: "x", StructuredOutput: json.RawMessage(`{}`)},
		Rule{Match: "slow", Delay: 3_600_000},
	)})
	for name, row := range map[string]struct {
		cap  float64
		fine bool
	}{"none": {0, true}, "more": {2.5, true}, "as much": {2, false}, "less": {0.5, false}} {
		r := fresh("R", "thread", "dear")
		r.CostCapUSD = row.cap
		result := demo.Invoke(t.Context(), r, nil)
		if result.CostUSD != 2 || (result.Failure == nil) != row.fine {
			t.Errorf("cap %s: %+v, failure %+v", name, result, result.Failure)
		}
		if !row.fine && (result.Failure.Kind != pluginsdk.FailureBudget || result.StructuredOutput != nil || !strings.Contains(result.Failure.Message, "it has come to $2.00")) {
			t.Errorf("cap %s: failure %+v", name, result.Failure)
		}
	}
	slow := fresh("R", "thread", "slow")
	slow.Timeout = time.Millisecond
	if failure := wantFailure(t, demo.Invoke(t.Context(), slow, nil), pluginsdk.FailureTimeout, false); !strings.Contains(failure.Message, "1ms") {
		t.Errorf("message %q", failure.Message)
	}
}

func TestTheDemoAgentRunsManyTurnsOfAThread(t *testing.T) {
	const turns = 20
	tools := &demoTools{}
	var begun sync.WaitGroup
	begun.Add(turns)
	demo := NewDemo(DemoConfig{Tools: tools, Script: NewScript(Rule{Match: "judge", ToolName: "time__now"}), OnInvoke: func(ledger.AgentRequest) {
		begun.Done()
		begun.Wait() // for all of them
	}})
	results := make(chan pluginsdk.InvokeResult, turns)
	for n := range turns {
		go func() { results <- demo.Invoke(t.Context(), fresh(fmt.Sprint("R", n), "thread", "judge"), nil) }()
	}
	sessions := map[string]bool{}
	for range turns {
		result := <-results
		sessions[result.SessionID] = true
		if result.Failure != nil || demo.Holds("thread", result.SessionID) {
			t.Errorf("result %+v, or its session is held", result)
		}
	}
	slices.Sort(tools.asked)
	if len(sessions) != turns || len(slices.Compact(tools.asked)) != turns {
		t.Errorf("%d sessions; the tools were called for %q", len(sessions), tools.asked)
	}
}

// A task that is given to the demo agent comes to its end, and who reads the result is told
// that no model has made it.
func TestTheDemoAgentEndsATask(t *testing.T) {
	result, _ := demoReply(t, NewDemo(DemoConfig{}), request("thread", "", "Build it. End with a line DONE: or BLOCKED: why."))
	lines := strings.Split(result.Text, "\n")
	if !result.Demo || !strings.HasPrefix(lines[len(lines)-1], "DONE: ") {
		t.Errorf("demo %v: %q", result.Demo, result.Text)
	}
	if result, _ := demoReply(t, NewDemo(DemoConfig{}), request("thread", "", "Are you DONE: yet?")); strings.Contains(result.Text, "\nDONE:") {
		t.Errorf("nobody asked for that: %q", result.Text)
	}
}

// Whoever tries out what the agent asks needs no account for it.
func TestDemoAsksPeople(t *testing.T) {
	demo := NewDemo(DemoConfig{Workspace: "/work", Script: NewScript(Rule{Match: "clean up", ToolName: "Bash", ToolInput: []byte(`{"command":"rm x"}`), ToolResult: "gone", Ask: true, Text: "done"})})
	p := newPeople()
	for _, row := range []struct {
		answer ledger.ToolAnswer
		result string
	}{{ledger.ToolAnswer{Allow: true}, "gone"}, {ledger.ToolAnswer{Words: "keep it"}, "keep it"}} {
		r := newRecorder()
		done := make(chan pluginsdk.InvokeResult, 1)
		go func() { done <- demo.Invoke(t.Context(), p.request("thread", "", "clean up"), r.emit) }()
		q := p.next(t)
		q.answer <- row.answer
		<-done
		if q.Cwd != "/work" {
			t.Errorf("it works in %q, so that nothing lasting can be offered", q.Cwd)
		}
		if results := r.of(pluginsdk.StreamToolResult); q.Tool != "Bash" || len(results) != 1 || results[0].Text != row.result || results[0].IsError == row.answer.Allow {
			t.Errorf("asked %+v, then %+v", q.ToolAsk, results)
		}
	}
	go func() { (<-p.asked).answer <- ledger.ToolAnswer{Park: true} }()
	if result := demo.Invoke(t.Context(), p.request("thread", "", "clean up"), nil); result.Failure == nil || result.Failure.Kind != pluginsdk.FailureParked {
		t.Errorf("parked: %+v", result.Failure)
	}
	elsewhere := p.request("thread", "", "clean up")
	elsewhere.Cwd = "/elsewhere"
	done := make(chan pluginsdk.InvokeResult, 1)
	go func() { done <- demo.Invoke(t.Context(), elsewhere, nil) }()
	q := p.next(t)
	q.answer <- ledger.ToolAnswer{}
	if <-done; q.Cwd != elsewhere.Cwd {
		t.Errorf("it works in %q", q.Cwd)
	}
	alone := demo.Invoke(t.Context(), request("thread", "", "clean up"), nil)
	if alone.Failure != nil {
		t.Errorf("where nobody can be asked: %+v", alone.Failure)
	}
}
