package activity

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

var thread = pluginsdk.Thread{ID: "T"}

func call(attempt int) pluginsdk.Call {
	return pluginsdk.Call{ID: "C", RunID: "R", Attempt: attempt, Token: "secret-token"}
}

func meta(s string) json.RawMessage { return json.RawMessage(s) }

func started(t *testing.T, request *pluginsdk.OnPipelineStartRequest) *pluginsdk.Effects {
	t.Helper()
	answer, err := new(Plugin).OnPipelineStart(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Effects
}

func completed(t *testing.T, request *pluginsdk.OnPipelineCompleteRequest) *pluginsdk.Effects {
	t.Helper()
	answer, err := new(Plugin).OnPipelineComplete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Effects
}

func TestManifestAsksOnlyForWhatItNeeds(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if manifest.Name != "activity" || manifest.Version == "" {
		t.Errorf("name %q, version %q", manifest.Name, manifest.Version)
	}
	if len(manifest.Capabilities) != 1 || manifest.Capabilities[0].Capability != pluginsdk.CapMessagesWrite {
		t.Errorf("capabilities = %v; want messages.write only", manifest.Capabilities)
	}
	if hooks := pluginsdk.HooksOf(new(Plugin)); !reflect.DeepEqual(hooks, []pluginsdk.Hook{"OnPipelineStart", "OnPipelineComplete"}) {
		t.Errorf("hooks = %v", hooks)
	}
	// What is not asked for is not sent: the rows would be without it.
	if !manifest.Wants("OnPipelineComplete", "events") || !manifest.Wants("OnPipelineComplete", "steps") || len(manifest.Needs) != 1 {
		t.Errorf("needs = %v", manifest.Needs)
	}
}

func TestStartRowIsTheSameAtEachAttempt(t *testing.T) {
	want := &pluginsdk.Effects{Key: "start", Rows: []pluginsdk.NewMessage{{
		Role: "system", Kind: "status", Source: "pipeline", Content: "Pipeline started",
		Metadata: meta(`{"event":"pipeline_start"}`),
	}}}
	for attempt := 1; attempt <= 2; attempt++ {
		if got := started(t, &pluginsdk.OnPipelineStartRequest{Call: call(attempt), Thread: thread}); !reflect.DeepEqual(got, want) {
			t.Errorf("attempt %d: %+v", attempt, got)
		}
	}
}

func TestCompleteRowsAreExact(t *testing.T) {
	got := completed(t, &pluginsdk.OnPipelineCompleteRequest{
		Call: call(1), Thread: thread, Outcome: pluginsdk.OutcomeSucceeded,
		Steps: []pluginsdk.PipelineStep{
			{Step: "onMessage"}, {Step: "invoking", Detail: "claude-sonnet-4-6"},
		},
		Events: []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamThinking, Text: "hm"},
			{Type: pluginsdk.StreamThinking},
			{Type: pluginsdk.StreamToolCall, ToolName: "mcp__harness__delegation__delegate", ToolUseID: "u1", Input: meta(`{"a":1}`), Timestamp: at(0)},
			{Type: pluginsdk.StreamToolCall, ToolName: "Read", ToolUseID: "u2", Timestamp: at(20)},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "u1", Text: "done", Timestamp: at(1250)},
			{Type: pluginsdk.StreamToolCall, ToolUseID: "u3"},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "u2", IsError: true, Timestamp: at(20)},
			{Type: pluginsdk.StreamText, Text: "the reply itself"},
			{Type: pluginsdk.StreamRetry, Text: "again"},
			{Type: "from the future", Text: "?"},
		},
		Usage:    &pluginsdk.Usage{InputTokens: 12, OutputTokens: 0},
		Duration: 1500 * time.Millisecond,
	})
	want := []pluginsdk.NewMessage{
		{Role: "system", Kind: "pipeline_step", Source: "pipeline", Content: "onMessage", Metadata: meta(`{"step":"onMessage","detail":null}`)},
		{Role: "system", Kind: "pipeline_step", Source: "pipeline", Content: "invoking", Metadata: meta(`{"step":"invoking","detail":"claude-sonnet-4-6"}`)},
		{Role: "assistant", Kind: "thinking", Source: "builtin", Content: "hm"},
		{Role: "assistant", Kind: "tool_call", Source: "delegation", Content: "mcp__harness__delegation__delegate", Metadata: meta(`{"toolName":"mcp__harness__delegation__delegate","toolUseId":"u1","input":{"a":1}}`)},
		{Role: "assistant", Kind: "tool_call", Source: "builtin", Content: "Read", Metadata: meta(`{"toolName":"Read","toolUseId":"u2","input":null}`)},
		{Role: "assistant", Kind: "tool_result", Source: "builtin", Content: "done", Metadata: meta(`{"toolUseId":"u1","success":true,"durationMs":1250}`)},
		{Role: "assistant", Kind: "tool_result", Source: "builtin", Metadata: meta(`{"toolUseId":"u2","success":false,"durationMs":0}`)},
		{Role: "system", Kind: "status", Source: "pipeline", Content: "Pipeline completed", Metadata: meta(`{"event":"pipeline_complete","outcome":"succeeded","durationMs":1500,"inputTokens":12,"outputTokens":0,"toolCalls":2}`)},
	}
	if got.Key != "complete" {
		t.Errorf("key %q", got.Key)
	}
	if len(got.Rows) != len(want) {
		t.Fatalf("%d rows; want %d: %+v", len(got.Rows), len(want), got.Rows)
	}
	for i := range want {
		if !reflect.DeepEqual(got.Rows[i], want[i]) {
			t.Errorf("row %d\n got %+v\nwant %+v", i, got.Rows[i], want[i])
		}
	}
}

// at is so many milliseconds after the beginning.
func at(ms int) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(ms)) }

// A duration that nobody measured must not be shown as one.
func TestDurationsThatAreNotKnownAreAbsent(t *testing.T) {
	call := pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Read", ToolUseID: "u", Timestamp: at(10)}
	result := pluginsdk.StreamEvent{Type: pluginsdk.StreamToolResult, ToolUseID: "u", Timestamp: at(20)}
	for name, change := range map[string]func(call, result *pluginsdk.StreamEvent){
		"a call without a time":      func(call, _ *pluginsdk.StreamEvent) { call.Timestamp = time.Time{} },
		"a result without a time":    func(_, result *pluginsdk.StreamEvent) { result.Timestamp = time.Time{} },
		"a clock that was put back":  func(_, result *pluginsdk.StreamEvent) { result.Timestamp = at(9) },
		"another call's result":      func(_, result *pluginsdk.StreamEvent) { result.ToolUseID = "v" },
		"calls that are not told of": func(call, result *pluginsdk.StreamEvent) { call.ToolUseID, result.ToolUseID = "", "" },
	} {
		events := []pluginsdk.StreamEvent{call, result}
		change(&events[0], &events[1])
		rows := completeRows(&pluginsdk.OnPipelineCompleteRequest{Events: events})
		if strings.Contains(string(rows[1].Metadata), "durationMs") {
			t.Errorf("%s: %s", name, rows[1].Metadata)
		}
	}
}

func TestUnknownFiguresAreNull(t *testing.T) {
	got := completed(t, &pluginsdk.OnPipelineCompleteRequest{Call: call(3), Thread: thread, Outcome: pluginsdk.OutcomeDenied})
	if got.Key != "complete:3" {
		t.Errorf("key of the third attempt = %q", got.Key)
	}
	want := `{"event":"pipeline_complete","outcome":"denied","durationMs":null,"inputTokens":null,"outputTokens":null,"toolCalls":0}`
	if len(got.Rows) != 1 || string(got.Rows[0].Metadata) != want {
		t.Errorf("rows = %+v; want %s", got.Rows, want)
	}
}
