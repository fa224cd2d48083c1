package invoker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The recordings in testdata are what the real CLI (2.1.197) wrote.

func replay(t *testing.T, name string, change func(*Config)) (*testAgent, pluginsdk.InvokeResult, *recorder) {
	t.Helper()
	a := startAgent(t, "plain", change)
	r := newRecorder()
	result := a.Invoke(t.Context(), request("thread", "", "replay "+name), r.emit)
	return a, result, r
}

func TestPartialTextAndThinkingAreStreamed(t *testing.T) {
	_, result, r := replay(t, "text-turn-partial", nil)
	wantText(t, result, "Streaming words one by one.")
	if result.SessionID != "fc5aa5b3-caa7-4227-974a-a00dee4de281" || result.Model != "claude-sonnet-4-6" || result.Turns != 1 {
		t.Errorf("session, model or turns are wrong: %+v", result)
	}
	want := pluginsdk.Usage{InputTokens: 1200, OutputTokens: 12, CacheReadTokens: 800, CacheWriteTokens: 100}
	if result.Usage != want {
		t.Errorf("usage %+v, want %+v", result.Usage, want)
	}
	for kind, whole := range map[pluginsdk.StreamEventType]string{
		pluginsdk.StreamTextDelta: "Streaming words one by one.", pluginsdk.StreamThinkingDelta: "Let me think about it.",
	} {
		var joined strings.Builder
		for _, event := range r.of(kind) {
			if event.Offset != joined.Len() {
				t.Errorf("%s %q has offset %d, want %d", kind, event.Text, event.Offset, joined.Len())
			}
			joined.WriteString(event.Text)
		}
		if joined.String() != whole {
			t.Errorf("%s joined: %q, want %q", kind, joined.String(), whole)
		}
	}
	if got := r.of(pluginsdk.StreamText); len(got) != 1 || got[0].Text != result.Text {
		t.Errorf("whole text %+v", got)
	}
	if got := r.of(pluginsdk.StreamThinking); len(got) != 1 || got[0].Text != "Let me think about it." {
		t.Errorf("whole thinking %+v", got)
	}
}

func TestTheCostOfATurnIsNotTheCostOfTheProcess(t *testing.T) {
	a, first, _ := replay(t, "text-turn", nil)
	second := a.ask("thread", first.SessionID, "the second prompt of the recording")
	wantText(t, second, "Second turn on the warm session.")
	for _, result := range []pluginsdk.InvokeResult{first, second} {
		if result.CostUSD < 0.00439 || result.CostUSD > 0.0044 {
			t.Errorf("a turn cost %f, want 0.004395", result.CostUSD)
		}
	}
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes were started for one conversation", n)
	}
}

func TestAPIErrorsAreNotTheAgentsWords(t *testing.T) {
	for name, want := range map[string]struct {
		status    int
		retryable bool
		says      string
	}{
		"api-error-401": {401, false, "ANTHROPIC_API_KEY"},
		"api-error-529": {529, true, "simulated 529"},
	} {
		t.Run(name, func(t *testing.T) {
			_, result, r := replay(t, name, nil)
			failure := wantFailure(t, result, pluginsdk.FailureAPI, want.retryable)
			if failure.APIStatus != want.status || !strings.Contains(failure.Message, want.says) {
				t.Errorf("failure %+v", failure)
			}
			if texts := r.of(pluginsdk.StreamText); len(texts) > 0 {
				t.Errorf("the error was emitted as text: %+v", texts)
			}
			if retries := r.of(pluginsdk.StreamRetry); len(retries) != 1 {
				t.Errorf("retries %+v, want one", retries)
			}
		})
	}
}

func TestToolCallsAndResultsAreShown(t *testing.T) {
	_, result, r := replay(t, "mcp-tool-call", nil)
	wantText(t, result, "Hello from the model.")
	calls, results := r.of(pluginsdk.StreamToolCall), r.of(pluginsdk.StreamToolResult)
	if len(calls) != 1 || calls[0].ToolName != "mcp__harness__time__current_time" || string(calls[0].Input) != `{"tz":"UTC"}` {
		t.Fatalf("calls %+v", calls)
	}
	if len(results) != 1 || results[0].ToolUseID != calls[0].ToolUseID || results[0].IsError || !strings.Contains(results[0].Text, "2026-11-21") {
		t.Fatalf("results %+v", results)
	}
}

func TestAToolIsDeniedWithoutARule(t *testing.T) {
	_, result, r := replay(t, "permission-deny", nil)
	wantText(t, result, "Hello from the model.")
	denied := r.of(pluginsdk.StreamDenied)
	if len(denied) != 1 || denied[0].ToolName != "Bash" || denied[0].ToolUseID != "toolu_13" {
		t.Fatalf("denied %+v", denied)
	}
	if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || !results[0].IsError {
		t.Fatalf("results %+v", results)
	}
}

func TestAToolIsAllowedByRule(t *testing.T) {
	_, result, r := replay(t, "permission-allow", func(c *Config) { c.AllowedTools = []string{"Bash"} })
	wantText(t, result, "Hello from the model.")
	if denied := r.of(pluginsdk.StreamDenied); len(denied) > 0 {
		t.Fatalf("denied %+v", denied)
	}
}

func TestAnInterruptKeepsTheProcess(t *testing.T) {
	a := startAgent(t, "plain", nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		eventually(t, "the process to start", func() bool { return len(a.pool.sessions()) > 0 })
		cancel(errors.New("stopped by Ada"))
	}()
	result := a.Invoke(ctx, request("thread", "", "replay interrupt"), nil)
	failure := wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if failure.Message != "stopped by Ada" {
		t.Errorf("message %q", failure.Message)
	}
	if !a.Holds("thread", result.SessionID) {
		t.Error("the process is gone after an interrupt")
	}
	wantText(t, a.ask("thread", result.SessionID, "the second prompt"), "Still alive after the interrupt.")
}

func TestABudgetThatIsUsedUpIsSaid(t *testing.T) {
	_, result, _ := replay(t, "budget", nil)
	failure := wantFailure(t, result, pluginsdk.FailureBudget, false)
	if !strings.Contains(failure.Message, "maximum budget") {
		t.Errorf("message %q", failure.Message)
	}
	// The CLI's usage line says zero; the tokens were spent all the same.
	if result.Usage.InputTokens != 1200 || result.CostUSD == 0 {
		t.Errorf("usage %+v, cost %f: what was spent is lost", result.Usage, result.CostUSD)
	}
}

func TestWhatTheCLIAddsToTheConversationIsNotShown(t *testing.T) {
	_, result, r := replay(t, "structured-output", nil)
	wantText(t, result, "Hello from the model.")
	if result.Turns != 2 || result.StructuredOutput != nil {
		t.Errorf("result %+v", result)
	}
	for _, event := range r.of(pluginsdk.StreamText) {
		if strings.Contains(event.Text, "MUST call") {
			t.Errorf("a reminder of the CLI was emitted: %q", event.Text)
		}
	}
}

func TestASessionThatDoesNotExistIsSaid(t *testing.T) {
	a := startAgent(t, "plain", nil)
	result := a.ask("thread", "00000000-0000-4000-8000-000000000000", "say hello")
	_ = wantFailure(t, result, pluginsdk.FailureUnknownSession, false)
	if a.Holds("thread", "00000000-0000-4000-8000-000000000000") {
		t.Error("a session that does not exist is held")
	}
}

func TestASessionThatDoesNotExistIsSaidByTheRealCLI(t *testing.T) {
	_, result, _ := replay(t, "resume-unknown", nil)
	_ = wantFailure(t, result, pluginsdk.FailureUnknownSession, false)
}
