package pipeline

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// turnBench is a bench whose claim is a turn that a plugin asked for, beside its thread.
func turnBench(request pluginsdk.StartTurnRequest, plugins ...string) *bench {
	b := newBench(plugins...)
	b.claim.Run = ledger.Run{Run: pluginsdk.Run{
		ID: "R", ThreadID: "T", MessageID: 10, Kind: pluginsdk.RunTurn, Attempt: 1, Plugin: "reviewer", Purpose: request.Purpose, TaskID: request.TaskID, Beside: true,
	}, Turn: &request}
	b.claim.Message = ledger.MessageOfTurn(b.claim.Run)
	b.claim.Fence = ledger.Fence{ThreadID: "T", RunID: "R", Attempt: 1}
	return b
}

// A turn is asked as it was requested: the gate is asked, no other hook, the agent gets
// the words as they are, and its answer makes no row.
func TestATurnTakesItsOwnSteps(t *testing.T) {
	request := pluginsdk.StartTurnRequest{
		Purpose: "validation", TaskID: "task", ThreadID: "T", Prompt: "review", SystemPrompt: "be harsh", Model: "opus", Effort: "high", Cwd: "/x",
		PermissionMode: "plan", AllowedTools: []string{"Read"}, DisallowedTools: []string{"Bash"}, JSONSchema: json.RawMessage(`{}`),
		CostCapUSD: 2, Timeout: time.Minute,
	}
	b := turnBench(request, "a")
	b.claim.Thread.SessionID, b.claim.Thread.Model = "the thread's", "haiku"
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	got := b.agent.requests[0]
	if got.SessionID == "" || got.SessionID == "the thread's" || got.Resume {
		t.Errorf("session %q, resumed: %v", got.SessionID, got.Resume)
	}
	want := ledger.AgentRequest{
		RunID: "R", ThreadID: "T", Fresh: true, SessionID: got.SessionID, Prompt: "review", Purpose: "validation", Model: "opus", Effort: "high",
		PermissionMode: "plan", Cwd: "/x", AppendSystemPrompt: "be harsh", AllowedTools: []string{"Read"}, DisallowedTools: []string{"Bash"},
		JSONSchema: json.RawMessage(`{}`), CostCapUSD: 2, Account: "environment", Timeout: time.Minute,
	}
	if a, b := asJSON(t, got), asJSON(t, want); a != b {
		t.Errorf("asked %s\nwant  %s", a, b)
	}
	if hooks := b.asked(); !slices.Equal(hooks, []string{"OnBeforeRun a"}) {
		t.Errorf("asked of the plugin: %q", hooks)
	}
	if run := b.store.results[0].AgentRun; run.Purpose != "validation" || run.TaskID != "task" {
		t.Errorf("recorded %+v", run)
	}
	if end := b.store.finishes[0]; end.State != pluginsdk.RunSucceeded || len(end.Rows) != 0 || end.Deliver {
		t.Errorf("ended %+v", end)
	}
}

// asked are the hooks that plugins were asked.
func (b *bench) asked() []string {
	return slices.DeleteFunc(slices.Clone(b.journal.lines), func(line string) bool { return !strings.HasPrefix(line, "On") })
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// A turn in its thread's session is part of the conversation: it resumes the session, and
// is told what that has not seen.
func TestATurnInTheThreadsSession(t *testing.T) {
	b := turnBench(pluginsdk.StartTurnRequest{ThreadID: "T", Session: pluginsdk.SessionThread, Prompt: "sum up"}, "a")
	b.claim.Run.Beside, b.claim.Fence = false, ledger.Fence{ThreadID: "T", Epoch: 1}
	b.claim.Thread.SessionID = "the thread's"
	b.store.rows = []pluginsdk.Message{{ID: 8, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "cron", Content: "it rained"}}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	got := b.agent.requests[0]
	if got.Fresh || !got.Resume || got.SessionID != "the thread's" || !strings.Contains(got.Prompt, "it rained") || !strings.HasSuffix(got.Prompt, "sum up)") {
		t.Errorf("asked %+v", got)
	}
	if hooks := b.asked(); !slices.Equal(hooks, []string{"OnBeforeRun a", "OnBeforeInvoke a"}) {
		t.Errorf("asked of the plugin: %q", hooks)
	}
	if commit := b.store.results[0]; commit.SessionID == "" || commit.SeenMessageID != 10 {
		t.Errorf("the thread is left with session %q, seen %d", commit.SessionID, commit.SeenMessageID)
	}
}

// A turn that died is asked anew, in another session, without a word of an interruption;
// one whose answer is stored is only ended.
func TestATurnAfterACrash(t *testing.T) {
	b := turnBench(pluginsdk.StartTurnRequest{Prompt: "review"})
	b.claim.Run.Step, b.claim.Run.SessionID, b.claim.Run.Attempt = pluginsdk.StepInvoking, "of the dead", 2
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0]; got.SessionID == "of the dead" || got.Resume || got.Prompt != "review" {
		t.Errorf("asked %+v", got)
	}
	b = turnBench(pluginsdk.StartTurnRequest{Prompt: "review"})
	b.claim.Run.Step, b.claim.Run.Result = pluginsdk.StepInvoked, &pluginsdk.InvokeResult{Text: "good"}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.agent.requests) != 0 || len(b.store.finishes) != 1 {
		t.Errorf("asked %d times, ended %d times", len(b.agent.requests), len(b.store.finishes))
	}
}

// The lowest cap holds, whoever has set it; also for people's messages.
func TestTheGatesCapIsHeld(t *testing.T) {
	for _, row := range []struct{ gates, asked, want float64 }{{0, 0, 0}, {1, 0, 1}, {0, 2, 2}, {1, 2, 1}, {2, 1, 1}} {
		b := turnBench(pluginsdk.StartTurnRequest{Prompt: "review", CostCapUSD: row.asked}, "a", "b")
		b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
			return &pluginsdk.OnBeforeRunResponse{CostCapUSD: row.gates}, nil
		}
		b.plugins[1].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
			return &pluginsdk.OnBeforeRunResponse{CostCapUSD: 3 * row.gates}, nil
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if got := b.agent.requests[0].CostCapUSD; got != row.want {
			t.Errorf("gate %g, asked %g: cap %g", row.gates, row.asked, got)
		}
	}
}

// The cap is of the run, whatever its attempts before have cost: at its end the agent is
// not asked any more.
func TestTheCapIsOfAllAttempts(t *testing.T) {
	b := turnBench(pluginsdk.StartTurnRequest{Prompt: "review", CostCapUSD: 1})
	b.claim.Run.CostUSD = 0.75
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0].CostCapUSD; got != 0.25 {
		t.Errorf("cap %g", got)
	}
	b = turnBench(pluginsdk.StartTurnRequest{Prompt: "review", CostCapUSD: 1})
	b.claim.Run.CostUSD = 1.25
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || !strings.Contains(err.Error(), "$1.25") {
		t.Errorf("error %v", err)
	}
	if len(b.agent.requests) != 0 {
		t.Error("the agent was asked all the same")
	}
}

// The result of a turn is known by its session, which no two exchanges have in common.
func TestTheResultOfATurnIsKnownByItsSession(t *testing.T) {
	keys := map[string]bool{}
	for range 2 { // the same attempt, released and begun again
		b := turnBench(pluginsdk.StartTurnRequest{Prompt: "review"})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		keys[b.store.results[0].Key] = true
	}
	if len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
}

// The end of a turn that failed is told to who asked, not to people.
func TestAFailedTurnLeavesNoRow(t *testing.T) {
	b := turnBench(pluginsdk.StartTurnRequest{Prompt: "review"})
	if err := b.line.Fail(t.Context(), b.claim, pluginsdk.Errorf(pluginsdk.CodeInternal, "401"), ledger.Left{}); err != nil {
		t.Fatal(err)
	}
	if end := b.store.finishes[0]; end.State != pluginsdk.RunFailed || end.Error != "401" || len(end.Rows) != 0 || end.Deliver {
		t.Errorf("ended %+v", end)
	}
}

// What the agent has done so far is stored while the turn runs, and never after its
// result.
func TestTheBlocksOfARunningTurnAreStored(t *testing.T) {
	b := newBench()
	b.line = New(Config{ProgressEvery: time.Millisecond}, b.doors())
	b.store.progress = make(chan []pluginsdk.StreamEvent)
	b.agent.answer = func(_ context.Context, _ ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		for n := range 3 {
			emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: "a fragment"})
			emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: "a block"})
			if stored := <-b.store.progress; len(stored) != n+1 {
				t.Errorf("stored %+v after %d blocks", stored, n+1)
			}
		}
		return pluginsdk.InvokeResult{Text: "done"}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	select {
	case late := <-b.store.progress:
		t.Errorf("stored after the result: %+v", late)
	default:
	}
}

// What people write while a plugin's turn runs in their thread is theirs, and is answered:
// it does not go into the turn, whatever the thread's mode.
func TestATurnTakesNobodysMessages(t *testing.T) {
	for _, session := range []pluginsdk.TurnSession{pluginsdk.SessionFresh, pluginsdk.SessionThread} {
		b := turnBench(pluginsdk.StartTurnRequest{ThreadID: "T", Session: session, Prompt: "sum up"})
		if session == pluginsdk.SessionThread {
			b.claim.Run.Beside, b.claim.Fence = false, ledger.Fence{ThreadID: "T", Epoch: 1}
		}
		b.claim.Thread.BusyMode = pluginsdk.BusySteer
		b.store.waiting = []pluginsdk.Message{{ID: 11, ThreadID: "T", Content: "a person's"}}
		b.agent.answer = func(_ context.Context, _ ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
			emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: "a block"})
			b.line.Steer(t.Context(), "R")
			return pluginsdk.InvokeResult{Text: "done"}
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if len(b.agent.steered) != 0 || len(b.store.results[0].Absorbed) != 0 {
			t.Errorf("%s: steered %q, merged %v", session, b.agent.steered, b.store.results[0].Absorbed)
		}
	}
}
