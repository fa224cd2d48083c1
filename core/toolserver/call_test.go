package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The main job: the agent sees the tool, calls it, and the plugin knows on whose
// behalf; what it asks of the host while it works counts, and not afterwards.
func TestTheAgentCallsATool(t *testing.T) {
	f := start(t, nil)
	var during bool
	f.plugins.has("time", "now", `{"properties":{"zone":{"type":"string"}}}`, func(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		inside, ok := pluginsdk.CallFrom(ctx)
		during = ok && f.tokens.good(inside.Token)
		return echo(ctx, call)
	})
	client := f.open()
	defer f.begin(behalf)()
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 {
		t.Fatalf("tools %v, %v", list, err)
	}
	shown, _ := json.Marshal(list.Tools[0])
	if want := `{"description":"now of time","inputSchema":{"properties":{"zone":{"type":"string"}},"type":"object"},"name":"time__now"}`; string(shown) != want {
		t.Errorf("the agent sees %s", shown)
	}
	if result := f.call(client, "time__now", `{"zone":"UTC"}`); result.IsError || text(result) != `echo {"zone":"UTC"}` {
		t.Errorf("result %q", text(result))
	}
	call := f.plugins.calls()[0]
	if call.Name != "now" || call.ThreadID != "T" || call.Call.RunID != "R" || call.Call.Attempt != 2 || call.Call.Deadline.IsZero() ||
		!strings.HasPrefix(call.Call.ID, "R:CallTool:time__now:") || f.plugins.runs[0] != "R" {
		t.Errorf("the plugin was asked %+v", call)
	}
	if !during || f.tokens.good(call.Call.Token) {
		t.Errorf("the token was good during the call: %v, afterwards: %v", during, f.tokens.good(call.Call.Token))
	}
	if inside := f.tokens.behalves[0]; inside.Depth != 1 || inside.Fence != behalf.Fence || inside.RunID != "R" {
		t.Errorf("on behalf of what the tool asks for: %+v", inside)
	}
	f.call(client, "time__now", "")
	if calls := f.plugins.calls(); string(calls[1].Input) != "{}" || calls[0].Call.ID == calls[1].Call.ID {
		t.Errorf("second call %+v", calls[1])
	}
}

// Whatever goes wrong is something that the agent reads and can act on.
func TestFailuresAreResultsWithACode(t *testing.T) {
	f := start(t, nil)
	f.server.hooks = hooks.New(hooks.Config{Deadlines: map[pluginsdk.Hook]time.Duration{pluginsdk.HookCallTool: time.Millisecond}}, nil, f.tokens)
	say := func(err error) provider {
		return func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
			return pluginsdk.ToolResult{}, err
		}
	}
	f.plugins.has("good", "work", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`, echo)
	f.plugins.has("gone", "work", anyObject, nil)
	f.plugins.has("off", "work", anyObject, echo)
	f.plugins.has("bad", "work", `{"type":"string"}`, echo)
	f.plugins.has("faulty", "work", anyObject, say(pluginsdk.Errorf(pluginsdk.CodeInternal, "CallTool panicked: at the disco")))
	f.plugins.has("picky", "work", anyObject, say(pluginsdk.Errorf(pluginsdk.CodeDenied, "not on Sundays")))
	f.plugins.has("slow", "work", anyObject, func(ctx context.Context, _ *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		<-ctx.Done()
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeDeadline, "%w", ctx.Err())
	})
	f.plugins.has("odd", "work", anyObject, func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		return pluginsdk.ToolResult{Structured: json.RawMessage(`[1`)}, nil
	})
	f.plugins.has("honest", "work", anyObject, func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		return pluginsdk.ToolResult{Text: "the door is locked", IsError: true}, nil
	})
	f.plugins.has("broken", "work", anyObject, func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		panic("in the daemon")
	})
	f.plugins.enable("off", false)
	client := f.open()
	defer f.begin(behalf)()
	for _, row := range []struct{ name, input, says string }{
		{"good__work", `{}`, "invalid_argument: the input of good__work does not fit its schema"},
		{"good__work", `{"n":"x"}`, "Correct the input"},
		{"good__work", `{"n":1,"m":2}`, "invalid_argument"},
		{"good__work", `[1]`, "invalid_argument: the input of good__work has to be a JSON object"},
		{"good__play", `{}`, `not_found: the plugin good has no tool "play"`},
		{"nobody__work", `{}`, `not_found: there is no tool "nobody__work"`},
		{"", `{}`, "not_found"},
		{"off__work", `{}`, "unavailable: the plugin off, whose tool off__work is, is disabled"},
		{"bad__work", `{}`, "unavailable: the tool bad__work cannot be used"},
		{"gone__work", `{}`, "unavailable: gone__work cannot be called: the plugin gone is backoff: it fell over"},
		{"faulty__work", `{}`, "internal: the plugin faulty failed in faulty__work: CallTool panicked: at the disco"},
		{"picky__work", `{}`, "permission_denied: the plugin picky failed in picky__work: not on Sundays"},
		{"slow__work", `{}`, "deadline_exceeded: slow__work did not come to an end within 1ms"},
		{"odd__work", `{}`, "internal: the plugin odd answered odd__work with structured content that is not a JSON object"},
		{"honest__work", `{}`, "the door is locked"},
		{"broken__work", `{}`, "internal: the call of the tool failed inside the daemon"},
	} {
		result := f.call(client, row.name, row.input)
		if !result.IsError || !strings.Contains(text(result), row.says) {
			t.Errorf("%s %s: %v %q, want %q", row.name, row.input, result.IsError, text(result), row.says)
		}
	}
	for _, call := range f.plugins.calls() {
		if call.Name == "work" && string(call.Input) != "{}" {
			t.Errorf("a plugin was asked with input that does not fit: %s", call.Input)
		}
	}
	if n := strings.Count(f.log.String(), "a tool is left out"); n != 1 || !strings.Contains(f.log.String(), "bad__work") {
		t.Errorf("%d warnings of a schema that cannot be used in:\n%s", n, f.log)
	}
	if len(f.tokens.open) != 0 {
		t.Errorf("tokens still good: %v", f.tokens.open)
	}
	f.call(client, "good__work", `{"n":"hunter2"}`)
	if strings.Contains(f.log.String(), "hunter2") {
		t.Error("what the agent called a tool with is in the log")
	}
}

// A schema that cannot be used costs that tool and no other.
func TestSchemas(t *testing.T) {
	for schema, usable := range map[string]bool{
		`{}`:                              true,
		`{"type":"object","x-of-mine":1}`: true,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`:                  true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`: true,
		`{"type":"array"}`:           false,
		`{"type":["object","null"]}`: false,
		`{"type":"thing"}`:           false,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`: false,
		`{"$ref":"http://127.0.0.1:1/schema.json"}`:            false,
		`{"type":"object","properties":7}`:                     false,
		`null`:                                                 false,
		`{"properties":{"a":{"anyOf":[{"type":"string"}]}}}`:   true,
		`{"type":"object","allOf":[{"type":"object"}]}`:        false, // the agent's API would refuse the turn
		`{"type":"object","anyOf":[{"type":"object"}]}`:        false,
		`{"type":"object","oneOf":[{"type":"object"}]}`:        false,
		`{"type":"object","not":{"$ref":"#"}}`:                 false, // it has no end
	} {
		_, compiled, err := compile("p__t", json.RawMessage(schema))
		if (err == nil) != usable || (compiled != nil) != usable {
			t.Errorf("%s: usable %v, %v", schema, err == nil, err)
		}
	}
}

// What one plugin declares must not cost the others their tools, nor the agent its
// turns: it is left out, and who looks for it is told why.
func TestAPluginThatDeclaresTooMuch(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	f.plugins.has("greedy", "work", anyObject, echo)
	declared := &f.plugins.rows[1].Manifest.Tools
	long := strings.Repeat("x", 64-len("mcp__harness__greedy__"))
	*declared = append(*declared, pluginsdk.ToolSpec{Name: long, InputSchema: json.RawMessage(anyObject)},
		pluginsdk.ToolSpec{Name: long + "x", InputSchema: json.RawMessage(anyObject)},
		pluginsdk.ToolSpec{Name: "vast", InputSchema: json.RawMessage(`{"description":"` + strings.Repeat("x", 70_000) + `"}`)})
	for n := len(*declared); n <= maxTools; n++ {
		*declared = append(*declared, pluginsdk.ToolSpec{Name: fmt.Sprintf("t%d", n), InputSchema: json.RawMessage(anyObject)})
	}
	client := f.open()
	defer f.begin(behalf)()
	names := strings.Fields(f.names(client))
	if len(names) != 1+maxTools-2 || !slices.Contains(names, "p__work") || !slices.Contains(names, "greedy__"+long) {
		t.Errorf("%d tools: %v", len(names), names)
	}
	for name, says := range map[string]string{
		long + "x": "takes names of 64 characters",
		"vast":     "at most 65536 bytes",
		"t128":     "declares 129 tools, and 128 are the most",
	} {
		if result := f.call(client, "greedy__"+name, `{}`); !strings.Contains(text(result), says) {
			t.Errorf("%s: %q, want %q", name, text(result), says)
		}
	}
	if result := f.call(client, "greedy__t100", `{}`); result.IsError {
		t.Errorf("one that is offered: %q", text(result))
	}
	f.plugins.enable("greedy", false)
	f.server.List()
	if len(f.server.catalog.plugins) != 1 {
		t.Error("what is made of a plugin that is gone is kept")
	}
}

// A turn waits until the schemas are read, so that there must be an end to them.
func TestAPluginWhoseSchemasAreManyAndLarge(t *testing.T) {
	f := start(t, func(c *Config) { c.Bounds.Bytes = 1 << 20 })
	large := `{"description":"` + strings.Repeat("x", 60_000) + `"}`
	f.plugins.has("p", "t0", large, echo)
	for n := 1; n < 10; n++ {
		declared := &f.plugins.rows[0].Manifest.Tools
		*declared = append(*declared, pluginsdk.ToolSpec{Name: fmt.Sprintf("t%d", n), InputSchema: json.RawMessage(large)})
	}
	if got := len(f.server.List()); got != 4 {
		t.Errorf("%d tools are offered", got)
	}
	if _, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "p__t9", nil); err == nil || !strings.Contains(err.Error(), "more than 262144 bytes") {
		t.Errorf("got %v", err)
	}
}

// A call from outside is checked in bounded time, whatever the schema and the
// input have in common.
func TestAnInputThatIsTooLargeForItsSchema(t *testing.T) {
	f := start(t, nil)
	var schema strings.Builder
	schema.WriteString(`{"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}},"$defs":{"d9":{}`)
	for n := range 9 {
		fmt.Fprintf(&schema, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n, n+1, n+1)
	}
	f.plugins.has("p", "work", schema.String()+"}}", echo)
	ask := func(items int) error {
		input := json.RawMessage(`{"a":[` + strings.Repeat("0,", items) + `0]}`)
		_, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "p__work", input)
		return err
	}
	if err := ask(10); err != nil {
		t.Error(err)
	}
	if err := ask(100_000); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "too large to be checked") {
		t.Errorf("got %v", err)
	}
}

// Tools that do not answer must not use up what those who call them may have
// under way: web would answer nobody any more.
func TestCallsOfNobodysRunAreCounted(t *testing.T) {
	f := start(t, nil)
	working, leave := make(chan struct{}), make(chan struct{})
	wait := func(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		working <- struct{}{}
		<-leave
		return echo(ctx, call)
	}
	f.plugins.has("p", "work", anyObject, wait)
}

// A turn that is over takes its calls along: the plugin is told to stop, what it
// asks for is refused from then on, and the next turn's calls are its own.
func TestACallThatOutlivesItsTurn(t *testing.T) {
	f := start(t, nil)
	working, stopped := make(chan string, 1), make(chan error, 1)
	f.plugins.has("p", "work", anyObject, func(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		if call.Call.RunID != "R" {
			return echo(ctx, call)
		}
		working <- call.Call.Token
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return pluginsdk.ToolResult{Text: "too late"}, ctx.Err()
	})
	client := f.open()
	end := f.begin(behalf)
	var result *mcp.CallToolResult
	var calling sync.WaitGroup
	calling.Go(func() { result = f.call(client, "p__work", `{}`) })
	token := <-working
	end()
	if f.tokens.good(token) {
		t.Error("once the turn is over, what its tool asks for is still served")
	}
	if err := <-stopped; pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("the tool was stopped with %v", err)
	}
	calling.Wait()
	if !result.IsError || !strings.Contains(text(result), "failed_precondition: the turn that the call belongs to is over") {
		t.Errorf("result %q", text(result))
	}
	if result := f.call(client, "p__work", `{}`); !result.IsError || !strings.Contains(text(result), "no turn is running") {
		t.Errorf("between turns: %q", text(result))
	}
	next := behalf
	next.RunID, next.Fence.Epoch = "R2", 8
	defer f.begin(next)()
	if result := f.call(client, "p__work", `{}`); result.IsError {
		t.Errorf("the next turn: %q", text(result))
	}
	if calls := f.plugins.calls(); calls[len(calls)-1].Call.RunID != "R2" {
		t.Errorf("calls %+v", calls)
	}
}

// A tool that calls tools is stopped at some depth, one that does so behind the
// back of its own call by their number.
func TestToolsCallToolsOnlySoDeep(t *testing.T) {
	f := start(t, func(c *Config) { c.Strays = 5 })
	var depths []int
	again := func(ctx context.Context, _ *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		inside := f.tokens.behalves[len(f.tokens.behalves)-1] // as the host looks it up
		inside.Token = "the call's"
		depths = append(depths, inside.Depth)
		return f.server.Call(ctx, "p", inside, "p__work", nil)
	}
	f.plugins.has("p", "work", anyObject, again)
	_, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "p__work", nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || len(depths) != 8 || depths[7] != 8 {
		t.Errorf("depths %v, then %v", depths, err)
	}

	stray := 0
	f.plugins.has("q", "work", anyObject, func(ctx context.Context, _ *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		stray++
		return f.server.Call(ctx, "q", ledger.Behalf{}, "q__work", nil)
	})
	_, err = f.server.Call(t.Context(), "q", ledger.Behalf{}, "q__work", nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || stray != 5 || len(f.server.strays) != 0 {
		t.Errorf("after %d calls: %v; under way %v", stray, err, f.server.strays)
	}
}

// Outside of any run a call has no fence and no thread, and works.
func TestACallOfNobodysRun(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	result, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "p__work", json.RawMessage(`{"a":1}`))
	call := f.plugins.calls()[0]
	if err != nil || result.Text != `echo {"a":1}` || call.ThreadID != "" || call.Call.RunID != "" || call.Call.Attempt != 1 {
		t.Errorf("%+v, %v; asked %+v", result, err, call)
	}
	if _, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "p__play", nil); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("unknown tool: %v", err)
	}
}

// The demo agent goes the same way as the CLI.
func TestAnswer(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	if got := f.server.Answer(t.Context(), "R", "p__work", nil); !got.IsError || !strings.Contains(got.Text, "no turn") {
		t.Errorf("without a turn: %+v", got)
	}
	defer f.server.Begin(behalf)()
	if got := f.server.Answer(t.Context(), "R", "p__work", nil); got.IsError || got.Text != "echo {}" {
		t.Errorf("in its turn: %+v", got)
	}
	if got := f.server.Answer(t.Context(), "S", "p__work", nil); !got.IsError {
		t.Errorf("in the turn of another run: %+v", got)
	}
	if call := f.plugins.calls()[0]; call.Call.RunID != "R" || call.ThreadID != "T" {
		t.Errorf("asked %+v", call)
	}
}

// What the core's own tools say, people take for the agent's word: a plugin must not
// borrow it, neither of its own accord nor from a call inside of the agent's turn.
func TestTheCoresOwnToolsAreTheAgentsAlone(t *testing.T) {
	f := start(t, func(c *Config) { c.Own = "core" })
	f.plugins.has("core", "notify", anyObject, echo)
	client := f.open()
	defer f.begin(behalf)()
	inside := behalf
	inside.Token, inside.Depth = "t", 1
	for what, from := range map[string]ledger.Behalf{"of its own accord": {}, "inside of a turn": inside} {
		_, err := f.server.Call(t.Context(), "parrot", from, "core__notify", json.RawMessage(`{}`))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "parrot") ||
			!strings.Contains(err.Error(), "Messages.Append") || !strings.Contains(err.Error(), "messages.write") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(f.plugins.calls()) > 0 {
		t.Errorf("told %+v", f.plugins.calls())
	}
	if result := f.call(client, "core__notify", `{}`); result.IsError {
		t.Errorf("the agent: %q", text(result))
	}
	if result := f.server.Answer(t.Context(), "R", "core__notify", nil); result.IsError {
		t.Errorf("the demo agent: %q", result.Text)
	}
}

// A thread can have many turns at a time, of one purpose: each process calls on behalf
// of the run whose turn is in it, and of no other.
func TestTurnsOfOneThreadDoNotShareAnOrigin(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	in := func(run string) ledger.Behalf {
		from := behalf
		from.RunID = run
		return from
	}
	first := f.open()
	defer f.begin(in("R1"))()
	second := f.open()
	defer f.begin(in("R2"))()
	for _, run := range []string{"D1", "D2"} { // of the demo agent
		defer f.server.Begin(in(run))()
	}
	f.call(first, "p__work", `{}`)
	f.call(second, "p__work", `{}`)
	for _, run := range []string{"D1", "D2"} {
		if result := f.server.Answer(t.Context(), run, "p__work", nil); result.IsError {
			t.Errorf("the demo agent: %q", result.Text)
		}
	}
	var runs []string
	for _, call := range f.plugins.calls() {
		runs = append(runs, call.Call.RunID+" in "+call.ThreadID)
	}
	if got := strings.Join(runs, ", "); got != "R1 in T, R2 in T, D1 in T, D2 in T" {
		t.Errorf("called for %s", got)
	}
}
