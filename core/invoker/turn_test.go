package invoker

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestACrashInMidTurnSaysWhatTheProcessSaid(t *testing.T) {
	a := startAgent(t, "plain", nil)
	failure := wantFailure(t, a.ask("thread", "", "crash out of cheese"), pluginsdk.FailureCrashed, true)
	if !strings.Contains(failure.Message, "out of cheese") || !strings.Contains(failure.Message, "exit status 3") {
		t.Errorf("message %q", failure.Message)
	}
	if len(failure.Message) > 2*tailSize {
		t.Errorf("the message has %d bytes", len(failure.Message))
	}
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called after a crash: %v", closed)
	}
}

func TestASilentProcessIsEnded(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.SilenceTimeout = 50 * time.Millisecond })
	result := a.ask("thread", "", "silent")
	_ = wantFailure(t, result, pluginsdk.FailureSilent, true)
	a.noProcesses()
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a turn in flight: %v", closed)
	}
}

func TestSilenceIsBorneLongerWhileAToolRuns(t *testing.T) {
	turn := turn{config: &Config{SilenceTimeout: time.Minute}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {}}
	if got := turn.patience(); got != time.Minute {
		t.Errorf("patience %s without a tool", got)
	}
	turn.call(block{Type: "tool_use", ID: "t1", Name: "Bash"})
	if got := turn.patience(); got != toolPatience*time.Minute {
		t.Errorf("patience %s with a tool running", got)
	}
	turn.retry(retryLine{RetryDelayMS: 90_000})
	turn.user([]byte(`{"message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}`))
	if got := turn.patience(); got != time.Minute+90*time.Second {
		t.Errorf("patience %s while an API call waits to be repeated", got)
	}
}

func TestATurnThatTakesTooLongIsEnded(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.TurnTimeout = 50 * time.Millisecond })
	_ = wantFailure(t, a.ask("thread", "", "quietly"), pluginsdk.FailureTimeout, false)
	a.noProcesses()
}

// A turn may have less time than the daemon gives; never more.
func TestATurnsOwnTimeIsWithinTheDaemons(t *testing.T) {
	for name, row := range map[string]struct{ own, daemons time.Duration }{
		"less": {50 * time.Millisecond, time.Hour}, "more": {time.Hour, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			a := startAgent(t, "plain", func(c *Config) { c.TurnTimeout = row.daemons })
			r := request("thread", "", "quietly")
			r.Timeout = row.own
			failure := wantFailure(t, a.Invoke(t.Context(), r, nil), pluginsdk.FailureTimeout, false)
			if !strings.Contains(failure.Message, "50ms") {
				t.Errorf("message %q", failure.Message)
			}
		})
	}
}

func TestAnInterruptThatIsIgnoredEndsTheProcess(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.InterruptGrace = 20 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	result := a.Invoke(ctx, request("thread", "", "ignore"), func(pluginsdk.StreamEvent) { cancel() })
	failure := wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if failure.Message != "the turn was stopped" {
		t.Errorf("message %q", failure.Message)
	}
	if a.Holds("thread", result.SessionID) || len(a.closedSessions()) > 0 {
		t.Error("a process that was ended in mid-turn counts as held or closed")
	}
	a.noProcesses()
}

func TestAnInterruptWaitsForItsResponse(t *testing.T) {
	// The fake reports the result first. Were the turn over with it, the
	// response would be taken for the next turn's.
	a := startAgent(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, "the process to start", func() bool { return len(a.pool.sessions()) > 0 })
		cancel()
	}()
	result := a.Invoke(ctx, request("thread", "", "wait"), nil)
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	wantText(t, a.ask("thread", result.SessionID, "say on"), "on")
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes, want the one kept", n)
	}
}

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	a := startAgent(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = wantFailure(t, a.Invoke(ctx, request("thread", "", "say x"), nil), pluginsdk.FailureInterrupted, false)
	if n := len(a.starts()); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}

func TestLinesOfMegabytesAreRead(t *testing.T) {
	a := startAgent(t, "plain", nil)
	r := newRecorder()
	wantText(t, a.Invoke(t.Context(), request("thread", "", "huge 5000000"), r.emit), "big")
	if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || len(results[0].Text) != 5000000 {
		t.Fatal("the tool's result is not whole")
	}
}

func TestALineWithoutBoundFailsTheTurnInWords(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.maxLine = 100_000 })
	failure := wantFailure(t, a.ask("thread", "", "huge 200000"), pluginsdk.FailureOther, false)
	if !strings.Contains(failure.Message, "too long") {
		t.Errorf("message %q", failure.Message)
	}
	a.noProcesses()
}

func TestUnknownLinesAreIgnored(t *testing.T) {
	a := startAgent(t, "plain", nil)
	r := newRecorder()
	result := a.Invoke(t.Context(), request("thread", "", "strange"), r.emit)
	wantText(t, result, "still here")
	for _, event := range r.of(pluginsdk.StreamText) {
		if event.Text == "sub-agent" {
			t.Error("a sub-agent's words were emitted as the agent's")
		}
	}
	if calls := r.of(pluginsdk.StreamToolCall); len(calls) != 1 || calls[0].ToolName != "Read" {
		t.Errorf("a sub-agent's tool is not shown: %+v", calls)
	}
	if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || results[0].Text != "a\n[image]\nb" {
		t.Errorf("results %+v", results)
	}
}

func TestAFloodArrivesInOrder(t *testing.T) {
	a := startAgent(t, "plain", nil)
	r := newRecorder()
	wantText(t, a.Invoke(t.Context(), request("thread", "", "flood 5000"), r.emit), "flooded")
	offset := 0
	deltas := r.of(pluginsdk.StreamTextDelta)
	for _, delta := range deltas {
		if delta.Offset != offset {
			t.Fatalf("delta %q at %d, want %d", delta.Text, delta.Offset, offset)
		}
		offset += len(delta.Text)
	}
	if len(deltas) != 5000 {
		t.Fatalf("%d deltas, want 5000", len(deltas))
	}
}

func TestAControlRequestOfAnUnknownKindIsAnswered(t *testing.T) {
	a := startAgent(t, "plain", nil)
	result := a.ask("thread", "", `ask odd {}`)
	if result.Failure != nil || !strings.Contains(result.Text, "not supported") {
		t.Fatalf("the CLI would wait for ever: %+v", result)
	}
}

func TestAPermissionIsAnsweredWithTheInput(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.AllowedTools = []string{"mcp__harness__*"} })
	result := a.ask("thread", "", `ask mcp__harness__time__now {"tz":"UTC"}`)
	var answered struct {
		Response struct {
			Response answer `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal([]byte(result.Text), &answered); err != nil {
		t.Fatal(err)
	}
	got := answered.Response.Response
	if got.Behavior != "allow" || string(got.UpdatedInput) != `{"tz":"UTC"}` {
		t.Fatalf("answer %+v", got)
	}
}

func TestATurnTheCLIStartsByItselfIsNotTakenForTheNext(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("thread", "", "afterwards")
	wantText(t, first, "done")
	own := a.pool.sessions()[0]
	eventually(t, "the CLI's own turn", func() bool { return own.busyWithItself() != nil })
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.ask("thread", first.SessionID, "say mine") }()
	if err := os.WriteFile(filepath.Join(a.sessions, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(t, <-results, "mine")
}

func TestWhatTheCLIAsksInATurnOfItsOwnIsAnswered(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("thread", "", "asking afterwards")
	wantText(t, first, "done")
	eventually(t, "the CLI to get its answer", func() bool {
		answer, err := os.ReadFile(filepath.Join(a.sessions, "answer"))
		return err == nil && strings.Contains(string(answer), "deny")
	})
}

func TestASessionThatExistsIsResumedInstead(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	id := uuid.NewString()
	begin := ledger.AgentRequest{ThreadID: "thread", SessionID: id, Prompt: "say one"}
	wantText(t, a.Invoke(t.Context(), begin, nil), "one")
	a.reapOnce(time.Now().Add(time.Hour))
	begin.Prompt = "say two"
	wantText(t, a.Invoke(t.Context(), begin, nil), "two")
	if n := len(a.starts()); n != 3 {
		t.Errorf("%d processes, want the first, the refused and the resumed", n)
	}
}

func TestFailuresByStatus(t *testing.T) {
	a := startAgent(t, "plain", nil)
	session := ""
	for status, retryable := range map[string]bool{
		"400": false, "401": false, "403": false, "404": false, "413": false,
		"429": true, "500": true, "502": true, "529": true,
	} {
		result := a.ask("thread", session, "fail "+status)
		_ = wantFailure(t, result, pluginsdk.FailureAPI, retryable)
		session = result.SessionID
	}
}

func TestAPIFailuresWithoutAStatus(t *testing.T) {
	for name, retryable := range map[string]bool{
		"unknown": true, "rate_limit": true, "billing_error": false, "invalid_request": false, "authentication_failed": false,
	} {
		if got := apiFailure(0, name, "words"); got.Retryable != retryable {
			t.Errorf("%s: retryable %t", name, got.Retryable)
		}
	}
}
