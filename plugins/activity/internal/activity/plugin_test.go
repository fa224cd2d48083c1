package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type appended struct {
	threadID, key string
	rows          []pluginsdk.NewMessage
	call          pluginsdk.Call
}

// ledger records appends and answers err.
type ledger struct {
	pluginsdk.Messages
	calls []appended
	err   error
}

func (l *ledger) Append(ctx context.Context, threadID, key string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	call, _ := pluginsdk.CallFrom(ctx)
	l.calls = append(l.calls, appended{threadID, key, rows, call})
	return nil, l.err
}

func start(t *testing.T) (*Plugin, *ledger, *bytes.Buffer) {
	t.Helper()
	log, messages, plugin := new(bytes.Buffer), new(ledger), new(Plugin)
	host := pluginsdk.Host{
		Messages: messages,
		Log:      slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if err := plugin.Start(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	return plugin, messages, log
}

var thread = pluginsdk.Thread{ID: "T"}

func call(attempt int) pluginsdk.Call {
	return pluginsdk.Call{ID: "C", RunID: "R", Attempt: attempt, Token: "secret-token"}
}

func meta(s string) json.RawMessage { return json.RawMessage(s) }

func TestManifestAsksOnlyForWhatItNeeds(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if manifest.Name != "activity" || manifest.Version == "" {
		t.Errorf("name %q, version %q", manifest.Name, manifest.Version)
	}
	if len(manifest.Capabilities) != 1 || manifest.Capabilities[0].Capability != pluginsdk.CapMessagesWrite {
		t.Errorf("capabilities = %v; want messages.write only", manifest.Capabilities)
	}
	var plugin any = new(Plugin)
	if _, ok := plugin.(pluginsdk.PipelineStartHook); !ok {
		t.Error("OnPipelineStart is not answered")
	}
	if _, ok := plugin.(pluginsdk.PipelineCompleteHook); !ok {
		t.Error("OnPipelineComplete is not answered")
	}
}

func TestStartRowIsTheSameAtEachAttempt(t *testing.T) {
	plugin, messages, _ := start(t)
	for attempt := 1; attempt <= 2; attempt++ {
		hook := pluginsdk.PipelineStart{Call: call(attempt), Thread: thread}
		ctx := pluginsdk.WithCall(t.Context(), hook.Call)
		if err := plugin.OnPipelineStart(ctx, hook); err != nil {
			t.Fatal(err)
		}
	}
	want := []pluginsdk.NewMessage{{
		Role: "system", Kind: "status", Source: "pipeline", Content: "Pipeline started",
		Metadata: meta(`{"event":"pipeline_start"}`), RunID: "R",
	}}
	for i, got := range messages.calls {
		if got.threadID != "T" || got.key != "R:start" || !reflect.DeepEqual(got.rows, want) {
			t.Errorf("append %d = %+v", i, got)
		}
		if got.call.Token != "secret-token" {
			t.Errorf("append %d is not made with the hook's context", i)
		}
	}
	if len(messages.calls) != 2 {
		t.Errorf("%d appends; want one an attempt", len(messages.calls))
	}
}

func TestCompleteRowsAreExact(t *testing.T) {
	plugin, messages, _ := start(t)
	complete := pluginsdk.PipelineComplete{
		Call: call(1), Thread: thread, Outcome: pluginsdk.OutcomeSucceeded,
		Steps: []pluginsdk.PipelineStep{
			{Step: "onMessage"}, {Step: "invoking", Detail: "claude-sonnet-4-6"},
		},
		Events: []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamThinking, Text: "hm"},
			{Type: pluginsdk.StreamThinking},
			{Type: pluginsdk.StreamToolCall, ToolName: "mcp__harness__delegation__delegate", ToolUseID: "u1", Input: meta(`{"a":1}`)},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "u1", Text: "done"},
			{Type: pluginsdk.StreamToolCall, ToolName: "Read", ToolUseID: "u2"},
			{Type: pluginsdk.StreamToolCall, ToolUseID: "u3"},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "u2", IsError: true},
			{Type: pluginsdk.StreamText, Text: "the reply itself"},
			{Type: pluginsdk.StreamRetry, Text: "again"},
			{Type: "from the future", Text: "?"},
		},
		Usage:    &pluginsdk.Usage{InputTokens: 12, OutputTokens: 0},
		Duration: 1500 * time.Millisecond,
	}
	if err := plugin.OnPipelineComplete(t.Context(), complete); err != nil {
		t.Fatal(err)
	}
	want := []pluginsdk.NewMessage{
		{Role: "system", Kind: "pipeline_step", Source: "pipeline", Content: "onMessage", Metadata: meta(`{"step":"onMessage","detail":null}`)},
		{Role: "system", Kind: "pipeline_step", Source: "pipeline", Content: "invoking", Metadata: meta(`{"step":"invoking","detail":"claude-sonnet-4-6"}`)},
		{Role: "assistant", Kind: "thinking", Source: "builtin", Content: "hm"},
		{Role: "assistant", Kind: "tool_call", Source: "delegation", Content: "mcp__harness__delegation__delegate", Metadata: meta(`{"toolName":"mcp__harness__delegation__delegate","toolUseId":"u1","input":{"a":1}}`)},
		{Role: "assistant", Kind: "tool_result", Source: "builtin", Content: "done", Metadata: meta(`{"toolUseId":"u1","success":true}`)},
		{Role: "assistant", Kind: "tool_call", Source: "builtin", Content: "Read", Metadata: meta(`{"toolName":"Read","toolUseId":"u2","input":null}`)},
		{Role: "assistant", Kind: "tool_result", Source: "builtin", Metadata: meta(`{"toolUseId":"u2","success":false}`)},
		{Role: "system", Kind: "status", Source: "pipeline", Content: "Pipeline completed", Metadata: meta(`{"event":"pipeline_complete","outcome":"succeeded","durationMs":1500,"inputTokens":12,"outputTokens":0}`)},
	}
	for i := range want {
		want[i].RunID = "R"
	}
	if len(messages.calls) != 1 {
		t.Fatalf("%d appends; want all rows in one", len(messages.calls))
	}
	got := messages.calls[0]
	if got.threadID != "T" || got.key != "R:complete" {
		t.Errorf("thread %q, key %q", got.threadID, got.key)
	}
	if len(got.rows) != len(want) {
		t.Fatalf("%d rows; want %d: %+v", len(got.rows), len(want), got.rows)
	}
	for i := range want {
		if !reflect.DeepEqual(got.rows[i], want[i]) {
			t.Errorf("row %d\n got %+v\nwant %+v", i, got.rows[i], want[i])
		}
	}
}

func TestUnknownFiguresAreNull(t *testing.T) {
	plugin, messages, _ := start(t)
	_ = plugin.OnPipelineComplete(t.Context(), pluginsdk.PipelineComplete{
		Call: call(3), Thread: thread, Outcome: pluginsdk.OutcomeDenied,
	})
	got := messages.calls[0]
	if got.key != "R:complete:3" {
		t.Errorf("key of the third attempt = %q", got.key)
	}
	want := `{"event":"pipeline_complete","outcome":"denied","durationMs":null,"inputTokens":null,"outputTokens":null}`
	if len(got.rows) != 1 || string(got.rows[0].Metadata) != want {
		t.Errorf("rows = %+v; want %s", got.rows, want)
	}
}

// A run must not fail, or be held against the plugin, because its record could
// not be written.
func TestFailuresAreLoggedAndNotReturned(t *testing.T) {
	cases := []struct {
		name  string
		err   error
		level string
	}{
		{"daemon's fault", errors.New("disk full"), "level=ERROR"},
		{"run is over", pluginsdk.Errorf(pluginsdk.CodeStale, "token of an ended run"), "level=ERROR"},
		{"rows are there since before a crash", pluginsdk.Errorf(pluginsdk.CodeConflict, "other content"), "level=DEBUG"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plugin, messages, log := start(t)
			messages.err = c.err
			if err := plugin.OnPipelineStart(t.Context(), pluginsdk.PipelineStart{Call: call(1), Thread: thread}); err != nil {
				t.Errorf("OnPipelineStart returned %v", err)
			}
			if err := plugin.OnPipelineComplete(t.Context(), pluginsdk.PipelineComplete{Call: call(1), Thread: thread}); err != nil {
				t.Errorf("OnPipelineComplete returned %v", err)
			}
			if strings.Count(log.String(), c.level) != 2 || strings.Contains(log.String(), "secret-token") {
				t.Errorf("log = %s; want two lines with %s", log, c.level)
			}
		})
	}
}
