package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The order of the steps is a promise: activity rows before the reply, the
// commit of the intent before the agent, the broadcast after the commit.
func TestTurnTakesItsStepsInOrder(t *testing.T) {
	b := newBench("a", "b")
	b.agent.answer = func(_ context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: "x"})
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: "x"})
		return pluginsdk.InvokeResult{Text: "x", SessionID: r.SessionID}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	want := `OnBeforeRun a
OnBeforeRun b
event pipeline:start
OnPipelineStart a
OnPipelineStart b
event pipeline:step
OnMessage a
OnMessage b
event pipeline:step
OnBeforeInvoke a
OnBeforeInvoke b
5a
event pipeline:step
tools for R
invoke
event pipeline:stream
event pipeline:stream
no tools
5b
event pipeline:step
OnAfterInvoke a
OnAfterInvoke b
OnBeforeReply a
OnBeforeReply b
OnPipelineComplete a
OnPipelineComplete b
11 succeeded
event pipeline:complete`
	if got := strings.Join(b.journal.lines, "\n"); got != want {
		t.Errorf("order was\n%s\nwant\n%s", got, want)
	}
	if got := b.agent.requests[0].Prompt; !strings.HasPrefix(got, "b(a([thread T") || !strings.HasSuffix(got, "hello))") {
		t.Errorf("prompt %q", got)
	}
	finish := b.store.finishes[0]
	if len(finish.Rows) != 1 || finish.Rows[0].Key != "R:reply" || finish.Rows[0].Message.Content != "x" || !finish.Deliver {
		t.Errorf("reply %+v", finish.Rows)
	}
	if commit := b.store.results[0]; len(commit.Events) != 1 || commit.Step != pluginsdk.StepInvoked ||
		commit.SeenMessageID != 10 || commit.SessionID != b.store.intents[0].SessionID {
		t.Errorf("result %+v", commit)
	}
	if len(b.tokens.open) != 0 {
		t.Errorf("tokens still good after the run: %v", b.tokens.open)
	}
	behalf := ledger.Behalf{RunID: "R", RunKind: pluginsdk.RunMessage, Attempt: 1, Fence: b.claim.Fence}
	for _, got := range append(b.tokens.behalves, b.tools.behalves...) {
		if got != behalf {
			t.Errorf("a plugin is called on behalf of %+v, want %+v", got, behalf)
		}
	}
}

func TestCallIDsAreTheSameAtEveryAttempt(t *testing.T) {
	first, second := newBench("a"), newBench("a")
	second.claim.Run.Attempt = 2
	for _, b := range []*bench{first, second} {
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
	}
	for i, call := range first.plugins[0].calls {
		if again := second.plugins[0].calls[i]; again.ID != call.ID || again.Attempt != 2 || again.Token == "" {
			t.Errorf("call %+v is repeated as %+v", call, again)
		}
	}
}

// A gate that has seen a message before it was amended must not take the question about its
// new words for a repetition.
func TestCallsAboutAnAmendedMessageHaveTheirOwnIDs(t *testing.T) {
	of := &trip{message: pluginsdk.Message{ID: 1}}
	names := make(map[string]bool)
	for _, metadata := range []string{``, `{}`, `{"editedAt":"2026-01-02T03:04:05.000001Z"}`, `{"editedAt":"2026-01-02T03:04:05.000002Z"}`} {
		names[of.callName(pluginsdk.HookBeforeRun, pluginsdk.Message{ID: 2, Metadata: json.RawMessage(metadata)})] = true
	}
	if len(names) != 3 {
		t.Errorf("the calls are named %v", names)
	}
}

// After 5b the agent has answered: a restart must finish without it.
func TestStoredResultIsFinishedWithoutTheAgent(t *testing.T) {
	b := newBench("a")
	b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "one"}, {Name: "two"}}
	b.plugins[0].cmd = func(c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: "did " + c.Name}, nil
	}
	b.claim.Run.Step = pluginsdk.StepInvoked
	b.claim.Run.Result = &pluginsdk.InvokeResult{Text: "/one\n/two\nAnd so on."}
	b.claim.Run.Outcomes = []pluginsdk.Outcome{{Index: 0, Name: "one", Plugin: "a", Handled: true, Reply: "did one"}}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.agent.requests) != 0 {
		t.Error("the agent was called again")
	}
	if len(b.store.outcomes) != 1 || b.store.outcomes[0].Name != "two" {
		t.Errorf("commands run: %+v", b.store.outcomes)
	}
	var said []string
	for _, row := range b.store.finishes[0].Rows {
		said = append(said, row.Key+"="+row.Message.Content)
	}
	if got := strings.Join(said, "; "); got != "R:command:0=did one; R:command:1=did two; R:reply=And so on." {
		t.Error(got)
	}
}

func TestInterruptedRunResumesItsSessionAndSaysSo(t *testing.T) {
	b := newBench()
	b.claim.Run.Step, b.claim.Run.SessionID, b.claim.Run.Attempt = pluginsdk.StepInvoking, "S", 2
	b.store.rows = []pluginsdk.Message{{ID: 3, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "before"}}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	request := b.agent.requests[0]
	if request.SessionID != "S" || !request.Resume {
		t.Errorf("request %+v", request)
	}
	for _, want := range []string{"interrupted", "# Recap", "[user]: before", "hello"} {
		if !strings.Contains(request.Prompt, want) {
			t.Errorf("prompt lacks %q: %s", want, request.Prompt)
		}
	}
}

func TestRecapOnlyAfterAnUncleanEnd(t *testing.T) {
	for name, row := range map[string]struct {
		open, holds, want bool
	}{
		"process died":    {open: true, want: true},
		"process lives":   {open: true, holds: true},
		"ended cleanly":   {},
		"clean and holds": {holds: true},
	} {
		b := newBench()
		b.claim.Thread.SessionID, b.claim.Thread.SessionOpen, b.agent.holds = "S", row.open, row.holds
		b.store.rows = []pluginsdk.Message{{ID: 3, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "before"}}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.agent.requests[0].Prompt, "# Recap"); got != row.want {
			t.Errorf("%s: recap %v", name, got)
		}
	}
}

func TestPromptTellsWhatTheSessionHasNotSeen(t *testing.T) {
	b := newBench()
	text, note := pluginsdk.MessageText, pluginsdk.MessageNotification
	b.store.rows = []pluginsdk.Message{
		{ID: 4, Role: pluginsdk.RoleSystem, Kind: note, Content: "seen already"},
		{ID: 6, Role: pluginsdk.RoleSystem, Kind: note, Source: "cron", Content: "the job ran"},
		{ID: 7, Role: pluginsdk.RoleAssistant, Kind: text, RunID: "earlier", Content: "own words"},
		{ID: 8, Role: pluginsdk.RoleAssistant, Kind: text, Content: "posted by a plugin"},
		{ID: 12, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "a status"},
		{ID: 13, Role: pluginsdk.RoleSystem, Kind: text, Source: "core", Content: "Commands: ..."},
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	prompt := b.agent.requests[0].Prompt
	if !strings.Contains(prompt, "# Since your last turn\n\n[cron]: the job ran\n[assistant]: posted by a plugin\n[core]: Commands: ...\n\n---\n\nhello") {
		t.Error(prompt)
	}
	if seen := b.store.results[0].SeenMessageID; seen != 13 {
		t.Errorf("seen %d", seen)
	}
}

// What the claim knows is not read again, but for a session that has seen nothing.
func TestWhereThereIsNoNewsNoneIsRead(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		b := newBench()
		b.claim.NoNews, b.claim.Thread.SessionID = true, "known"
		b.store.rows = []pluginsdk.Message{{ID: 13, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "core", Content: "Commands: ..."}}
		if unknown {
			b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: "no such session"}, nil)
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		for n, request := range b.agent.requests {
			if told := strings.Contains(request.Prompt, "Commands: ..."); told != (n == 1) {
				t.Errorf("a session that is unknown: %v; request %d is told of the row: %v", unknown, n, told)
			}
		}
		if want := 1 + map[bool]int{true: 1}[unknown]; len(b.agent.requests) != want {
			t.Errorf("the agent was asked %d times, want %d", len(b.agent.requests), want)
		}
	}
}

func TestUnknownSessionStartsAnewWithHistory(t *testing.T) {
	b := newBench("a")
	b.claim.Thread.SessionID = "gone"
	var sessions, calls []string
	b.plugins[0].before = func(p *pluginsdk.OnBeforeInvokeRequest) (string, error) {
		sessions, calls = append(sessions, p.Thread.SessionID), append(calls, p.Call.ID)
		return p.Prompt, nil
	}
	b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: "no such session"}, nil)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(sessions) != 2 || sessions[0] != "gone" || sessions[1] != "" || b.store.dropped != 1 {
		t.Errorf("sessions %q, dropped %d", sessions, b.store.dropped)
	}
	if again := b.agent.requests[1]; again.Resume || again.SessionID == "gone" {
		t.Errorf("second request %+v", again)
	}
	if b.store.results[0].SessionID != b.agent.requests[1].SessionID {
		t.Error("the new session is not the thread's")
	}
	// A plugin that remembers what it has answered must not take the one for the other,
	// which has no history in it: not in the next attempt either, when this one dies.
	b.claim.Thread.SessionID, b.claim.Run.Step, b.claim.Run.Attempt = "", pluginsdk.StepInvoking, 2
	b.agent.answer = nil
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	want := []string{"R:OnBeforeInvoke:a", "R:OnBeforeInvoke:new:a", "R:OnBeforeInvoke:new:a"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

// An error is never the assistant's words; its code says what the inbox does.
func TestFailedTurnIsRecordedAndNotAnswered(t *testing.T) {
	for _, row := range []struct {
		failure pluginsdk.Failure
		code    pluginsdk.Code
		step    pluginsdk.RunStep
	}{
		{pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "overloaded", APIStatus: 529, Retryable: true}, pluginsdk.CodeUnavailable, pluginsdk.StepAccepted},
		{pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "401", APIStatus: 401}, pluginsdk.CodeInternal, pluginsdk.StepAccepted},
		{pluginsdk.Failure{Kind: pluginsdk.FailureCrashed, Message: "exit 1", Retryable: true}, pluginsdk.CodeUnavailable, pluginsdk.StepInvoking},
		{pluginsdk.Failure{Kind: pluginsdk.FailureSilent, Message: "silence", Retryable: true}, pluginsdk.CodeUnavailable, pluginsdk.StepInvoking},
		{pluginsdk.Failure{Kind: pluginsdk.FailureMissing, Message: "no CLI"}, pluginsdk.CodeInternal, pluginsdk.StepAccepted},
	} {
		b := newBench("a")
		b.agent.answer = failsWith(&row.failure)
		err := b.handle()
		if pluginsdk.CodeOf(err) != row.code || err.Error() != row.failure.Message {
			t.Errorf("%s: error %v (%s)", row.failure.Message, err, pluginsdk.CodeOf(err))
		}
		commit := b.store.results[0]
		if commit.Step != row.step || commit.AgentRun.Success || commit.AgentRun.Error != row.failure.Message || commit.SeenMessageID != 5 {
			t.Errorf("%s: commit %+v", row.failure.Message, commit)
		}
		if len(b.store.finishes) != 0 {
			t.Errorf("%s: the run was ended", row.failure.Message)
		}
		if done := b.plugins[0].done; len(done) != 1 || done[0].Outcome != pluginsdk.OutcomeFailed || done[0].Error != row.failure.Message {
			t.Errorf("%s: OnPipelineComplete %+v", row.failure.Message, done)
		}
	}
}

func TestFailTellsThePersonOnce(t *testing.T) {
	b := newBench()
	if err := b.line.Fail(context.Background(), b.claim, errors.New("the API said 401"), ledger.Left{}); err != nil {
		t.Fatal(err)
	}
	row := b.store.finishes[0].Rows[0]
	if row.Key != "R:error" || row.Message.Role != pluginsdk.RoleSystem || row.Message.Kind != pluginsdk.MessageStatus ||
		!strings.Contains(row.Message.Content, "the API said 401") || !strings.Contains(string(row.Message.Metadata), "pipeline_error") {
		t.Errorf("%+v", row)
	}
	if got := strings.Join(b.journal.lines, "; "); got != "11 failed; event pipeline:error" {
		t.Error(got)
	}
}

// life is the daemon's context, which counts what hangs on it.
type life struct {
	context.Context
	ends chan struct{}
	hang int
}

func (l *life) Done() <-chan struct{} { return l.ends }

func (l *life) AfterFunc(func()) (stop func() bool) {
	l.hang++
	return func() bool {
		l.hang--
		return true
	}
}

// A daemon that ends runs for months keeps nothing of them.
func TestEndOfARunLeavesNothingBehind(t *testing.T) {
	b, work := newBench(), &life{Context: context.Background(), ends: make(chan struct{})}
	if err := b.line.Fail(work, b.claim, errors.New("the API said 401"), ledger.Left{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.line.Handle(work, work, b.claim); err != nil {
		t.Fatal(err)
	}
	if work.hang != 0 {
		t.Errorf("%d contexts still wait for the end of the daemon", work.hang)
	}
}

func TestEmptyOutputLeavesAStatusAndNoReply(t *testing.T) {
	b := newBench()
	b.agent.answer = says("")
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	row := b.store.finishes[0].Rows[0].Message
	if row.Role != pluginsdk.RoleSystem || row.Kind != pluginsdk.MessageStatus {
		t.Errorf("%+v", row)
	}
}

// A turn may run a thousand tools; its record stays one message long.
func TestEventsOfARunAreBounded(t *testing.T) {
	b := newBench("a")
	b.plugins[0].info.Manifest.Needs = map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookPipelineComplete: {pluginsdk.PartEvents}}
	b.agent.answer = func(_ context.Context, _ ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		for range 200 {
			emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolResult, Text: strings.Repeat("x", 1<<20)})
		}
		return pluginsdk.InvokeResult{Text: "done"}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, event := range b.plugins[0].done[0].Events {
		size += len(event.Text)
	}
	if events := b.plugins[0].done[0].Events; len(events) != 200 || size > maxRunEvents+200*100 {
		t.Errorf("%d events of %d bytes", len(events), size)
	}
}

func TestDeniedToolsAreShownToThePerson(t *testing.T) {
	b := newBench()
	b.agent.answer = func(_ context.Context, _ ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamDenied, ToolName: "Bash"})
		return pluginsdk.InvokeResult{Text: "I may not."}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if rows := b.store.results[0].Rows; len(rows) != 1 || !strings.Contains(rows[0].Message.Content, "Bash") {
		t.Errorf("%+v", rows)
	}
}

var errPerson = pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by a person")

func TestStopByAPersonEndsTheRun(t *testing.T) {
	b := newBench("a")
	ctx, cancel := context.WithCancelCause(context.Background())
	b.agent.answer = func(_ context.Context, r ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		cancel(errPerson)
		return pluginsdk.InvokeResult{SessionID: r.SessionID, Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureInterrupted, Message: "interrupted"}}
	}
	if _, err := b.line.Handle(context.Background(), ctx, b.claim); err != nil {
		t.Fatal(err)
	}
	if b.store.finishes[0].State != pluginsdk.RunCancelled || b.plugins[0].done[0].Outcome != pluginsdk.OutcomeCancelled {
		t.Errorf("%+v %+v", b.store.finishes, b.plugins[0].done)
	}
	if b.store.results[0].SessionID != b.agent.requests[0].SessionID {
		t.Error("the interrupted session is forgotten")
	}
}

// A turn that ends at its cost cap leaves its session, in which the next one goes on, once the agent has
// said something there.
func TestAThreadKeepsTheSessionOfATurnThatCostTooMuch(t *testing.T) {
	for name, heard := range map[string]bool{"heard": true, "unheard": false} {
		b := newBench("a")
		b.claim.Thread.SessionID = ""
		b.agent.answer = func(_ context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
			if heard {
				emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: "I"})
			}
			return pluginsdk.InvokeResult{SessionID: r.SessionID, Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: "its cap of $1.00"}}
		}
		if err := b.handle(); err == nil {
			t.Fatal("it has not failed")
		}
		if kept, asked := b.store.results[0].SessionID, b.agent.requests[0].SessionID; heard != (kept == asked && asked != "") || !heard && kept != "" {
			t.Errorf("%s: the thread has the session %q after %q", name, kept, asked)
		}
	}
}

func TestStopOfTheDaemonLeavesTheRunOpen(t *testing.T) {
	b := newBench("a")
	ctx, cancel := context.WithCancelCause(context.Background())
	b.agent.answer = func(_ context.Context, _ ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		cancel(pluginsdk.Errorf(pluginsdk.CodeUnavailable, "harness is stopping"))
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureInterrupted, Message: "interrupted"}}
	}
	if _, err := b.line.Handle(ctx, ctx, b.claim); err == nil {
		t.Fatal("the run is said to be over")
	}
	if len(b.store.finishes) != 0 || len(b.plugins[0].done) != 0 || b.store.results[0].Step != pluginsdk.StepInvoking {
		t.Errorf("%+v", b.store.results)
	}
}

func TestStaleClaimWritesNothingMore(t *testing.T) {
	b := newBench("a")
	b.store.fail["SaveIntent"] = pluginsdk.Errorf(pluginsdk.CodeStale, "the thread has moved on")
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Fatal(err)
	}
	if len(b.agent.requests) != 0 || len(b.plugins[0].done) != 0 || len(b.store.finishes) != 0 {
		t.Error("a run that was taken over went on")
	}
}

func TestDatabaseTroubleIsWorthAnotherAttempt(t *testing.T) {
	for _, operation := range []string{"Messages", "SaveIntent"} {
		b := newBench()
		b.store.fail[operation] = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "disk full")
		if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("%s: %v (%s)", operation, err, pluginsdk.CodeOf(err))
		}
	}
}

// The answer was paid for, and the session knows it: a late stop changes
// nothing.
func TestStopAfterTheAnswerStillShowsIt(t *testing.T) {
	b := newBench("a")
	ctx, cancel := context.WithCancelCause(context.Background())
	b.plugins[0].notify = func(hook pluginsdk.Hook) error {
		if hook == pluginsdk.HookAfterInvoke {
			cancel(errPerson)
		}
		return nil
	}
	if _, err := b.line.Handle(context.Background(), ctx, b.claim); err != nil {
		t.Fatal(err)
	}
	if finish := b.store.finishes[0]; finish.State != pluginsdk.RunSucceeded || finish.Rows[0].Message.Content != "the answer" {
		t.Errorf("%+v", finish)
	}
}

// Nor is the answer thrown away when a plugin that must have its say is away at
// that moment: the run stays open, and its next attempt shows what is stored.
func TestStopAfterTheAnswerWhileAPluginIsAway(t *testing.T) {
	b := newBench("a")
	ctx, cancel := context.WithCancelCause(context.Background())
	b.plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeReply: pluginsdk.FailClosed}
	b.plugins[0].reply = func(string) (string, error) {
		cancel(errPerson)
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "restarting")
	}
	left, err := b.line.Handle(context.Background(), ctx, b.claim)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !left.Answered || len(b.store.finishes) != 0 {
		t.Fatalf("%v, left %+v, ended with %+v", err, left, b.store.finishes)
	}
	b.claim.Run.Step, b.claim.Run.Result = b.store.results[0].Step, &b.store.results[0].Result
	b.plugins[0].reply = nil
	if _, err := b.line.Handle(context.Background(), ctx, b.claim); err != nil {
		t.Fatal(err)
	}
	if finish := b.store.finishes[0]; finish.State != pluginsdk.RunSucceeded || finish.Rows[0].Message.Content != "the answer" {
		t.Errorf("%+v", finish)
	}
}

// What a turn has cost is told once, or a plugin that adds up costs counts it twice:
// by the attempt that asked the agent, and by the one after it if that was killed.
func TestTheCostIsToldOnce(t *testing.T) {
	for _, row := range []struct {
		name    string
		attempt int
		result  *pluginsdk.InvokeResult
		failed  []pluginsdk.Failed
		want    float64
	}{
		{name: "it asks the agent", attempt: 1, want: 0.25},
		{name: "the one before asked and was killed", attempt: 2, result: &pluginsdk.InvokeResult{Text: "x", CostUSD: 0.5}, want: 0.5},
		{name: "the one before asked and failed later", attempt: 2, result: &pluginsdk.InvokeResult{Text: "x", CostUSD: 0.5},
			failed: []pluginsdk.Failed{{Attempt: 1}}, want: 0},
		{name: "the first failed, the second asked and was killed", attempt: 3, result: &pluginsdk.InvokeResult{Text: "x", CostUSD: 0.5},
			failed: []pluginsdk.Failed{{Attempt: 1}}, want: 0.5},
	} {
		b := newBench("a")
		b.agent.answer = func(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
			result := says("x")(ctx, request, emit)
			result.CostUSD = 0.25
			return result
		}
		b.claim.Run.Attempt, b.claim.Run.Failures = row.attempt, row.failed
		if row.result != nil {
			b.claim.Run.Step, b.claim.Run.Result = pluginsdk.StepInvoked, row.result
		}
		if err := b.handle(); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if done := b.plugins[0].done; len(done) != 1 || done[0].CostUSD != row.want {
			t.Errorf("%s: OnPipelineComplete has %+v, want a cost of %v", row.name, done, row.want)
		}
	}
}
