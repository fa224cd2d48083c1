package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// These tests run the real CLI against the fake Messages API.

// realAgent is a started Claude over the real CLI.
type realAgent struct {
	*testAgent
	api *fakeapi.Server
}

func startReal(t *testing.T, change func(*Config)) *realAgent {
	t.Helper()
	binary := os.Getenv("HARNESS_TEST_CLAUDE")
	if binary == "" {
		t.Skip("HARNESS_TEST_CLAUDE does not name the Claude Code CLI; `make test` installs it and runs this test")
	}
	api := fakeapi.Start(t)
	a := &testAgent{t: t, sessions: t.TempDir(), owner: uuid.NewString()}
	config := Config{
		Binary:    binary,
		Workspace: realDir(t),
		Model:     "claude-sonnet-4-6",
		Env: append(fakeapi.Env(api.URL(), realDir(t)),
			"CLAUDE_CODE_MAX_RETRIES=1", ownerMark+"="+a.owner),
		InterruptGrace: testLimit,
		CloseGrace:     testLimit,
		OnClosed: func(threadID, sessionID string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.closed = append(a.closed, threadID+"/"+sessionID)
		},
	}
	if change != nil {
		change(&config)
	}
	t.Cleanup(a.noProcesses) // after the stop, which startClaude registers
	a.Claude = startClaude(t, config)
	return &realAgent{testAgent: a, api: api}
}

// realDir is a directory that is removed at the end of the test even when the
// CLI has left something in it that cannot be removed at once.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "harness-real-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestRealTurns(t *testing.T) {
	a := startReal(t, nil)
	r := newRecorder()
	id := uuid.NewString()
	first := a.Invoke(t.Context(), ledger.AgentRequest{
		ThreadID: "thread", SessionID: id, Prompt: "thread: x\n\n---\n\nthink: say:Hello from far away.",
	}, r.emit)
	wantText(t, first, "Hello from far away.")
	if first.SessionID != id || first.Model != "claude-sonnet-4-6" || first.CostUSD == 0 {
		t.Errorf("result %+v", first)
	}
	var joined strings.Builder
	for _, delta := range r.of(pluginsdk.StreamTextDelta) {
		if delta.Offset != joined.Len() {
			t.Errorf("delta %q at %d, want %d", delta.Text, delta.Offset, joined.Len())
		}
		joined.WriteString(delta.Text)
	}
	if joined.String() != first.Text || len(r.of(pluginsdk.StreamText)) != 1 || len(r.of(pluginsdk.StreamThinking)) != 1 || len(r.of(pluginsdk.StreamThinkingDelta)) == 0 {
		t.Errorf("events %+v", r.events)
	}

	second := a.ask("thread", id, "say:warm")
	wantText(t, second, "warm")
	if second.CostUSD > 1.1*first.CostUSD {
		t.Errorf("the second turn cost %f, the first %f", second.CostUSD, first.CostUSD)
	}
	if n := len(a.pool.sessions()); n != 1 || !a.Holds("thread", id) {
		t.Errorf("%d processes", n)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.noProcesses()
	if closed := a.closedSessions(); len(closed) != 1 {
		t.Errorf("closed %v", closed)
	}
}

func TestRealPermissions(t *testing.T) {
	a := startReal(t, nil)
	made := filepath.Join(a.config.Workspace, "made")
	touch, err := json.Marshal(map[string]string{"command": "touch " + made})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	ask := request("thread", "", "usetool:Bash "+string(touch)+"\nthen:I see.")
	denied := a.Invoke(t.Context(), ask, r.emit)
	wantText(t, denied, "I see.")
	results := r.of(pluginsdk.StreamToolResult)
	if len(r.of(pluginsdk.StreamDenied)) != 1 || len(results) != 1 || !results[0].IsError || !strings.Contains(results[0].Text, "ask the person") {
		t.Errorf("events %+v", r.events)
	}
	if _, err := os.Stat(made); err == nil {
		t.Fatal("the tool ran without a permission")
	}

	r = newRecorder()
	ask.SessionID, ask.Resume, ask.AllowedTools = denied.SessionID, true, []string{"Bash(touch:*)"}
	wantText(t, a.Invoke(t.Context(), ask, r.emit), "I see.")
	if len(r.of(pluginsdk.StreamDenied)) != 0 {
		t.Errorf("events %+v", r.events)
	}
	if _, err := os.Stat(made); err != nil {
		t.Fatal("the tool did not run although a rule allows it")
	}
}

func TestRealInterruptKeepsTheProcess(t *testing.T) {
	a := startReal(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.Invoke(ctx, request("thread", "", "block:never hello"), nil) }()
	a.api.WaitRequest(t, fakeapi.Saying("block:never"))
	cancel(errors.New("stopped by Ada"))
	result := <-results
	if failure := wantFailure(t, result, pluginsdk.FailureInterrupted, false); failure.Message != "stopped by Ada" {
		t.Errorf("message %q", failure.Message)
	}
	own := a.pool.sessions()
	if len(own) != 1 || !a.Holds("thread", result.SessionID) {
		t.Fatal("the process is gone after an interrupt")
	}
	wantText(t, a.ask("thread", result.SessionID, "say:go on"), "go on")
	if now := a.pool.sessions(); len(now) != 1 || now[0].process.cmd.Process.Pid != own[0].process.cmd.Process.Pid {
		t.Error("the next turn did not take the warm process")
	}
}

func TestRealAPIErrors(t *testing.T) {
	a := startReal(t, nil)
	r := newRecorder()
	overloaded := a.Invoke(t.Context(), request("thread", "", "apierror:529"), r.emit)
	if failure := wantFailure(t, overloaded, pluginsdk.FailureAPI, true); failure.APIStatus != 529 {
		t.Errorf("failure %+v", failure)
	}
	if len(r.of(pluginsdk.StreamRetry)) != 1 || len(r.of(pluginsdk.StreamText)) != 0 {
		t.Errorf("events %+v", r.events)
	}
	refused := a.ask("thread", overloaded.SessionID, "apierror:401")
	if failure := wantFailure(t, refused, pluginsdk.FailureAPI, false); failure.APIStatus != 401 || !strings.Contains(failure.Message, "log in") {
		t.Errorf("failure %+v", failure)
	}
	if a.Holds("thread", refused.SessionID) {
		t.Error("the process with the refused credentials is kept")
	}
	wantText(t, a.ask("thread", refused.SessionID, "say:in again"), "in again")
}

func TestRealAPIThatCannotBeReached(t *testing.T) {
	a := startReal(t, func(c *Config) { c.Env = append(c.Env, "ANTHROPIC_BASE_URL=http://127.0.0.1:1") })
	_ = wantFailure(t, a.ask("thread", "", "hello"), pluginsdk.FailureAPI, true)
}

// remembers returns the prompts that the last request to the model had.
func (a *realAgent) remembers() string {
	a.t.Helper()
	requests := a.api.Requests(fakeapi.Main)
	return strings.Join(requests[len(requests)-1].UserTexts(), "\n")
}

func TestRealResumeAfterACleanEnd(t *testing.T) {
	a := startReal(t, nil)
	first := a.ask("thread", "", "say:one")
	a.reapOnce(time.Now().Add(time.Hour))
	if closed := a.closedSessions(); len(closed) != 1 || closed[0] != "thread/"+first.SessionID {
		t.Fatalf("closed %v", closed)
	}
	second := a.ask("thread", first.SessionID, "say:two")
	wantText(t, second, "two")
	if !strings.Contains(a.remembers(), "say:one") {
		t.Error("the session has forgotten its first turn")
	}
	if second.CostUSD > 1.1*first.CostUSD {
		t.Errorf("cost %f after %f", second.CostUSD, first.CostUSD)
	}
}

func TestRealResumeWhileTheProcessMakesRoom(t *testing.T) {
	a := startReal(t, func(c *Config) { c.MaxSessions = 2 })
	first := a.ask("one", "", "say:one")
	own := a.pool.sessions()[0]
	wantText(t, a.ask("two", "", "say:two"), "two")
	evicting := make(chan pluginsdk.InvokeResult, 1)
	go func() { evicting <- a.ask("three", "", "say:three") }()
	awaitEnding(t, own.process)
	next := a.ask("one", first.SessionID, "say:four")
	wantText(t, next, "four")
	wantText(t, <-evicting, "three")
	// Another turn, so that the last request is this thread's.
	wantText(t, a.ask("one", first.SessionID, "say:five"), "five")
	if said := a.remembers(); !strings.Contains(said, "say:one") || !strings.Contains(said, "say:four") {
		t.Error("the session has forgotten a turn")
	}
}

func TestRealResumeOfAnUnknownSession(t *testing.T) {
	a := startReal(t, nil)
	id := uuid.NewString()
	result := a.ask("thread", id, "say:one")
	_ = wantFailure(t, result, pluginsdk.FailureUnknownSession, false)
	if a.Holds("thread", id) {
		t.Error("a session that does not exist is held")
	}
}

func TestRealSessionThatExistsIsResumedInstead(t *testing.T) {
	a := startReal(t, nil)
	begin := ledger.AgentRequest{ThreadID: "thread", SessionID: uuid.NewString(), Prompt: "say:one"}
	wantText(t, a.Invoke(t.Context(), begin, nil), "one")
	a.reapOnce(time.Now().Add(time.Hour))
	begin.Prompt = "say:two"
	wantText(t, a.Invoke(t.Context(), begin, nil), "two")
	if !strings.Contains(a.remembers(), "say:one") {
		t.Error("the session has forgotten its first turn")
	}
}

func TestRealKillInMidTurnThenResume(t *testing.T) {
	a := startReal(t, nil)
	first := a.ask("thread", "", "say:one")
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.ask("thread", first.SessionID, "block:never two") }()
	a.api.WaitRequest(t, fakeapi.Saying("block:never"))
	a.pool.sessions()[0].process.kill()
	_ = wantFailure(t, <-results, pluginsdk.FailureCrashed, true)
	wantText(t, a.ask("thread", first.SessionID, "say:three"), "three")
	if !strings.Contains(a.remembers(), "say:one") {
		t.Error("the session has forgotten its first turn")
	}
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a process that was killed: %v", closed)
	}
}

// Without CLAUDE_CODE_EAGER_FLUSH, which buildEnvironment presets, most such
// sessions cannot even be resumed.
func TestRealKillRightAfterATurnLosesNothing(t *testing.T) {
	a := startReal(t, nil)
	first := a.ask("thread", "", "say:one")
	own := a.pool.sessions()[0]
	own.process.kill()
	<-own.process.exited
	wantText(t, a.ask("thread", first.SessionID, "say:two"), "two")
	if !strings.Contains(a.remembers(), "say:one") {
		t.Error("the session has forgotten its first turn")
	}
}
